-- What comes from the bank: inbound credits, review cases, and the reconciliation of the rail's statements with the
-- ledger.

CREATE TABLE inbound_credits (
  LIKE template.id_row INCLUDING ALL,
  version               integer NOT NULL,
  rail                  text NOT NULL,
  session_id            text NOT NULL,
  account_number        text,
  account_reference     text, -- ours, as the rail reported it; NULL: it reported the number only
  amount                bigint NOT NULL CHECK (amount > 0),
  sender_name           text,
  sender_account_number text,
  sender_bank_code      text,
  sender_session_id     text,
  owner_kind            text CHECK (owner_kind IN ('payment', 'wallet')), -- NULL: the account number has no owner
  owner_id              uuid,
  -- set_aside: not confirmed by the rail, nothing posted; recalled: taken back before anything was posted
  status                text NOT NULL CHECK (status IN ('received', 'posted', 'suspense', 'set_aside', 'recalled')),
  -- NULL: not taken back; received: reported; posted: confirmed; set_aside: not confirmed, with a review case
  recall                text CHECK (recall IN ('received', 'posted', 'set_aside')),
  recalled_from         text, -- the account that a posted recall was taken from; NULL: none, the money had left
  recalled_taken        bigint CHECK (recalled_taken BETWEEN 0 AND amount),
  recalled_held         bigint NOT NULL DEFAULT 0, -- taken from what its payment held beside that account
  received_at           timestamptz(3) NOT NULL,
  created_at            timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT inbound_credit_session_unique UNIQUE (organisation_id, environment, rail, session_id)
);
CREATE INDEX inbound_credits_by_owner ON inbound_credits (organisation_id, environment, owner_id, created_at, id)
  WHERE owner_id IS NOT NULL;
CREATE INDEX inbound_credits_open ON inbound_credits (organisation_id, id) WHERE status = 'received';
CREATE INDEX inbound_credits_recalls ON inbound_credits (organisation_id, id) WHERE recall = 'received';
-- Counts and lists the credits of a payment that are not applied yet.
CREATE INDEX inbound_credits_of_owner ON inbound_credits (organisation_id, owner_id, id) WHERE status = 'received';
COMMENT ON TABLE inbound_credits IS 'Money that a rail reported, by session id; once posted, as the rail records it.';

CREATE TABLE review_cases (
  LIKE template.resource_row INCLUDING ALL,
  reason            text NOT NULL,
  CHECK (status IN ('open', 'returning', 'credited', 'returned_to_sender', 'unclaimed', 'closed', 'recalled', 'repaid')),
  -- in suspense; without money: in question, or the rest that is missing
  amount            bigint NOT NULL CHECK (amount >= 0),
  account_code      text,
  inbound_credit_id uuid,
  payment_id        uuid,
  reference         text,
  wallet_id         uuid,
  transfer          text,
  rail              text,
  -- references used to return the money; the last one may be sent again
  attempts          integer NOT NULL CHECK (attempts >= 0),
  failure           text CHECK (failure IN ('refused', 'returned', 'never_received', 'decided')),
  failure_code      text,
  failure_reason    text,
  resolved_at       timestamptz(3),
  -- charged for a credit to the wallet of its payment, as if on time
  fee               bigint NOT NULL DEFAULT 0 CHECK (fee >= 0),
  -- what its payment held before, credited with this money
  with_held         bigint NOT NULL DEFAULT 0 CHECK (with_held >= 0),
  -- what the splits of its payment were credited of both
  splits            jsonb NOT NULL DEFAULT '[]',
  -- taken back by the bank while it was unclaimed; not in amount
  recalled_unclaimed bigint NOT NULL DEFAULT 0 CHECK (recalled_unclaimed >= 0),
  late_by_seconds   integer CHECK ((late_by_seconds IS NOT NULL) = (reason = 'late_credit')),
  -- Cases of these reasons hold no money that could be credited, returned or moved to unclaimed.
  CONSTRAINT review_case_money CHECK (
    CASE WHEN reason IN ('reconciliation_break', 'credit_unconfirmed', 'paid_after_failure', 'credit_recalled')
         THEN account_code IS NULL AND (status IN ('open', 'closed') OR status = 'repaid' AND reason = 'credit_recalled')
         ELSE account_code IS NOT NULL AND amount > 0 AND status NOT IN ('closed', 'repaid') END)
);
CREATE INDEX review_cases_by_reason ON review_cases (organisation_id, environment, reason, created_at, id);
CREATE INDEX review_cases_by_wallet ON review_cases (organisation_id, environment, wallet_id, created_at, id) WHERE wallet_id IS NOT NULL;
-- Where a credit went: by its own case, or by that of the payment that held it at its expiry.
CREATE INDEX review_cases_by_credit ON review_cases (organisation_id, inbound_credit_id) WHERE inbound_credit_id IS NOT NULL;
CREATE INDEX review_cases_by_payment ON review_cases (organisation_id, payment_id) WHERE payment_id IS NOT NULL;
CREATE INDEX review_cases_open ON review_cases (organisation_id, id) WHERE status IN ('open', 'returning');
COMMENT ON TABLE review_cases IS 'Open questions for an operator: most hold money in suspense.';

CREATE TABLE statement_entries (
  LIKE template.id_row INCLUDING ALL,
  rail            text NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('charge', 'charge_returned', 'settlement', 'settled', 'interest', 'funding',
                                           'check')),
  reference       text NOT NULL,
  amount          bigint NOT NULL CHECK (amount > 0),
  at              timestamptz(3) NOT NULL,
  account         text,
  created_at      timestamptz(3) NOT NULL,
  CONSTRAINT statement_entry_unique UNIQUE (organisation_id, environment, rail, kind, reference)
);
COMMENT ON TABLE statement_entries IS 'Money that a rail moved by itself: posted once, when its statement has it.';

CREATE TABLE reconciliation_breaks (
  LIKE template.id_row INCLUDING ALL,
  version         integer NOT NULL,
  rail            text NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('unmatched_ledger', 'unmatched_statement', 'amount', 'duplicate', 'status', 'unreadable',
                                           'balance', 'reversal')),
  line            text NOT NULL CHECK (line IN ('credit', 'recalled', 'sent', 'returned', 'charge', 'charge_returned', 'settlement',
                                           'settled', 'interest', 'funding', 'check', 'other_in', 'other_out')),
  reference       text NOT NULL,
  at              timestamptz(3) NOT NULL,
  -- numbers equal breaks: a line three times on a statement makes two
  occurrence      integer NOT NULL CHECK (occurrence > 0),
  ledger_amount   bigint,
  statement_amount bigint,
  sealed_row      text, -- the text of an unreadable row; encrypted, it may have personal data
  cleared_at      timestamptz(3), -- since when the runs that cover it no longer find it
  created_at      timestamptz(3) NOT NULL,
  CONSTRAINT reconciliation_break_unique UNIQUE (organisation_id, environment, rail, reference, kind, line, at, occurrence)
);
CREATE INDEX reconciliation_breaks_by_time ON reconciliation_breaks (organisation_id, environment, rail, at);
CREATE INDEX reconciliation_breaks_of_balances ON reconciliation_breaks (organisation_id, environment, rail)
  WHERE kind = 'balance' AND cleared_at IS NULL;
COMMENT ON TABLE reconciliation_breaks IS 'One row however many runs find it, with the id of its review case.';

CREATE TABLE rail_progress (
  LIKE template.book_row INCLUDING ALL,
  rail            text NOT NULL,
  reconciled_to   timestamptz(3),
  -- where the next run reads from: the oldest line whose resource was in progress, else reconciled_to
  read_from       timestamptz(3),
  looked_back_at  timestamptz(3), -- when the periods in which the rail may have changed a row were last compared again
  listed_to       timestamptz(3), -- up to when the credits that it lists were compared with those it reported
  credits_looked_back_at timestamptz(3),
  available       bigint, -- what it could pay out when it was last asked
  read_at         timestamptz(3),
  PRIMARY KEY (organisation_id, environment, rail),
  CONSTRAINT read_from_not_later CHECK (read_from <= reconciled_to)
);
COMMENT ON TABLE rail_progress IS 'How far each rail of a book is compared with its statement and its credits. NULL: never.';

CREATE TABLE bank_balances (
  LIKE template.book_row INCLUDING ALL,
  rail            text NOT NULL,
  day             date NOT NULL,
  balance         bigint NOT NULL,
  reported_for    timestamptz(3) NOT NULL, -- includes every line before it
  compared_at     timestamptz(3) NOT NULL,
  -- posted before compared_at and on no statement yet, less what is on one and not posted yet
  in_flight       bigint NOT NULL,
  PRIMARY KEY (organisation_id, environment, rail, day)
);
COMMENT ON TABLE bank_balances IS 'Last reported of each day: -(balance + in_flight) on clearing:<rail> at compared_at.';

CREATE TABLE day_proofs (
  LIKE template.book_row INCLUDING ALL,
  day             date NOT NULL,
  rail            text NOT NULL,
  bank            bigint CHECK (bank IS NOT NULL OR waived IS NOT NULL),
  books           bigint NOT NULL,
  in_flight       bigint,
  breaks          jsonb NOT NULL,
  customer        bigint NOT NULL,
  statutory       bigint NOT NULL,
  own             bigint NOT NULL,
  receivable      bigint NOT NULL,
  headroom        bigint NOT NULL,
  waived          text,
  prepared_by     text NOT NULL,
  reviewed_by     text CHECK (breaks = '{}' OR coalesce(reviewed_by <> prepared_by, false)),
  created_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, environment, day, rail)
);
COMMENT ON TABLE day_proofs IS 'What a bank held at the end of a day by its own statement, and what the books say of it.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON day_proofs FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

-- Only ledger.post writes these.
GRANT SELECT ON inbound_credits, review_cases, statement_entries, reconciliation_breaks, day_proofs TO manilla_app;
GRANT UPDATE (sealed_row) ON reconciliation_breaks TO manilla_app; -- sealed again with a newer key
GRANT SELECT, INSERT, UPDATE ON rail_progress, bank_balances TO manilla_app;
