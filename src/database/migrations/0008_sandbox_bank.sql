-- The sandbox bank: a simulated bank that stores its data in this database. The service communicates with it only
-- through the rail port and its signed callbacks; the two share no table.
CREATE SCHEMA sandbox_bank;
GRANT USAGE ON SCHEMA sandbox_bank TO manilla_app;
CREATE SEQUENCE sandbox_bank.account_numbers START 6000000001 MAXVALUE 6999999999;

CREATE TABLE sandbox_bank.accounts (
  organisation_id uuid NOT NULL,
  account_number  text NOT NULL,
  reference       text NOT NULL,
  account_name    text NOT NULL,
  expires_at      timestamptz(3),
  closed_at       timestamptz(3),
  PRIMARY KEY (organisation_id, account_number),
  CONSTRAINT account_reference_unique UNIQUE (organisation_id, reference)
);
CREATE INDEX accounts_expired ON sandbox_bank.accounts (expires_at);

CREATE TABLE sandbox_bank.credits (
  organisation_id       uuid NOT NULL,
  session_id            text NOT NULL,
  account_number        text NOT NULL,
  amount                bigint NOT NULL CHECK (amount > 0),
  sender_name           text,
  sender_account_number text,
  sender_bank_code      text,
  received_at           timestamptz(3) NOT NULL DEFAULT now(),
  recalled_at           timestamptz(3),
  PRIMARY KEY (organisation_id, session_id)
);
CREATE INDEX credits_oldest ON sandbox_bank.credits (received_at);
COMMENT ON TABLE sandbox_bank.credits IS 'Money received for a customer. The session id is the interbank identifier.';

CREATE TABLE sandbox_bank.destinations (
  organisation_id uuid NOT NULL,
  account_number  text NOT NULL,
  bank_code       text NOT NULL, -- *: at every bank
  name            text,
  behaviour       text NOT NULL CHECK (behaviour IN ('complete', 'reject', 'return', 'hold', 'timeout_delivered', 'timeout_lost', 'unavailable', 'underfunded')),
  PRIMARY KEY (organisation_id, account_number, bank_code)
);
COMMENT ON TABLE sandbox_bank.destinations IS 'Outcomes that override the presets in src/rail/sandbox/destinations.ts.';

CREATE TABLE sandbox_bank.requests (
  organisation_id uuid NOT NULL,
  reference       text NOT NULL,
  account_number  text NOT NULL,
  bank_code       text NOT NULL,
  times           integer NOT NULL DEFAULT 1,
  requested_at    timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, reference)
);
CREATE INDEX requests_oldest ON sandbox_bank.requests (requested_at);
COMMENT ON TABLE sandbox_bank.requests IS 'How often each reference was sent, also if it did not reach the bank.';

CREATE TABLE sandbox_bank.transfers (
  organisation_id uuid NOT NULL,
  reference       text NOT NULL,
  amount          bigint NOT NULL CHECK (amount > 0),
  account_number  text NOT NULL,
  bank_code       text NOT NULL,
  account_name    text,
  narration       text,
  session_id      text NOT NULL,
  status          text NOT NULL CHECK (status IN ('processing', 'completed', 'failed', 'returned')),
  reason          text,
  -- once due; NULL while processing: held until one is set for its destination
  outcome         text CHECK (outcome IN ('complete', 'reject', 'return')),
  due_at          timestamptz(3),
  accepted_at     timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, reference),
  CONSTRAINT due_has_outcome CHECK ((outcome IS NULL) = (due_at IS NULL)),
  CONSTRAINT due_is_processing CHECK (due_at IS NULL OR status = 'processing')
);
CREATE INDEX transfers_due ON sandbox_bank.transfers (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX transfers_held ON sandbox_bank.transfers (organisation_id, account_number) WHERE status = 'processing' AND due_at IS NULL;
CREATE INDEX transfers_oldest ON sandbox_bank.transfers (accepted_at) WHERE status <> 'processing';

CREATE TABLE sandbox_bank.statement_lines (
  organisation_id uuid NOT NULL,
  id              bigint GENERATED ALWAYS AS IDENTITY,
  reference       text NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('sent', 'returned', 'charge', 'settlement', 'interest', 'opening')),
  amount          bigint NOT NULL CHECK (amount > 0 OR kind = 'opening'),
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX statement_lines_by_reference ON sandbox_bank.statement_lines (organisation_id, reference);
CREATE UNIQUE INDEX statement_lines_own ON sandbox_bank.statement_lines (organisation_id, reference)
  WHERE kind IN ('charge', 'settlement', 'interest', 'opening');
CREATE INDEX statement_lines_oldest ON sandbox_bank.statement_lines (created_at);
COMMENT ON TABLE sandbox_bank.statement_lines IS 'A double payment of a transfer would show as two lines.';

CREATE TABLE sandbox_bank.callbacks (
  organisation_id uuid NOT NULL,
  id              bigint GENERATED ALWAYS AS IDENTITY,
  body            text NOT NULL,
  available_at    timestamptz(3) NOT NULL,
  attempts        integer NOT NULL DEFAULT 0,
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX callbacks_next ON sandbox_bank.callbacks (available_at, id);
COMMENT ON TABLE sandbox_bank.callbacks IS 'Callbacks to send to the customer; a row is deleted after a 2xx response.';

GRANT USAGE ON SEQUENCE sandbox_bank.account_numbers TO manilla_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sandbox_bank TO manilla_app;
