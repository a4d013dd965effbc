-- What comes from the bank: inbound credits, review cases, and the reconciliation of the rail's statements with the
-- ledger.

CREATE TABLE inbound_credits (
  organisation_id       uuid NOT NULL,
  environment           text NOT NULL CHECK (environment IN ('test', 'live')),
  id                    uuid NOT NULL,
  version               integer NOT NULL,
  rail                  text NOT NULL,
  session_id            text NOT NULL,
  account_number        text,
  account_reference     text,
  amount                bigint NOT NULL CHECK (amount > 0),
  sender_name           text,
  sender_account_number text,
  sender_bank_code      text,
  owner_kind            text CHECK (owner_kind IN ('payment', 'wallet')),
  owner_id              uuid,
  status                text NOT NULL CHECK (status IN ('received', 'posted', 'suspense', 'set_aside', 'recalled')),
  recall                text CHECK (recall IN ('received', 'posted', 'set_aside')),
  recalled_from         text,
  recalled_taken        bigint CHECK (recalled_taken BETWEEN 0 AND amount),
  received_at           timestamptz(3) NOT NULL,
  created_at            timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT inbound_credit_session_unique UNIQUE (organisation_id, environment, rail, session_id)
);
CREATE INDEX inbound_credits_by_owner ON inbound_credits (organisation_id, environment, owner_id, created_at, id)
  WHERE owner_id IS NOT NULL;
CREATE INDEX inbound_credits_open ON inbound_credits (organisation_id, id) WHERE status = 'received';
CREATE INDEX inbound_credits_recalls ON inbound_credits (organisation_id, id) WHERE recall = 'received';
-- Counts and lists the credits of a payment that are not applied yet.
CREATE INDEX inbound_credits_of_owner
  ON inbound_credits (organisation_id, owner_id, id) WHERE status = 'received';
COMMENT ON TABLE inbound_credits IS
  'Incoming money that a rail reported. The session id identifies it: a repeated report is the same credit. While it is '
  'received or set aside the rest is what was reported first; it is posted with what the rail''s own record says.';
COMMENT ON COLUMN inbound_credits.account_reference IS
  'Our reference of the credited account, as the rail reported it; NULL: it reported the number only.';
COMMENT ON COLUMN inbound_credits.owner_kind IS
  'Kind of owner of the account number that received it; NULL if the number has no owner.';
COMMENT ON COLUMN inbound_credits.status IS
  'What became of it. received: reported, not posted yet; posted; suspense; set_aside: not confirmed by the rail, so '
  'nothing was posted; recalled: taken back by the bank before anything was posted.';
COMMENT ON COLUMN inbound_credits.recall IS
  'NULL: the bank has not taken it back. received: the rail reports that it has; posted: confirmed and posted; set_aside: not '
  'confirmed, with a review case.';
COMMENT ON COLUMN inbound_credits.recalled_from IS
  'The account that the money of a posted recall was taken from; NULL: none, it was no longer here.';

CREATE TABLE review_cases (
  organisation_id   uuid NOT NULL,
  environment       text NOT NULL CHECK (environment IN ('test', 'live')),
  id                uuid NOT NULL,
  version           integer NOT NULL,
  reason            text NOT NULL,
  status            text NOT NULL CHECK (status IN ('open', 'returning', 'credited', 'returned_to_sender', 'unclaimed', 'closed', 'recalled')),
  amount            bigint NOT NULL CHECK (amount >= 0),
  account_code      text,
  inbound_credit_id uuid,
  payment_id        uuid,
  reference         text,
  wallet_id         uuid,
  transfer          text,
  rail              text,
  attempts          integer NOT NULL CHECK (attempts >= 0),
  failure           text CHECK (failure IN ('refused', 'returned', 'never_received', 'decided')),
  failure_reason    text,
  created_at        timestamptz(3) NOT NULL,
  resolved_at       timestamptz(3),
  fee               bigint NOT NULL DEFAULT 0 CHECK (fee >= 0),
  with_held         bigint NOT NULL DEFAULT 0 CHECK (with_held >= 0),
  recalled_unclaimed bigint NOT NULL DEFAULT 0 CHECK (recalled_unclaimed >= 0),
  PRIMARY KEY (organisation_id, id),
  -- Cases of these reasons hold no money that could be credited, returned or moved to unclaimed.
  CONSTRAINT review_case_money CHECK (
    CASE WHEN reason IN ('reconciliation_break', 'credit_unconfirmed', 'paid_after_failure', 'credit_recalled')
         THEN account_code IS NULL AND status IN ('open', 'closed')
         ELSE account_code IS NOT NULL AND amount > 0 AND status <> 'closed' END)
);
CREATE INDEX review_cases_newest ON review_cases (organisation_id, environment, created_at, id);
-- To find where a credit went that was not credited as intended: by its own case, or by the case of the payment that
-- held it at its expiry.
CREATE INDEX review_cases_by_credit ON review_cases (organisation_id, inbound_credit_id) WHERE inbound_credit_id IS NOT NULL;
CREATE INDEX review_cases_by_payment ON review_cases (organisation_id, payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX review_cases_open ON review_cases (organisation_id, id) WHERE status IN ('open', 'returning');
COMMENT ON TABLE review_cases IS
  'Decisions for an operator: where money in suspense belongs, how a reconciliation break was corrected, or what '
  'became of a credit that the rail did not confirm.';
COMMENT ON COLUMN review_cases.recalled_unclaimed IS
  'What the bank has taken back of several credits that it held, while it was unclaimed; amount is without it.';
COMMENT ON COLUMN review_cases.amount IS
  'The amount in suspense; for a case that holds no money, the amount in question, or the rest that is missing.';
COMMENT ON COLUMN review_cases.fee IS
  'What a credit to the wallet of its payment is charged, or was charged: the fee as it would have been on time.';
COMMENT ON COLUMN review_cases.with_held IS
  'What its payment held before: it was credited with this money, which settled the payment.';
COMMENT ON COLUMN review_cases.attempts IS
  'Number of references used so far to return the money to the sender; the last one may be sent again.';

CREATE TABLE statement_entries (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  rail            text NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('charge', 'charge_returned', 'settlement', 'settled', 'interest', 'funding',
                                           'check')),
  reference       text NOT NULL,
  amount          bigint NOT NULL CHECK (amount > 0),
  at              timestamptz(3) NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT statement_entry_unique UNIQUE (organisation_id, environment, rail, kind, reference)
);
COMMENT ON TABLE statement_entries IS
  'Money that a rail moved by itself, posted when its statement has it: once, by rail, kind and reference.';

-- The result of each reconciliation of a rail's statement with the ledger. A reconciliation reports and never repairs.
CREATE TABLE reconciliation_reports (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  rail            text NOT NULL,
  period_from     timestamptz(3) NOT NULL,
  period_to       timestamptz(3) NOT NULL,
  line_count      integer NOT NULL CHECK (line_count >= 0),
  break_count     integer NOT NULL CHECK (break_count >= 0),
  breaks          jsonb NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT reconciliation_period_order CHECK (period_from < period_to)
);
CREATE INDEX reconciliation_reports_newest ON reconciliation_reports (organisation_id, environment, created_at, id);
COMMENT ON TABLE reconciliation_reports IS
  'A rail''s statement of a period, compared line by line with the postings on clearing:<rail>.';
COMMENT ON COLUMN reconciliation_reports.breaks IS
  'The breaks, at most 1,000 of them; break_count is the number of all. Ids, amounts, codes and times only.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON reconciliation_reports FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- One row per break, however many runs find it. It has the same id as its review case; ledger.post writes both.
CREATE TABLE reconciliation_breaks (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  version         integer NOT NULL,
  rail            text NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('unmatched_ledger', 'unmatched_statement', 'amount', 'duplicate', 'status', 'unreadable',
                                           'balance')),
  line            text NOT NULL CHECK (line IN ('credit', 'recalled', 'sent', 'returned', 'charge', 'charge_returned', 'settlement',
                                           'settled', 'interest', 'funding', 'check', 'other_in', 'other_out')),
  reference       text NOT NULL,
  at              timestamptz(3) NOT NULL,
  occurrence      integer NOT NULL CHECK (occurrence > 0),
  ledger_amount   bigint,
  statement_amount bigint,
  sealed_row      text,
  cleared_at      timestamptz(3),
  created_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT reconciliation_break_unique UNIQUE (organisation_id, environment, rail, reference, kind, line, at, occurrence)
);
CREATE INDEX reconciliation_breaks_by_time ON reconciliation_breaks (organisation_id, environment, rail, at);
COMMENT ON TABLE reconciliation_breaks IS
  'Differences between the rail''s statement and the ledger; each has a review case with the same id.';
COMMENT ON COLUMN reconciliation_breaks.occurrence IS
  'Numbers the breaks that are equal in all other columns: the same line three times on a statement makes two breaks.';
COMMENT ON COLUMN reconciliation_breaks.sealed_row IS
  'Of a row that could not be read: its text, encrypted, because it may have personal data.';
COMMENT ON COLUMN reconciliation_breaks.cleared_at IS
  'Time since which the runs that cover it no longer find it. NULL: not cleared.';

CREATE TABLE reconciliation_progress (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  rail            text NOT NULL,
  reconciled_to   timestamptz(3) NOT NULL,
  read_from       timestamptz(3) NOT NULL,
  looked_back_at  timestamptz(3),
  PRIMARY KEY (organisation_id, environment, rail),
  CONSTRAINT read_from_not_later CHECK (read_from <= reconciled_to)
);
COMMENT ON COLUMN reconciliation_progress.looked_back_at IS
  'When the periods in which the rail may have changed a row were last compared again.';
COMMENT ON COLUMN reconciliation_progress.read_from IS
  'Where the next run reads from: the oldest line whose resource was still in progress, else reconciled_to.';

CREATE TABLE bank_balances (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  rail            text NOT NULL,
  balance         bigint NOT NULL,
  reported_for    timestamptz(3) NOT NULL,
  compared_at     timestamptz(3) NOT NULL,
  in_flight       bigint NOT NULL,
  PRIMARY KEY (organisation_id, environment, rail)
);
COMMENT ON TABLE bank_balances IS
  'The balance that a rail last reported. The postings on clearing:<rail> before compared_at must sum to -(balance + in_flight).';
COMMENT ON COLUMN bank_balances.reported_for IS 'The moment of the balance: it includes every line before it.';
COMMENT ON COLUMN bank_balances.in_flight IS
  'What was posted before compared_at and is on no statement yet, less what is on one and is not posted yet.';

CREATE TABLE credit_polls (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  rail            text NOT NULL,
  listed_to       timestamptz(3) NOT NULL,
  looked_back_at  timestamptz(3),
  PRIMARY KEY (organisation_id, environment, rail)
);
COMMENT ON TABLE credit_polls IS 'Up to when the credits that each rail lists were compared with those it reported.';

-- Only ledger.post writes these.
GRANT SELECT ON inbound_credits, review_cases, statement_entries, reconciliation_breaks TO manilla_app;
GRANT UPDATE (sealed_row) ON reconciliation_breaks TO manilla_app; -- sealed again with a newer key
GRANT SELECT, INSERT ON reconciliation_reports TO manilla_app;
GRANT SELECT, INSERT, UPDATE ON reconciliation_progress, bank_balances, credit_polls TO manilla_app;
