-- Who may use the API and the command line, and what they did: API keys with their rate counters, idempotency keys,
-- request logs, operators, and the audit log.

CREATE TABLE api_keys (
  LIKE template.id_row INCLUDING ALL,
  name            text,
  -- SHA-256 of the SHA-256 of the key (256 random bits); the inner digest proves to the database who calls
  hash            bytea NOT NULL,
  hint            text NOT NULL,
  scopes          text[] NOT NULL,
  allowed_ips     text[] CHECK (cardinality(allowed_ips) > 0),
  rate_limit      integer CHECK (rate_limit > 0),
  created_by      uuid, -- the key that made it, with which it ends; NULL: an operator
  -- keys whose rate limits its requests count against: its own only where lower than that of its maker
  budgets         uuid[] NOT NULL CHECK (cardinality(budgets) > 0),
  expires_at      timestamptz(3),
  revoked_at      timestamptz(3),
  last_used_at    timestamptz(3),
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT api_key_hash_unique UNIQUE (hash, organisation_id),
  CONSTRAINT api_key_budgets_max CHECK (cardinality(budgets) <= 8)
);

CREATE UNLOGGED TABLE rate_counters (
  organisation_id uuid NOT NULL,
  api_key_id      uuid NOT NULL,
  window_start    timestamptz(3) NOT NULL,
  hits            integer NOT NULL,
  PRIMARY KEY (organisation_id, api_key_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE rate_counters IS 'Requests of the minute that count against the limit of a key. Lost in a crash.';

CREATE TABLE idempotency_keys (
  LIKE template.book_row INCLUDING ALL,
  key             text NOT NULL,
  fingerprint     bytea NOT NULL, -- SHA-256 of method, path and body: another request may not use the key
  -- the one that committed: a statement that is sent again after a lost reply finds its own
  attempt         uuid NOT NULL,
  status_code     integer NOT NULL,
  response        text NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  -- The key is the first column because it is the most selective: a B-tree search mostly compares only this column.
  PRIMARY KEY (key, organisation_id, environment)
);
CREATE INDEX idempotency_keys_oldest ON idempotency_keys (created_at);
COMMENT ON TABLE idempotency_keys IS 'The response to a key, written by one attempt with what the request changed.';

-- A repetition of a younger one would move money again: not even the service's own login may delete it.
CREATE TRIGGER kept_seven_days BEFORE DELETE ON idempotency_keys FOR EACH ROW
  WHEN (OLD.created_at > now() - interval '7 days') EXECUTE FUNCTION ledger.refuse_change();

CREATE TABLE request_logs (
  LIKE template.book_row INCLUDING ALL,
  request_id      bytea NOT NULL, -- without its prefix; begins with the time
  key_id          uuid NOT NULL,
  method          text NOT NULL,
  route           text NOT NULL, -- the pattern: a path may hold names and account numbers
  resource        text,
  status          smallint NOT NULL,
  error_code      text,
  error           json,
  idempotency_key text,
  duration_ms     integer NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, environment, request_id)
);
CREATE INDEX request_logs_refused ON request_logs (organisation_id, environment, request_id) WHERE status BETWEEN 400 AND 499;
CREATE INDEX request_logs_failed ON request_logs (organisation_id, environment, request_id) WHERE status >= 500;
CREATE INDEX request_logs_by_error ON request_logs (organisation_id, environment, error_code, request_id) WHERE error_code IS NOT NULL;
COMMENT ON TABLE request_logs IS 'Authenticated requests of the last days, without bodies but the error.';

CREATE TABLE operators (
  organisation_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
                  CHECK (organisation_id = '00000000-0000-0000-0000-000000000000'),
  id              uuid NOT NULL,
  -- never given again, so that two operators are two names for a reader
  name            text NOT NULL CHECK (name ~ '^[a-z0-9][a-z0-9._@-]{0,99}$'),
  scopes          text[] NOT NULL CHECK (scopes <@ ARRAY['view', 'support', 'finance', 'admin']),
  key_hash        bytea NOT NULL,
  key_since       timestamptz(3) NOT NULL DEFAULT now(), -- what an earlier key began ended with it
  hint            text NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  revoked_at      timestamptz(3),
  last_used_at    timestamptz(3),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT operator_name_unique UNIQUE (organisation_id, name),
  CONSTRAINT operator_key_unique UNIQUE (organisation_id, key_hash)
);

CREATE TABLE operator_codes (
  organisation_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
                  CHECK (organisation_id = '00000000-0000-0000-0000-000000000000'),
  hash            bytea NOT NULL,
  operator_id     uuid NOT NULL,
  subject         text NOT NULL, -- the workflow, or batch:<id> for the flows of a batch operation
  action          text NOT NULL, -- what it decides and nothing else: `fail`, `credit svc_…_wlt`
  expires_at      timestamptz(3) NOT NULL,
  first_used_at   timestamptz(3),
  used_about      text, -- the version of the row, or why and since when the flow is parked
  PRIMARY KEY (organisation_id, hash),
  CONSTRAINT operator_code_used CHECK ((first_used_at IS NULL) = (used_about IS NULL))
);
COMMENT ON TABLE operator_codes IS 'Each for one decision of an operator in a workflow: a history shows a used code.';

CREATE TABLE operator_proposals (
  LIKE template.book_row INCLUDING ALL,
  subject         text NOT NULL,
  decision        text NOT NULL, -- what the second must send too: action, wallet, and what it is about
  operator_id     uuid NOT NULL,
  reason          text,
  code            bytea,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  posted          text, -- the business key of the transaction that it took effect with; NULL: not yet
  PRIMARY KEY (organisation_id, subject)
);
COMMENT ON TABLE operator_proposals IS 'Newest by subject. Takes effect when another operator sends it within a day.';

CREATE TABLE decision_limits (
  organisation_id    uuid PRIMARY KEY DEFAULT '00000000-0000-0000-0000-000000000000'
                     CHECK (organisation_id = '00000000-0000-0000-0000-000000000000'),
  credit_by_two_from bigint NOT NULL CHECK (credit_by_two_from > 0),
  recovers_debts     boolean NOT NULL DEFAULT true,
  since              timestamptz(3) NOT NULL DEFAULT now()
);
COMMENT ON TABLE decision_limits IS 'From which amount on two operators credit a case; whether credits repay debts.';
INSERT INTO decision_limits (credit_by_two_from) VALUES (10000000);

CREATE TABLE audit_log (
  organisation_id uuid NOT NULL,
  environment     text CHECK (environment IN ('test', 'live')),
  id              bigint GENERATED ALWAYS AS IDENTITY,
  operator_id     uuid, -- NULL: an API key, or the database owner
  operator        text NOT NULL,
  action          text NOT NULL,
  subject         text NOT NULL,
  reason          text,
  code            bytea, -- the hash of the code that proved it (operator_codes); NULL: a key proved it
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX audit_log_by_time ON audit_log (created_at);
CREATE INDEX audit_log_by_subject ON audit_log (organisation_id, subject);
COMMENT ON TABLE audit_log IS 'Actions of operators, and of callers who decide, each proven by a secret, but for the reason.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- The login of the service cannot state who decided: operators, codes, proposals, the audit log and the scopes
-- of keys are written by functions that check a secret (src/ledger/sql/decisions.sql), and by the owner.
GRANT SELECT, UPDATE (last_used_at) ON api_keys TO manilla_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON rate_counters TO manilla_app;
GRANT SELECT, INSERT, DELETE ON idempotency_keys, request_logs TO manilla_app;
GRANT SELECT ON audit_log, operators, operator_proposals, decision_limits TO manilla_app;
GRANT UPDATE (last_used_at) ON operators TO manilla_app;
GRANT SELECT (organisation_id, hash, operator_id, first_used_at) ON operator_codes TO manilla_app;
