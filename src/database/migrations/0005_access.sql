-- Who may use the API and the command line, and what they did: API keys with their rate counters, idempotency keys,
-- request logs, operators, and the audit log.

CREATE TABLE api_keys (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  name            text,
  hash            bytea NOT NULL,
  hint            text NOT NULL,
  scopes          text[] NOT NULL,
  allowed_ips     text[] CHECK (cardinality(allowed_ips) > 0),
  rate_limit      integer CHECK (rate_limit > 0),
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
COMMENT ON COLUMN api_keys.allowed_ips IS 'Addresses and CIDR ranges that may use the key; NULL: any.';
COMMENT ON COLUMN api_keys.rate_limit IS 'Requests a minute; NULL: the default of the installation.';

CREATE UNLOGGED TABLE rate_counters (
  organisation_id uuid NOT NULL,
  api_key_id      uuid NOT NULL,
  window_start    timestamptz(3) NOT NULL,
  hits            integer NOT NULL,
  PRIMARY KEY (organisation_id, api_key_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE rate_counters IS
  'Requests per key in the current minute, counted across processes. A crash loses them and so resets the minute.';

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
CREATE INDEX request_logs_failed ON request_logs (organisation_id, environment, request_id) WHERE status >= 400;
COMMENT ON TABLE request_logs IS 'Authenticated requests of the last days and how they were answered.';
COMMENT ON COLUMN request_logs.request_id IS 'Without its prefix; it begins with the time, so the key sorts by time.';
COMMENT ON COLUMN request_logs.route IS 'The pattern of the path: a path may hold names and account numbers.';
COMMENT ON COLUMN request_logs.error IS 'The details of the error response; NULL: none.';

CREATE TABLE operators (
  organisation_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
                  CHECK (organisation_id = '00000000-0000-0000-0000-000000000000'),
  id              uuid NOT NULL,
  name            text NOT NULL CHECK (name ~ '^[a-z0-9][a-z0-9._@-]{0,99}$'),
  scopes          text[] NOT NULL CHECK (scopes <@ ARRAY['view', 'support', 'finance', 'admin']),
  key_hash        bytea NOT NULL,
  hint            text NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  revoked_at      timestamptz(3),
  last_used_at    timestamptz(3),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT operator_name_unique UNIQUE (organisation_id, name),
  CONSTRAINT operator_key_unique UNIQUE (organisation_id, key_hash)
);
COMMENT ON TABLE operators IS 'Operators, each with one key.';
COMMENT ON COLUMN operators.name IS 'Lower case and never given again, so that two operators are two names for a reader.';
COMMENT ON COLUMN operators.key_hash IS 'SHA-256 of the key, as in api_keys.';
COMMENT ON COLUMN operators.hint IS 'The last four characters of the key.';

CREATE TABLE operator_codes (
  organisation_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
                  CHECK (organisation_id = '00000000-0000-0000-0000-000000000000'),
  hash            bytea NOT NULL,
  operator_id     uuid NOT NULL,
  workflow_id     text NOT NULL,
  used_for        text,
  expires_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, hash)
);
COMMENT ON TABLE operator_codes IS
  'Short-lived codes by which a workflow identifies the operator who decides. A code is valid for one workflow.';
COMMENT ON COLUMN operator_codes.used_for IS
  'The first decision that it was used for, the only one it is valid for: someone who reads the code in a workflow history '
  'cannot decide something else with it.';

CREATE TABLE audit_log (
  organisation_id uuid NOT NULL,
  environment     text CHECK (environment IN ('test', 'live')),
  id              bigint GENERATED ALWAYS AS IDENTITY,
  operator_id     uuid,
  operator        text NOT NULL,
  action          text NOT NULL,
  subject         text NOT NULL,
  reason          text,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX audit_log_by_time ON audit_log (created_at);
COMMENT ON TABLE audit_log IS 'Actions of operators: operator, action, subject and reason.';
COMMENT ON COLUMN audit_log.operator_id IS
  'The operator who signed in, from whom `operator` is the name; NULL: an act of the database owner.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

GRANT SELECT, INSERT, UPDATE ON api_keys TO manilla_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON idempotency_keys, rate_counters TO manilla_app;
GRANT SELECT, INSERT, DELETE ON request_logs TO manilla_app;
GRANT SELECT, INSERT ON audit_log TO manilla_app;
-- The application identifies operators; only the owner creates and revokes them.
GRANT SELECT, UPDATE (last_used_at) ON operators TO manilla_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_codes TO manilla_app;
