-- What the API answered to authenticated requests: for support and for the caller, by request id. Written in batches,
-- off the request path; no bodies but the error.
CREATE TABLE request_logs (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  request_id      bytea NOT NULL,
  key_id          uuid NOT NULL,
  method          text NOT NULL,
  route           text NOT NULL,
  resource        text,
  status          smallint NOT NULL,
  error_code      text,
  error           json,
  idempotency_key text,
  duration_ms     integer NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, environment, request_id)
);
COMMENT ON TABLE request_logs IS 'Authenticated requests of the last days and how they were answered.';
COMMENT ON COLUMN request_logs.request_id IS 'Without its prefix; it begins with the time, so the key sorts by time.';
COMMENT ON COLUMN request_logs.route IS 'The pattern of the path: a path may hold names and account numbers.';
COMMENT ON COLUMN request_logs.error IS 'The details of the error response; NULL: none.';
CREATE INDEX request_logs_failed ON request_logs (organisation_id, environment, request_id) WHERE status >= 400;
GRANT SELECT, INSERT, DELETE ON request_logs TO manilla_app;
