-- The resources of the API. Every row belongs to one organisation and environment, and every unique key contains the
-- organisation.

-- What metadata is found by, in a book: each pair, and each value alone.
CREATE FUNCTION ledger.metadata_terms(organisation uuid, env text, pairs jsonb) RETURNS bigint[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (
  SELECT array_agg(hashtextextended(organisation::text || env || term, 0))
  FROM jsonb_each_text(pairs) AS p (key, value) CROSS JOIN LATERAL (VALUES (key || '=' || value), ('=' || value)) AS t (term)
);

CREATE TABLE template.described_row (
  LIKE template.resource_row INCLUDING ALL,
  metadata jsonb -- the caller's own keys and texts; NULL: none
);
CREATE INDEX ON template.described_row
  USING gin (ledger.metadata_terms(organisation_id, environment, metadata)) WHERE metadata IS NOT NULL;

CREATE TABLE wallets (
  LIKE template.listed_row INCLUDING ALL,
  -- Has its balance, status and limits, under one row lock. Generated: it cannot name the account of another wallet.
  account_code       text NOT NULL GENERATED ALWAYS AS ('wallet:' || ledger.public_id(id, 'wlt')) STORED,
  kind               text NOT NULL CHECK (kind IN ('settlement', 'end_user')),
  email              text NOT NULL,
  full_name          text,
  phone              text,
  external_reference text,
  metadata           jsonb, -- the caller's own keys and texts; NULL: none
  kyc_status         text NOT NULL DEFAULT 'none' CHECK (kyc_status IN ('none', 'tier1', 'tier2', 'tier3', 'business')),
  CONSTRAINT wallet_external_reference_unique UNIQUE (organisation_id, environment, external_reference)
);
CREATE UNIQUE INDEX one_settlement_wallet ON wallets (organisation_id, environment) WHERE kind = 'settlement';
-- For lists of frozen and closed wallets, which are found by their accounts.
CREATE UNIQUE INDEX wallets_by_account ON wallets (organisation_id, account_code);
CREATE INDEX wallets_by_kyc_status ON wallets (organisation_id, environment, kyc_status, created_at, id);
CREATE INDEX wallets_by_email ON wallets (organisation_id, environment, lower(email), created_at, id);
CREATE INDEX wallets_by_metadata ON wallets
  USING gin (ledger.metadata_terms(organisation_id, environment, metadata)) WHERE metadata IS NOT NULL;

CREATE TABLE wallet_kyc (
  LIKE template.book_row INCLUDING ALL,
  wallet_id       uuid NOT NULL,
  sealed          text NOT NULL, -- key id and AES-256-GCM ciphertext, bound to the id of the wallet
  bvn_index       text NOT NULL, -- HMAC-SHA256 of book and BVN, with the key that sealed the details
  PRIMARY KEY (organisation_id, wallet_id)
);
CREATE INDEX wallet_kyc_by_bvn ON wallet_kyc (organisation_id, bvn_index);

CREATE TABLE limit_policies (
  LIKE template.book_row INCLUDING ALL,
  tier            text NOT NULL CHECK (tier IN ('tier1', 'tier2', 'tier3', 'business')),
  balance_max     bigint, -- the limits, as ledger.accounts has them
  posting_max     bigint,
  period_maxima   bigint[],
  PRIMARY KEY (organisation_id, environment, tier)
);
COMMENT ON TABLE limit_policies IS 'Limits of wallets by tier. Of the nil organisation: the ceiling of all policies.';

CREATE TABLE fee_schedules (
  LIKE template.book_row INCLUDING ALL,
  effective_from  timestamptz(3) NOT NULL,
  schedule        jsonb NOT NULL, -- as src/ledger/fees.ts has it
  PRIMARY KEY (organisation_id, environment, effective_from)
);
COMMENT ON TABLE fee_schedules IS 'Fees from a time on. Of the nil organisation: where an organisation has no rule.';

CREATE TABLE virtual_accounts (
  LIKE template.book_row INCLUDING ALL,
  rail            text NOT NULL,
  account_number  text NOT NULL,
  bank_code       text,
  -- exact: only the amount that the account was opened for
  accepts_amount  text NOT NULL DEFAULT 'any' CHECK (accepts_amount IN ('exact', 'any')),
  owner_kind      text NOT NULL CHECK (owner_kind IN ('payment', 'wallet')),
  owner_id        uuid NOT NULL,
  contract_id     uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000', -- of a wallet's number, but for the sandbox
  bank_name       text NOT NULL,
  account_name    text NOT NULL,
  expires_at      timestamptz(3),
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT virtual_account_owner_unique PRIMARY KEY (organisation_id, owner_id, contract_id)
);
CREATE INDEX virtual_accounts_by_number
  ON virtual_accounts (organisation_id, environment, rail, account_number, created_at);
COMMENT ON TABLE virtual_accounts IS 'Issued by a rail: one per bank-transfer payment, and per wallet and contract.';

CREATE TABLE payments (
  LIKE template.described_row INCLUDING ALL,
  method           text NOT NULL CHECK (method IN ('bank_transfer', 'virtual_wallet')),
  CHECK (status IN ('pending', 'partial', 'settled', 'expired', 'cancelled', 'failed', 'refunded', 'partially_refunded')),
  base_amount      bigint NOT NULL CHECK (base_amount > 0),
  fee              bigint NOT NULL CHECK (fee >= 0),
  fee_bearer       text NOT NULL DEFAULT 'payer' CHECK (fee_bearer = 'payer' OR fee_bearer IN ('merchant', 'split') AND fee < base_amount),
  amount_received  bigint NOT NULL CHECK (amount_received >= 0),
  amount_credited  bigint NOT NULL CHECK (amount_credited >= 0), -- to its wallets: net amount plus surplus
  amount_refunding bigint NOT NULL CHECK (amount_refunding >= 0),
  amount_refunded  bigint NOT NULL CHECK (amount_refunded >= 0),
  -- in review cases that wait for a decision or for the return to the sender
  amount_in_review bigint NOT NULL DEFAULT 0 CHECK (amount_in_review >= 0),
  -- taken back by the bank of what reached its wallets; not refundable
  amount_recalled  bigint NOT NULL DEFAULT 0 CHECK (amount_recalled >= 0),
  -- all of the fee at the settlement; a share of it for money that a review case credits later
  fee_charged      bigint NOT NULL DEFAULT 0 CHECK (fee_charged BETWEEN 0 AND fee),
  target_wallet_id uuid NOT NULL,
  -- parts of the base amount for other wallets, as src/workflows/payment/splits.ts has them
  splits           jsonb NOT NULL DEFAULT '[]',
  hold             jsonb, -- what the target gets is held: until releaseAt, or where that is null by hand
  payer_wallet_id  uuid,
  description      text,
  reference        text, -- the caller's own
  -- failed at its creation, cancelled, or expired without money: another payment may have its reference
  reference_is_free boolean NOT NULL DEFAULT false,
  -- hold: opens a review case; refund: returned to the sender without a decision
  on_mismatch      text NOT NULL DEFAULT 'hold' CHECK (on_mismatch IN ('hold', 'refund')),
  return_url       text,
  expires_at       timestamptz(3) NOT NULL,
  settled_at       timestamptz(3),
  CONSTRAINT refunds_within_credit CHECK (amount_refunding + amount_refunded <= amount_credited),
  CONSTRAINT settled_has_time CHECK ((status IN ('settled', 'refunded', 'partially_refunded')) = (settled_at IS NOT NULL))
);
CREATE INDEX payments_by_wallet ON payments (organisation_id, environment, created_at, id) WHERE method = 'virtual_wallet';
CREATE INDEX payments_by_target ON payments (organisation_id, environment, target_wallet_id, created_at, id);
-- The sweep pages over resources that have not ended: a small part of all rows, so each partial index is small.
CREATE INDEX payments_open ON payments (organisation_id, id) WHERE status IN ('pending', 'partial');
-- The last column makes payments that ended unpaid distinct, so that one index serves the filter too.
CREATE UNIQUE INDEX payment_reference_unique
  ON payments (organisation_id, environment, reference, (CASE WHEN reference_is_free THEN id END)) NULLS NOT DISTINCT
  WHERE reference IS NOT NULL;

-- Saved splits for payments: amounts or basis points.
CREATE TABLE split_templates (
  LIKE template.listed_row INCLUDING ALL,
  name   text NOT NULL,
  splits jsonb NOT NULL
);

CREATE TABLE transfers (
  LIKE template.listed_row INCLUDING ALL,
  source_wallet_id      uuid NOT NULL,
  destination_wallet_id uuid NOT NULL,
  hold_id               uuid, -- NULL: the destination has the money
  amount                bigint NOT NULL CHECK (amount > 0),
  fee                   bigint NOT NULL CHECK (fee >= 0),
  status                text NOT NULL CHECK (status IN ('completed', 'failed')),
  description           text,
  reference             text,
  metadata              jsonb
);
CREATE UNIQUE INDEX transfer_reference_unique
  ON transfers (organisation_id, environment, reference) WHERE reference IS NOT NULL;
CREATE INDEX transfers_by_metadata ON transfers
  USING gin (ledger.metadata_terms(organisation_id, environment, metadata)) WHERE metadata IS NOT NULL;

CREATE TABLE holds (
  LIKE template.resource_row INCLUDING ALL,
  CHECK (status IN ('held', 'released', 'cancelled')),
  wallet_id        uuid NOT NULL,
  source_wallet_id uuid, -- NULL: a bank account paid the payment
  transfer_id      uuid,
  payment_id       uuid CHECK ((payment_id IS NULL) <> (transfer_id IS NULL)),
  amount           bigint NOT NULL CHECK (amount > 0),
  amount_released  bigint NOT NULL CHECK (amount_released >= 0),
  amount_cancelled bigint NOT NULL CHECK (amount_cancelled >= 0),
  release_at       timestamptz(3), -- NULL: by a request
  ended_at         timestamptz(3),
  CONSTRAINT held_is_left CHECK (CASE WHEN status = 'held' THEN amount_released + amount_cancelled < amount
                                      ELSE amount_released + amount_cancelled = amount AND ended_at IS NOT NULL END)
);
CREATE INDEX holds_by_wallet ON holds (organisation_id, environment, wallet_id, created_at, id);
CREATE INDEX holds_by_payment ON holds (organisation_id, environment, payment_id, created_at, id) WHERE payment_id IS NOT NULL;
CREATE INDEX holds_open ON holds (organisation_id, id) WHERE status = 'held';
COMMENT ON TABLE holds IS 'Money in held:wallet:<id>: beside a wallet, and not in its balance.';

-- What all transfers to a bank account have.
CREATE TABLE template.bank_transfer (
  amount         bigint NOT NULL CHECK (amount > 0),
  account_name   text,
  reference      text, -- the caller's own; the reference at the rail is the public id
  failure_code   text, -- for programs (src/resources/failureCodes.ts); failure_reason is for people
  failure_reason text,
  failure_detail text,
  session_id     text,
  -- from the wallet, once the bank had paid it after reporting it as failed
  clawed_back    bigint CHECK (clawed_back >= 0)
);

CREATE TABLE withdrawals (
  LIKE template.described_row INCLUDING ALL,
  LIKE template.bank_transfer INCLUDING ALL,
  source_wallet_id uuid NOT NULL,
  fee              bigint NOT NULL CHECK (fee >= 0),
  CHECK (status IN ('processing', 'completed', 'failed', 'returned')),
  account_number   text NOT NULL,
  bank_code        text NOT NULL,
  bank_name        text,
  narration        text,
  rail             text NOT NULL,
  completed_at     timestamptz(3)
);
CREATE INDEX withdrawals_by_source ON withdrawals (organisation_id, environment, source_wallet_id, created_at, id);
CREATE INDEX withdrawals_open ON withdrawals (organisation_id, id) WHERE status = 'processing';
CREATE UNIQUE INDEX withdrawal_reference_unique
  ON withdrawals (organisation_id, environment, reference) WHERE reference IS NOT NULL;
COMMENT ON TABLE withdrawals IS 'To a bank account. The public id is the reference at the rail on every attempt.';

CREATE TABLE refunds (
  LIKE template.described_row INCLUDING ALL,
  LIKE template.bank_transfer INCLUDING ALL,
  payment_id      uuid NOT NULL,
  -- what each wallet gives of it; empty: all of it the target wallet of the payment
  sources         jsonb NOT NULL DEFAULT '[]',
  destination     text NOT NULL CHECK (destination IN ('bank', 'wallet')),
  CHECK (status IN ('processing', 'completed', 'failed')),
  reason          text,
  account_number  text,
  bank_code       text,
  rail            text,
  completed_at    timestamptz(3),
  -- NULL: not by the bank. A late report of payment is obsolete after a return, a contradiction after a refusal.
  returned_at     timestamptz(3) CHECK (returned_at IS NULL OR status = 'failed')
);
CREATE INDEX refunds_by_payment ON refunds (organisation_id, environment, payment_id, created_at, id);
CREATE INDEX refunds_open ON refunds (organisation_id, id) WHERE status = 'processing';
CREATE UNIQUE INDEX refund_reference_unique
  ON refunds (organisation_id, environment, reference) WHERE reference IS NOT NULL;
CREATE INDEX refunds_by_destination ON refunds (organisation_id, environment, destination, created_at, id);

CREATE TABLE payouts (
  LIKE template.described_row INCLUDING ALL,
  source_wallet_id uuid NOT NULL,
  total_amount     bigint NOT NULL CHECK (total_amount > 0),
  total_fee        bigint NOT NULL CHECK (total_fee >= 0),
  item_count       integer NOT NULL CHECK (item_count > 0),
  CHECK (status IN ('processing', 'completed', 'partially_completed', 'failed')),
  reference        text
);
CREATE INDEX payouts_by_source ON payouts (organisation_id, environment, source_wallet_id, created_at, id);
CREATE INDEX payouts_open ON payouts (organisation_id, id) WHERE status = 'processing';
CREATE UNIQUE INDEX payout_reference_unique
  ON payouts (organisation_id, environment, reference) WHERE reference IS NOT NULL;
COMMENT ON TABLE payouts IS 'Ended items are counted in payout_items, so that they do not contend for this row.';

CREATE TABLE payout_items (
  LIKE template.id_row INCLUDING ALL,
  LIKE template.bank_transfer INCLUDING ALL,
  version               integer NOT NULL,
  payout_id             uuid NOT NULL,
  position              integer NOT NULL,
  fee                   bigint NOT NULL CHECK (fee >= 0),
  status                text NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed')),
  destination_wallet_id uuid,
  account_number        text NOT NULL,
  bank_code             text NOT NULL,
  rail                  text NOT NULL,
  inside                boolean NOT NULL DEFAULT false,
  returned_at           timestamptz(3) CHECK (returned_at IS NULL OR status = 'failed'),
  -- the bank returned it, or paid it after a failure: the next event of its payout says so
  unreported            boolean NOT NULL DEFAULT false,
  CONSTRAINT payout_item_position_unique UNIQUE (organisation_id, payout_id, position),
  CONSTRAINT inside_has_wallet CHECK (NOT inside OR destination_wallet_id IS NOT NULL)
);
CREATE INDEX payout_items_unreported ON payout_items (organisation_id, payout_id) WHERE unreported;

-- A wallet and its account numbers belong to the same customer for ever. The application may add account numbers and
-- change the contact; functions write the rest. Otherwise it could give the money of a wallet to the customer of
-- another one, which no check of the ledger finds.
GRANT SELECT ON wallets, wallet_kyc, limit_policies, fee_schedules TO manilla_app;
GRANT EXECUTE ON FUNCTION ledger.metadata_terms TO manilla_app;
GRANT UPDATE (sealed, bvn_index) ON wallet_kyc TO manilla_app;
GRANT SELECT, INSERT ON virtual_accounts, split_templates TO manilla_app;
GRANT UPDATE (email, full_name, phone, metadata) ON wallets TO manilla_app;
-- Only ledger.post writes the resources that move money; the application changes what the caller attached to them.
GRANT SELECT ON payments, transfers, holds, withdrawals, refunds, payouts, payout_items TO manilla_app;
GRANT UPDATE (description, metadata) ON payments, transfers TO manilla_app;
GRANT UPDATE (metadata) ON withdrawals, refunds, payouts TO manilla_app;
