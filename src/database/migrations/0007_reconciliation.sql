-- How far each book is compared with its rail, the balance that the rail last told, and the lines of a statement that no
-- resource of ours caused.

CREATE TABLE reconciliation_progress (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  rail            text NOT NULL,
  reconciled_to   timestamptz(3) NOT NULL,
  read_from       timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, environment, rail),
  CONSTRAINT read_from_not_later CHECK (read_from <= reconciled_to)
);
COMMENT ON COLUMN reconciliation_progress.read_from IS
  'Where the next run reads from: the oldest line whose resource was still in progress, else reconciled_to.';

CREATE TABLE bank_balances (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  rail            text NOT NULL,
  balance         bigint NOT NULL,
  told_for        timestamptz(3) NOT NULL,
  compared_at     timestamptz(3) NOT NULL,
  in_flight       bigint NOT NULL,
  PRIMARY KEY (organisation_id, environment, rail)
);
COMMENT ON TABLE bank_balances IS
  'The balance that a rail last told. The postings on clearing:<rail> before compared_at must sum to -(balance + in_flight).';
COMMENT ON COLUMN bank_balances.told_for IS 'The moment of the balance: it includes every line before it.';
COMMENT ON COLUMN bank_balances.in_flight IS
  'What was posted before compared_at and was not told yet, less what was told and was not posted yet.';

CREATE TABLE credit_polls (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  rail            text NOT NULL,
  listed_to       timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, environment, rail)
);
COMMENT ON TABLE credit_polls IS 'Up to when the credits that each rail lists were compared with those it reported.';

GRANT SELECT, INSERT, UPDATE ON reconciliation_progress, bank_balances, credit_polls TO manilla_app;

CREATE TABLE statement_entries (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  rail            text NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('charge', 'settlement', 'interest')),
  reference       text NOT NULL,
  amount          bigint NOT NULL CHECK (amount > 0),
  at              timestamptz(3) NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT statement_entry_unique UNIQUE (organisation_id, environment, rail, kind, reference)
);
COMMENT ON TABLE statement_entries IS
  'Money that a rail moved by itself, posted when its statement tells it: once, by rail, kind and reference.';
-- Only ledger.post writes it.
GRANT SELECT ON statement_entries TO manilla_app;

ALTER TABLE reconciliation_breaks DROP CONSTRAINT reconciliation_breaks_line_check,
  ADD CONSTRAINT reconciliation_breaks_line_check
    CHECK (line IN ('credit', 'sent', 'returned', 'charge', 'settlement', 'interest'));

ALTER TABLE sandbox_bank.statement_lines DROP CONSTRAINT statement_lines_kind_check,
  ADD CONSTRAINT statement_lines_kind_check CHECK (kind IN ('sent', 'returned', 'charge', 'settlement', 'interest'));
COMMENT ON TABLE sandbox_bank.statement_lines IS
  'Money that was sent for a transfer, money that came back, and what the bank itself charged, settled or paid. There is '
  'deliberately no unique key on the reference: a double payment would show here as two lines.';
