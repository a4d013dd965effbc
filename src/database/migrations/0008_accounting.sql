-- Accounting: closed days with the balance of every account at their end, closed periods, sweeps of fee income, and the
-- schema that accountants read. The functions are in src/ledger/sql/accounting.sql, the views in accounting_views.sql.

CREATE TABLE ledger.closed_days (
  organisation_id    uuid NOT NULL,
  environment        text NOT NULL,
  day                date NOT NULL,
  ends_at            timestamptz(3) NOT NULL,
  settled_posting_id bigint,
  last_posting_id    bigint,
  completed_at       timestamptz(3),
  PRIMARY KEY (organisation_id, environment, day)
);
COMMENT ON TABLE ledger.closed_days IS
  'Accounting days of a book that are over: ledger.post dates no posting before the end of the last one.';
COMMENT ON COLUMN ledger.closed_days.settled_posting_id IS
  'Every posting with an id up to this one had been committed or rolled back when the day was settled.';
COMMENT ON COLUMN ledger.closed_days.last_posting_id IS
  'No posting that is dated before the end of the day has a greater id.';
COMMENT ON COLUMN ledger.closed_days.completed_at IS
  'When its closing balances were complete. NULL: they are being filled.';

CREATE TABLE ledger.closing_balances (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL,
  account_id      bigint NOT NULL,
  day             date NOT NULL,
  balance         bigint NOT NULL,
  last_posting_id bigint NOT NULL,
  read_posting_id bigint NOT NULL,
  PRIMARY KEY (organisation_id, account_id, day)
);
COMMENT ON TABLE ledger.closing_balances IS
  'The balance of an account at the end of a day, for the days on which it changed.';
COMMENT ON COLUMN ledger.closing_balances.last_posting_id IS
  'Every posting of the account that is dated after the day has a greater id.';
COMMENT ON COLUMN ledger.closing_balances.read_posting_id IS
  'The last posting that was read, while the day is being filled.';

CREATE TABLE ledger.closed_periods (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL,
  period          date NOT NULL CHECK (extract(day FROM period) = 1),
  closed_at       timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, environment, period)
);
COMMENT ON TABLE ledger.closed_periods IS
  'Months that an operator closed; the first day of each. Its reports never change.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.closed_periods FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TABLE fee_sweeps (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  key             text NOT NULL,
  wallet_id       uuid NOT NULL,
  amount          bigint NOT NULL CHECK (amount > 0),
  created_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT fee_sweep_key_unique UNIQUE (key, organisation_id, environment)
);
COMMENT ON TABLE fee_sweeps IS 'Fee income that an operator moved to the settlement wallet.';
COMMENT ON COLUMN fee_sweeps.key IS 'Names the sweep: a repeated command with the same key sweeps nothing.';

GRANT SELECT ON ledger.closed_days, ledger.closing_balances, ledger.closed_periods, fee_sweeps TO manilla_app;

-- The role of accountants, which a deployment grants to their logins. It can read the views of this schema, which
-- have neither names nor account numbers, and nothing else.
CREATE SCHEMA accounting;
COMMENT ON SCHEMA accounting IS 'What accountants read: docs/accounting.md. Amounts are kobo, times are UTC.';
DO $$
BEGIN
  CREATE ROLE manilla_accountant NOLOGIN;
EXCEPTION
  -- Roles are shared by the whole cluster: another database created it.
  WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;
GRANT USAGE ON SCHEMA accounting TO manilla_accountant;
