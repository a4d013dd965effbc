-- The resources of the API, review cases and reconciliation. Every row belongs to one organisation and environment, and
-- every unique key contains the organisation. Lists are read newest first by a backward scan of an ascending index, to
-- which new rows are appended.

CREATE TABLE wallets (
  organisation_id    uuid NOT NULL,
  environment        text NOT NULL CHECK (environment IN ('test', 'live')),
  id                 uuid NOT NULL,
  account_code       text NOT NULL GENERATED ALWAYS AS ('wallet:' || ledger.public_id(id, 'wlt')) STORED,
  kind               text NOT NULL CHECK (kind IN ('settlement', 'end_user')),
  email              text NOT NULL,
  full_name          text,
  phone              text,
  external_reference text,
  kyc_status         text NOT NULL DEFAULT 'none' CHECK (kyc_status IN ('none', 'tier1')),
  created_at         timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT wallet_external_reference_unique UNIQUE (organisation_id, environment, external_reference)
);
CREATE UNIQUE INDEX one_settlement_wallet ON wallets (organisation_id, environment) WHERE kind = 'settlement';
CREATE INDEX wallets_newest ON wallets (organisation_id, environment, created_at, id);
CREATE INDEX wallets_by_email ON wallets (organisation_id, environment, email, created_at, id);
COMMENT ON COLUMN wallets.account_code IS
  'Its ledger account, which has the balance, status and limits, so that one row lock covers all of them. Derived from '
  'the id, so that a wallet cannot name the account of another one.';

CREATE TABLE wallet_kyc (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  wallet_id       uuid NOT NULL,
  sealed          text NOT NULL,
  submitted_at    timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, wallet_id)
);
COMMENT ON COLUMN wallet_kyc.sealed IS
  'Key id and AES-256-GCM ciphertext of the KYC details, bound to the id of the wallet.';

CREATE TABLE virtual_accounts (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  rail            text NOT NULL,
  account_number  text NOT NULL,
  owner_kind      text NOT NULL CHECK (owner_kind IN ('payment', 'wallet')),
  owner_id        uuid NOT NULL,
  bank_name       text NOT NULL,
  account_name    text NOT NULL,
  expires_at      timestamptz(3),
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, environment, rail, account_number),
  CONSTRAINT virtual_account_owner_unique UNIQUE (organisation_id, owner_id)
);
COMMENT ON TABLE virtual_accounts IS
  'Account numbers issued by a rail: one per bank-transfer payment, and a permanent one per wallet.';

CREATE TABLE payments (
  organisation_id  uuid NOT NULL,
  environment      text NOT NULL CHECK (environment IN ('test', 'live')),
  id               uuid NOT NULL,
  version          integer NOT NULL,
  method           text NOT NULL CHECK (method IN ('bank_transfer', 'virtual_wallet')),
  status           text NOT NULL CHECK (status IN ('pending', 'partial', 'settled', 'expired', 'failed', 'refunded', 'partially_refunded')),
  base_amount      bigint NOT NULL CHECK (base_amount > 0),
  fee              bigint NOT NULL CHECK (fee >= 0),
  amount_received  bigint NOT NULL CHECK (amount_received >= 0),
  amount_credited  bigint NOT NULL CHECK (amount_credited >= 0),
  amount_refunding bigint NOT NULL CHECK (amount_refunding >= 0),
  amount_refunded  bigint NOT NULL CHECK (amount_refunded >= 0),
  target_wallet_id uuid NOT NULL,
  payer_wallet_id  uuid,
  description      text,
  expires_at       timestamptz(3) NOT NULL,
  settled_at       timestamptz(3),
  created_at       timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT refunds_within_credit CHECK (amount_refunding + amount_refunded <= amount_credited),
  CONSTRAINT settled_has_time CHECK ((status IN ('settled', 'refunded', 'partially_refunded')) = (settled_at IS NOT NULL))
);
CREATE INDEX payments_newest ON payments (organisation_id, environment, created_at, id);
CREATE INDEX payments_by_target ON payments (organisation_id, environment, target_wallet_id, created_at, id);
COMMENT ON COLUMN payments.version IS
  'Incremented by every change. A writer passes the version that it read; a stale version changes nothing.';
COMMENT ON COLUMN payments.amount_credited IS
  'Amount credited to the target wallet: base amount plus surplus. Refunds never exceed it.';
COMMENT ON COLUMN payments.amount_refunding IS
  'Total of the refunds in progress; amount_refunded is the total of the completed ones.';
COMMENT ON COLUMN payments.payer_wallet_id IS 'The wallet that paid a virtual_wallet payment.';

CREATE TABLE transfers (
  organisation_id       uuid NOT NULL,
  environment           text NOT NULL CHECK (environment IN ('test', 'live')),
  id                    uuid NOT NULL,
  source_wallet_id      uuid NOT NULL,
  destination_wallet_id uuid NOT NULL,
  amount                bigint NOT NULL CHECK (amount > 0),
  fee                   bigint NOT NULL CHECK (fee >= 0),
  status                text NOT NULL CHECK (status IN ('completed', 'failed')),
  description           text,
  created_at            timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX transfers_newest ON transfers (organisation_id, environment, created_at, id);

CREATE TABLE withdrawals (
  organisation_id  uuid NOT NULL,
  environment      text NOT NULL CHECK (environment IN ('test', 'live')),
  id               uuid NOT NULL,
  version          integer NOT NULL,
  source_wallet_id uuid NOT NULL,
  amount           bigint NOT NULL CHECK (amount > 0),
  fee              bigint NOT NULL CHECK (fee >= 0),
  status           text NOT NULL CHECK (status IN ('processing', 'completed', 'failed', 'returned')),
  account_number   text NOT NULL,
  account_name     text,
  bank_code        text NOT NULL,
  bank_name        text,
  narration        text,
  failure_reason   text,
  rail             text NOT NULL,
  session_id       text,
  created_at       timestamptz(3) NOT NULL,
  completed_at     timestamptz(3),
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX withdrawals_newest ON withdrawals (organisation_id, environment, created_at, id);
CREATE INDEX withdrawals_by_source ON withdrawals (organisation_id, environment, source_wallet_id, created_at, id);
COMMENT ON TABLE withdrawals IS
  'Money from a wallet to a bank account. Its public id is the reference at the rail, the same on every attempt.';

CREATE TABLE refunds (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  version         integer NOT NULL,
  payment_id      uuid NOT NULL,
  amount          bigint NOT NULL CHECK (amount > 0),
  destination     text NOT NULL CHECK (destination IN ('bank', 'wallet')),
  status          text NOT NULL CHECK (status IN ('processing', 'completed', 'failed')),
  reason          text,
  account_number  text,
  account_name    text,
  bank_code       text,
  failure_reason  text,
  rail            text,
  session_id      text,
  created_at      timestamptz(3) NOT NULL,
  completed_at    timestamptz(3),
  returned_at     timestamptz(3) CHECK (returned_at IS NULL OR status = 'failed'),
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX refunds_by_payment ON refunds (organisation_id, environment, payment_id, created_at, id);
COMMENT ON COLUMN refunds.returned_at IS
  'When the bank returned it, NULL if it did not. The status is `failed` after a return as well as after a refusal, '
  'but a late report of its payment is obsolete after a return and a contradiction after a refusal.';

CREATE TABLE payouts (
  organisation_id  uuid NOT NULL,
  environment      text NOT NULL CHECK (environment IN ('test', 'live')),
  id               uuid NOT NULL,
  version          integer NOT NULL,
  source_wallet_id uuid NOT NULL,
  total_amount     bigint NOT NULL CHECK (total_amount > 0),
  total_fee        bigint NOT NULL CHECK (total_fee >= 0),
  item_count       integer NOT NULL CHECK (item_count > 0),
  status           text NOT NULL CHECK (status IN ('processing', 'completed', 'partially_completed', 'failed')),
  failures_reported    integer NOT NULL CHECK (failures_reported >= 0),
  created_at       timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id)
);
COMMENT ON TABLE payouts IS
  'Many disbursements in one request. Completed and failed items are counted in payout_items, so that items that end '
  'at the same time do not contend for this row.';
COMMENT ON COLUMN payouts.failures_reported IS
  'Number of failed items in the last event. A bank may return an item after the payout has ended, which causes '
  'another event.';
CREATE INDEX payouts_newest ON payouts (organisation_id, environment, created_at, id);
CREATE INDEX payouts_by_source ON payouts (organisation_id, environment, source_wallet_id, created_at, id);

CREATE TABLE payout_items (
  organisation_id       uuid NOT NULL,
  environment           text NOT NULL CHECK (environment IN ('test', 'live')),
  id                    uuid NOT NULL,
  version               integer NOT NULL,
  payout_id             uuid NOT NULL,
  position              integer NOT NULL,
  amount                bigint NOT NULL CHECK (amount > 0),
  fee                   bigint NOT NULL CHECK (fee >= 0),
  status                text NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed')),
  destination_wallet_id uuid,
  account_number        text NOT NULL,
  account_name          text,
  bank_code             text NOT NULL,
  reference             text,
  failure_reason        text,
  rail                  text NOT NULL,
  session_id            text,
  returned_at           timestamptz(3) CHECK (returned_at IS NULL OR status = 'failed'),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT payout_item_position_unique UNIQUE (organisation_id, payout_id, position)
);
COMMENT ON COLUMN payout_items.returned_at IS 'When the bank returned it, as for refunds.returned_at.';
COMMENT ON COLUMN payout_items.reference IS
  'The caller''s own reference. The reference at the rail is the public id of the item.';

CREATE TABLE inbound_credits (
  organisation_id       uuid NOT NULL,
  environment           text NOT NULL CHECK (environment IN ('test', 'live')),
  id                    uuid NOT NULL,
  version               integer NOT NULL,
  rail                  text NOT NULL,
  session_id            text NOT NULL,
  account_number        text NOT NULL,
  amount                bigint NOT NULL CHECK (amount > 0),
  sender_name           text,
  sender_account_number text,
  sender_bank_code      text,
  owner_kind            text CHECK (owner_kind IN ('payment', 'wallet')),
  owner_id              uuid,
  status                text NOT NULL CHECK (status IN ('received', 'posted', 'suspense', 'set_aside')),
  received_at           timestamptz(3) NOT NULL,
  created_at            timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT inbound_credit_session_unique UNIQUE (organisation_id, environment, rail, session_id)
);
CREATE INDEX inbound_credits_by_owner ON inbound_credits (organisation_id, environment, owner_id, created_at, id)
  WHERE owner_id IS NOT NULL;
COMMENT ON TABLE inbound_credits IS
  'Incoming money that a rail reported. The session id identifies it: a repeated report is the same credit.';
COMMENT ON COLUMN inbound_credits.owner_kind IS
  'Kind of owner of the account number that received it; NULL if the number has no owner.';
COMMENT ON COLUMN inbound_credits.status IS
  'received: reported, not posted yet; posted; suspense; set_aside: not confirmed by the rail, so nothing was posted.';

CREATE TABLE review_cases (
  organisation_id   uuid NOT NULL,
  environment       text NOT NULL CHECK (environment IN ('test', 'live')),
  id                uuid NOT NULL,
  version           integer NOT NULL,
  reason            text NOT NULL,
  status            text NOT NULL CHECK (status IN ('open', 'returning', 'credited', 'returned_to_sender', 'unclaimed', 'closed')),
  amount            bigint NOT NULL CHECK (amount >= 0),
  account_code      text,
  inbound_credit_id uuid,
  payment_id        uuid,
  wallet_id         uuid,
  rail              text,
  attempts          integer NOT NULL CHECK (attempts >= 0),
  failure           text CHECK (failure IN ('refused', 'returned', 'never_received', 'decided')),
  failure_reason    text,
  created_at        timestamptz(3) NOT NULL,
  resolved_at       timestamptz(3),
  PRIMARY KEY (organisation_id, id),
  -- Cases of these two reasons hold no money that could be credited, returned or moved to unclaimed.
  CONSTRAINT review_case_money CHECK (
    CASE WHEN reason IN ('reconciliation_break', 'credit_unconfirmed') THEN account_code IS NULL AND status IN ('open', 'closed')
         ELSE account_code IS NOT NULL AND amount > 0 AND status <> 'closed' END)
);
CREATE INDEX review_cases_newest ON review_cases (organisation_id, environment, created_at, id);
-- To find where a credit went that was not credited as intended: by its own case, or by the case of the payment that
-- held it at its expiry.
CREATE INDEX review_cases_by_credit ON review_cases (organisation_id, inbound_credit_id) WHERE inbound_credit_id IS NOT NULL;
CREATE INDEX review_cases_by_expired_payment ON review_cases (organisation_id, payment_id) WHERE reason = 'partial_expired';
COMMENT ON TABLE review_cases IS
  'Decisions for an operator: where money in suspense belongs, how a reconciliation break was corrected, or what '
  'became of a credit that the rail did not confirm.';
COMMENT ON COLUMN review_cases.amount IS
  'The amount in suspense; for a reconciliation break or an unconfirmed credit, the amount in question.';
COMMENT ON COLUMN review_cases.account_code IS
  'The suspense account that holds the money; NULL for a reconciliation break or an unconfirmed credit, which hold '
  'none.';
COMMENT ON COLUMN review_cases.rail IS 'The rail that returns the money to the sender.';
COMMENT ON COLUMN review_cases.attempts IS
  'Number of references used so far to return the money to the sender; the last one may be sent again.';
COMMENT ON COLUMN review_cases.failure IS
  'How the last attempt to return the money ended; failure_reason is the text of the reason.';

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
COMMENT ON COLUMN reconciliation_reports.line_count IS 'Number of statement lines in the period.';
COMMENT ON COLUMN reconciliation_reports.breaks IS
  'The breaks, at most 1,000 of them; break_count is the number of all. Ids, amounts, codes and times only.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON reconciliation_reports FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT, INSERT ON reconciliation_reports TO manilla_app;

-- One row per break, however many runs find it. It has the same id as its review case; ledger.post writes both.
CREATE TABLE reconciliation_breaks (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  version         integer NOT NULL,
  rail            text NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('unmatched_ledger', 'unmatched_statement', 'amount', 'duplicate', 'status')),
  line            text NOT NULL CHECK (line IN ('credit', 'sent', 'returned')),
  reference       text NOT NULL,
  at              timestamptz(3) NOT NULL,
  occurrence      integer NOT NULL CHECK (occurrence > 0),
  ledger_amount   bigint,
  statement_amount bigint,
  cleared_at         timestamptz(3),
  created_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT reconciliation_break_unique UNIQUE (organisation_id, environment, rail, reference, kind, line, at, occurrence)
);
CREATE INDEX reconciliation_breaks_by_time ON reconciliation_breaks (organisation_id, environment, rail, at);
COMMENT ON TABLE reconciliation_breaks IS
  'Differences between the rail''s statement and the ledger; each has a review case with the same id.';
COMMENT ON COLUMN reconciliation_breaks.at IS 'Time of the line, according to the side that has it.';
COMMENT ON COLUMN reconciliation_breaks.occurrence IS
  'Numbers the breaks that are equal in all other columns: the same line three times on a statement makes two breaks.';
COMMENT ON COLUMN reconciliation_breaks.cleared_at IS
  'Time since which the runs that cover it no longer find it. NULL: not cleared.';

GRANT SELECT ON reconciliation_breaks TO manilla_app;

-- The sweep pages over resources that have not ended. These are a small part of all rows, so each partial index is
-- small.
CREATE INDEX payments_open ON payments (organisation_id, id) WHERE status IN ('pending', 'partial');
CREATE INDEX withdrawals_open ON withdrawals (organisation_id, id) WHERE status = 'processing';
CREATE INDEX refunds_open ON refunds (organisation_id, id) WHERE status = 'processing';
CREATE INDEX payouts_open ON payouts (organisation_id, id) WHERE status = 'processing';
-- A bank may return an item after its payout has ended; a roll-up of its own reports that.
CREATE INDEX payout_items_returned ON payout_items (organisation_id, payout_id) WHERE returned_at IS NOT NULL;
CREATE INDEX inbound_credits_open ON inbound_credits (organisation_id, id) WHERE status = 'received';
CREATE INDEX review_cases_open ON review_cases (organisation_id, id) WHERE status IN ('open', 'returning');

-- Only ledger.post writes the resources that move money; the application reads them.
GRANT SELECT ON payments, transfers, withdrawals, refunds, payouts, payout_items, inbound_credits, review_cases TO manilla_app;
GRANT SELECT, INSERT, UPDATE ON organisations, wallets, wallet_kyc, virtual_accounts TO manilla_app;
