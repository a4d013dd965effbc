-- Accounting: closed days and periods, sweeps of fee income, adjustments, and the schema that accountants read. The
-- functions are in src/ledger/sql/accounting.sql, the views in accounting_views.sql.

CREATE TABLE ledger.closed_days (
  LIKE template.book_row INCLUDING ALL,
  day                date NOT NULL,
  ends_at            timestamptz(3) NOT NULL,
  settled_at         timestamptz(3), -- since when its postings are final; NULL: some may be uncommitted
  completed_at       timestamptz(3), -- NULL: its closing balances are being filled
  volumes            jsonb, -- kobo by charged movement, for tiers of fees; NULL: none
  PRIMARY KEY (organisation_id, environment, day)
);
COMMENT ON TABLE ledger.closed_days IS 'Days of a book that are over: ledger.post dates no posting into them.';

CREATE TABLE ledger.closing_balances (
  LIKE template.book_row INCLUDING ALL,
  account_id      bigint NOT NULL,
  day             date NOT NULL,
  balance         bigint NOT NULL,
  last_number     bigint NOT NULL, -- every entry that is dated after the day has a greater number
  -- of the last entry that was read; none that is dated up to the end of the day has a greater one
  read_number     bigint NOT NULL,
  PRIMARY KEY (organisation_id, account_id, day)
);
COMMENT ON TABLE ledger.closing_balances IS 'The balance of an account at the end of each day on which it changed.';

CREATE TABLE ledger.closed_periods (
  LIKE template.book_row INCLUDING ALL,
  period          date NOT NULL CHECK (extract(day FROM period) = 1),
  closed_at       timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, environment, period)
);
COMMENT ON TABLE ledger.closed_periods IS 'Months that an operator closed, by first day: their reports never change.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.closed_periods FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TABLE fee_sweeps (
  LIKE template.id_row INCLUDING ALL,
  key             text NOT NULL, -- names the sweep: a repeated command with it sweeps nothing
  wallet_id       uuid NOT NULL,
  amount          bigint NOT NULL CHECK (amount > 0),
  created_at      timestamptz(3) NOT NULL,
  CONSTRAINT fee_sweep_key_unique UNIQUE (key, organisation_id, environment)
);

CREATE TABLE debt_recoveries (
  LIKE template.id_row INCLUDING ALL,
  account_code    text NOT NULL, -- of the wallet
  repaid_with     uuid NOT NULL, -- the transaction that credited it
  amount          bigint NOT NULL CHECK (amount > 0),
  created_at      timestamptz(3) NOT NULL
);
COMMENT ON TABLE debt_recoveries IS 'What credits of a wallet repaid of its debt.';

CREATE TABLE adjustments (
  LIKE template.listed_row INCLUDING ALL,
  version         integer NOT NULL,
  status          text NOT NULL CHECK (status IN ('requested', 'posted', 'rejected')),
  -- posted on approval: [{debit, credit, amount}]; never changes
  postings        jsonb NOT NULL CHECK (jsonb_array_length(postings) > 0),
  reason          text NOT NULL CHECK (reason <> ''),
  evidence        text NOT NULL CHECK (evidence <> ''),
  reverses        uuid, -- the adjustment that this one undoes; the transaction of an adjustment has its id
  effective_at    timestamptz(3), -- the time that it is about, in a period that was open; NULL: when it is posted
  corrects        text, -- public id of the resource that it corrects
  description     text, -- for the statements of the wallets that it changes
  requested_by    uuid NOT NULL,
  decided_by      uuid,
  decided_at      timestamptz(3),
  CONSTRAINT adjustment_decided CHECK ((status = 'requested') = (decided_by IS NULL) AND (status = 'requested') = (decided_at IS NULL)),
  CONSTRAINT adjustment_needs_two_operators CHECK (status <> 'posted' OR decided_by <> requested_by)
);
CREATE INDEX adjustments_open ON adjustments (organisation_id, id) WHERE status = 'requested';
-- A second reversal cannot even be requested, unless the first one was rejected. The ledger refuses it too.
CREATE UNIQUE INDEX one_reversal_per_adjustment ON adjustments (organisation_id, reverses)
  WHERE reverses IS NOT NULL AND status <> 'rejected';
COMMENT ON TABLE adjustments IS 'Corrections of a book: postings that one operator requests and another approves.';

-- Only the functions of the ledger write them.
GRANT SELECT ON ledger.closed_days, ledger.closing_balances, ledger.closed_periods, fee_sweeps, debt_recoveries, adjustments
  TO manilla_app;

GRANT UPDATE (volumes) ON ledger.closed_days TO manilla_app; -- by them it chooses fees, which it decides

-- A deployment grants manilla_accountant to the logins of accountants. It can read the views of this schema, which have
-- neither names nor account numbers, and nothing else.
CREATE SCHEMA accounting;
COMMENT ON SCHEMA accounting IS 'What accountants read: docs/accounting.md. Amounts are kobo, times are UTC.';
GRANT USAGE ON SCHEMA accounting TO manilla_accountant;
