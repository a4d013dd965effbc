-- Operators: who may use the command line and decide about parked flows. An operator belongs to the installation and not
-- to one book, so organisation_id is the nil UUID.

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
  'The first decision that it was used for, the only one it is valid for: whoever reads the code in a workflow history '
  'cannot decide something else with it.';

ALTER TABLE audit_log ADD COLUMN operator_id uuid;
COMMENT ON COLUMN audit_log.operator_id IS
  'The operator who signed in, from whom `operator` is the name; NULL: an act of the database owner.';

-- The application identifies operators; only the owner creates and revokes them.
GRANT SELECT, UPDATE (last_used_at) ON operators TO manilla_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON operator_codes TO manilla_app;

-- Replaced by a function that also takes the operator's id (src/ledger/sql/set_wallet_status.sql).
DROP FUNCTION IF EXISTS ledger.set_wallet_status(uuid, uuid, text, text, text);
