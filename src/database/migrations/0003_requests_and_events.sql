-- Tables besides the resources: API keys and rate counters, idempotency keys with their stored responses, events and
-- webhook deliveries, the outbox, the audit log and rail pauses.

CREATE TABLE events (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  type            text NOT NULL,
  resource        text NOT NULL,
  data            json NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX events_newest ON events (organisation_id, environment, created_at, id);
COMMENT ON COLUMN events.data IS
  'The payload at that moment; json, not jsonb, so that its text never changes and a signature stays valid.';

CREATE TABLE outbox (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              bigint GENERATED ALWAYS AS IDENTITY,
  topic           text NOT NULL,
  message         jsonb NOT NULL,
  available_at    timestamptz(3) NOT NULL DEFAULT now(),
  attempts        integer NOT NULL DEFAULT 0,
  last_error      text,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000); -- rows live for milliseconds
CREATE INDEX outbox_next ON outbox (topic, available_at, id);
COMMENT ON TABLE outbox IS
  'Messages to process after a commit: flows to start or signal, events to deliver. The relay leases rows by '
  'advancing available_at.';

CREATE TABLE idempotency_keys (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  key             text NOT NULL,
  fingerprint     bytea NOT NULL,
  attempt         uuid NOT NULL,
  status_code     integer NOT NULL,
  response        text NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  -- The key is the first column because it is the most selective: a B-tree search mostly compares only this column.
  PRIMARY KEY (key, organisation_id, environment)
);
CREATE INDEX idempotency_keys_oldest ON idempotency_keys (created_at);
COMMENT ON TABLE idempotency_keys IS
  'The stored response of each Idempotency-Key, written with what the request changed. One attempt writes it.';
COMMENT ON COLUMN idempotency_keys.fingerprint IS 'SHA-256 of method, path and body: another request may not use the key.';
COMMENT ON COLUMN idempotency_keys.attempt IS
  'Id of the attempt that committed: a statement that is sent again after a lost reply finds its own.';

CREATE TABLE api_keys (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  name            text,
  hash            bytea NOT NULL,
  hint            text NOT NULL,
  scopes          text[] NOT NULL,
  expires_at      timestamptz(3),
  revoked_at      timestamptz(3),
  last_used_at    timestamptz(3),
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT api_key_hash_unique UNIQUE (hash, organisation_id)
);
COMMENT ON COLUMN api_keys.hash IS
  'SHA-256 of the key. The key has 256 random bits, so a slow hash would not add security.';
COMMENT ON COLUMN api_keys.hint IS 'The last four characters of the key, to distinguish keys in a list.';

CREATE UNLOGGED TABLE rate_counters (
  organisation_id uuid NOT NULL,
  api_key_id      uuid NOT NULL,
  window_start    timestamptz(3) NOT NULL,
  hits            integer NOT NULL,
  PRIMARY KEY (organisation_id, api_key_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE rate_counters IS
  'Requests per key in the current minute, counted across processes. A crash loses them and so resets the minute.';

CREATE TABLE webhook_endpoints (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  url             text NOT NULL,
  description     text,
  event_types     text[],
  status          text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  sealed_secret   text NOT NULL,
  sealed_previous_secret text,
  previous_secret_until  timestamptz(3),
  created_at      timestamptz(3) NOT NULL,
  deleted_at      timestamptz(3),
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX webhook_endpoints_newest ON webhook_endpoints (organisation_id, environment, created_at, id);
COMMENT ON COLUMN webhook_endpoints.event_types IS 'The subscribed event types; NULL: all.';

CREATE TABLE webhook_deliveries (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  event_id        uuid NOT NULL,
  endpoint_id     uuid NOT NULL,
  status          text NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
  attempts        integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3),
  delivered_at    timestamptz(3),
  failure_reason  text CHECK (failure_reason IN ('retries_exhausted', 'endpoint_disabled', 'endpoint_deleted')),
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, event_id, endpoint_id),
  CONSTRAINT failed_has_reason CHECK ((status = 'failed') = (failure_reason IS NOT NULL))
);
COMMENT ON TABLE webhook_deliveries IS 'The delivery of one event to one endpoint.';
COMMENT ON COLUMN webhook_deliveries.attempts IS
  'Attempts of the retry schedule so far; redelivering a finished delivery resets it to 0.';
COMMENT ON COLUMN webhook_deliveries.delivered_at IS
  'Time of the last successful attempt; unchanged when a later redelivery fails.';

CREATE TABLE webhook_attempts (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              bigint GENERATED ALWAYS AS IDENTITY,
  event_id        uuid NOT NULL,
  endpoint_id     uuid NOT NULL,
  attempted_at    timestamptz(3) NOT NULL,
  duration_ms     integer NOT NULL,
  response_status integer,
  response_body   text,
  error           text,
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX webhook_attempts_by_event ON webhook_attempts (organisation_id, event_id, id);
COMMENT ON TABLE webhook_attempts IS 'The attempts of a delivery: the response, or why there was none.';

CREATE TABLE audit_log (
  organisation_id uuid NOT NULL,
  environment     text CHECK (environment IN ('test', 'live')),
  id              bigint GENERATED ALWAYS AS IDENTITY,
  operator        text NOT NULL,
  action          text NOT NULL,
  subject         text NOT NULL,
  reason          text,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
COMMENT ON TABLE audit_log IS 'Actions of operators: operator, action, subject and reason.';

-- Operators can pause the rail of an environment: no transfer is sent while its row exists. The audit log has the
-- history. A pause applies to the rail and not to one book, so organisation_id is the nil UUID.
CREATE TABLE rail_pauses (
  organisation_id uuid NOT NULL CHECK (organisation_id = '00000000-0000-0000-0000-000000000000'),
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  operator        text NOT NULL,
  reason          text NOT NULL,
  paused_at       timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, environment)
);
COMMENT ON TABLE rail_pauses IS 'Environments whose rail is paused: no transfer is sent.';
COMMENT ON COLUMN rail_pauses.organisation_id IS
  'The nil UUID: the pause applies to every organisation, including those created later.';
GRANT SELECT, INSERT, DELETE ON rail_pauses TO manilla_app;

-- For the sweep.
CREATE INDEX webhook_deliveries_open ON webhook_deliveries (organisation_id, event_id, endpoint_id) WHERE status = 'pending';
-- For housekeeping.
CREATE INDEX webhook_attempts_oldest ON webhook_attempts (attempted_at);
-- Closing an endpoint ends the delivery flows that are parked because all attempts at it failed.
CREATE INDEX webhook_deliveries_spent ON webhook_deliveries (organisation_id, endpoint_id) WHERE failure_reason = 'retries_exhausted';
-- A metric reads the age of the oldest pending delivery every few seconds, also while an endpoint is down and millions
-- are pending.
CREATE INDEX webhook_deliveries_oldest
  ON webhook_deliveries (environment, (attempts = 0 AND next_attempt_at IS NULL), created_at) WHERE status = 'pending';

GRANT SELECT, INSERT, UPDATE ON api_keys, webhook_endpoints, webhook_deliveries TO manilla_app;
GRANT SELECT, INSERT ON events, webhook_attempts, audit_log TO manilla_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox, idempotency_keys, rate_counters TO manilla_app;
