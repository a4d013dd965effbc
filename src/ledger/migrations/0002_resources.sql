-- What the API shows: wallets, payments, keys, events, and the outbox that starts flows. Every row belongs to one
-- organisation and environment, and every unique key contains the organisation.

CREATE TABLE wallets (
  organisation_id    uuid NOT NULL,
  environment        text NOT NULL CHECK (environment IN ('test', 'live')),
  id                 uuid NOT NULL,
  account_id         bigint NOT NULL,
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
CREATE INDEX wallets_newest ON wallets (organisation_id, environment, created_at DESC, id DESC);
CREATE INDEX wallets_by_email ON wallets (organisation_id, environment, email, created_at DESC, id DESC);
COMMENT ON COLUMN wallets.account_id IS 'Its ledger account, which holds balance, status and limits: one truth, decided under one lock.';

CREATE TABLE wallet_kyc (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  wallet_id       uuid NOT NULL,
  sealed          text NOT NULL,
  submitted_at    timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, wallet_id)
);
COMMENT ON COLUMN wallet_kyc.sealed IS 'Key id and AES-256-GCM ciphertext of the details, bound to the wallet''s id.';

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
COMMENT ON TABLE virtual_accounts IS 'Account numbers that a rail gave us: one for each bank-transfer payment, a permanent one for each wallet.';

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
CREATE INDEX payments_newest ON payments (organisation_id, environment, created_at DESC, id DESC);
CREATE INDEX payments_by_target ON payments (organisation_id, environment, target_wallet_id, created_at DESC, id DESC);
COMMENT ON COLUMN payments.version IS 'Counts the changes: a writer names the version it read, and a stale one changes nothing.';
COMMENT ON COLUMN payments.amount_credited IS 'What the target wallet got: base plus surplus. Refunds never pass it.';
COMMENT ON COLUMN payments.amount_refunding IS 'Refunds under way; amount_refunded are those completed.';
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
CREATE INDEX transfers_newest ON transfers (organisation_id, environment, created_at DESC, id DESC);

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
CREATE INDEX withdrawals_newest ON withdrawals (organisation_id, environment, created_at DESC, id DESC);
CREATE INDEX withdrawals_by_source ON withdrawals (organisation_id, environment, source_wallet_id, created_at DESC, id DESC);
COMMENT ON TABLE withdrawals IS 'Money from a wallet to a bank account. Its public id is the reference that the rail is given, the same on every attempt.';

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
CREATE INDEX refunds_by_payment ON refunds (organisation_id, environment, payment_id, created_at DESC, id DESC);
COMMENT ON COLUMN refunds.returned_at IS 'When the bank sent it back; NULL for one that never left. Both are `failed`, but after a return a late word that it was paid is old news, and after a failure it is a contradiction.';

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
  failures_told    integer NOT NULL CHECK (failures_told >= 0),
  created_at       timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id)
);
COMMENT ON TABLE payouts IS 'Many disbursements in one call. How many succeeded and failed is counted in payout_items, so items that end at the same time never queue on this row.';
COMMENT ON COLUMN payouts.failures_told IS 'How many failed items the last event told of: a bank may return an item after the payout has ended, and that is told too.';
CREATE INDEX payouts_newest ON payouts (organisation_id, environment, created_at DESC, id DESC);
CREATE INDEX payouts_by_source ON payouts (organisation_id, environment, source_wallet_id, created_at DESC, id DESC);

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
COMMENT ON COLUMN payout_items.returned_at IS 'When the bank sent it back, as for a refund.';
COMMENT ON COLUMN payout_items.reference IS 'The caller''s own name for the item. The rail is given the item''s public id.';

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
  status                text NOT NULL CHECK (status IN ('received', 'posted', 'suspense')),
  received_at           timestamptz(3) NOT NULL,
  created_at            timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT inbound_credit_session_unique UNIQUE (organisation_id, environment, rail, session_id)
);
CREATE INDEX inbound_credits_by_owner ON inbound_credits (organisation_id, owner_id);
COMMENT ON TABLE inbound_credits IS 'Money that a rail says arrived. Its session id is its identity: the same one twice is one credit.';
COMMENT ON COLUMN inbound_credits.owner_kind IS 'Whose account number it came to; NULL when nobody''s.';

CREATE TABLE review_cases (
  organisation_id   uuid NOT NULL,
  environment       text NOT NULL CHECK (environment IN ('test', 'live')),
  id                uuid NOT NULL,
  version           integer NOT NULL,
  reason            text NOT NULL,
  status            text NOT NULL CHECK (status IN ('open', 'sending', 'credited', 'sent_back', 'kept', 'settled')),
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
  -- A break holds no money: there is nothing of it to credit, send back or keep, whatever the code above thinks.
  CONSTRAINT break_holds_no_money CHECK (
    CASE reason WHEN 'reconciliation_break' THEN account_code IS NULL AND status IN ('open', 'settled')
                ELSE account_code IS NOT NULL AND amount > 0 AND status <> 'settled' END)
);
CREATE INDEX review_cases_newest ON review_cases (organisation_id, environment, created_at DESC, id DESC);
COMMENT ON TABLE review_cases IS 'What a person must decide: where money in suspense belongs, or that what is behind a reconciliation break is put right.';
COMMENT ON COLUMN review_cases.amount IS 'The money in suspense; for a break, the money in question.';
COMMENT ON COLUMN review_cases.account_code IS 'The suspense account that holds the money; NULL for a break, which holds none.';
COMMENT ON COLUMN review_cases.rail IS 'The rail that sends the money back.';
COMMENT ON COLUMN review_cases.attempts IS 'References that the rail was given to send the money back by; the last one may be given again.';
COMMENT ON COLUMN review_cases.failure IS 'How the last attempt to send it back ended; failure_reason is that in words.';

CREATE TABLE events (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  type            text NOT NULL,
  resource        text NOT NULL,
  data            json NOT NULL,
  created_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX events_newest ON events (organisation_id, environment, created_at DESC, id DESC);
COMMENT ON COLUMN events.data IS 'The payload as of that moment; json, not jsonb, so that its text never changes and a signature stays valid.';

CREATE TABLE outbox (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              bigint GENERATED ALWAYS AS IDENTITY,
  topic           text NOT NULL,
  message         jsonb NOT NULL,
  available_at    timestamptz(3) NOT NULL DEFAULT now(),
  attempts        integer NOT NULL DEFAULT 0,
  last_error      text,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000); -- rows live for milliseconds
CREATE INDEX outbox_next ON outbox (topic, available_at, id);
COMMENT ON TABLE outbox IS 'What must be told after a commit: a flow to start or wake, an event to deliver. The relay leases rows by moving available_at.';

CREATE TABLE idempotency_keys (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  key             text NOT NULL,
  fingerprint     bytea NOT NULL,
  claim           uuid NOT NULL,
  claimed_until   timestamptz(3) NOT NULL,
  status_code     integer,
  response        text,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, environment, key)
) WITH (fillfactor = 80);
CREATE INDEX idempotency_keys_oldest ON idempotency_keys (created_at);
COMMENT ON TABLE idempotency_keys IS 'One effect per key. A row with no status_code is a request under way, or one that died: claimed_until tells.';
COMMENT ON COLUMN idempotency_keys.claim IS 'Names the one attempt that may commit: a slow first attempt cannot commit after a second took over.';

CREATE TABLE api_keys (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  name            text,
  hash            bytea NOT NULL,
  hint            text NOT NULL,
  scopes          text[] NOT NULL,
  expires_at      timestamptz(3),
  revoked_at      timestamptz(3),
  last_used_at    timestamptz(3),
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT api_key_hash_unique UNIQUE (hash, organisation_id)
);
COMMENT ON COLUMN api_keys.hash IS 'SHA-256 of the key. The key has 256 random bits, so a slow hash would add nothing.';
COMMENT ON COLUMN api_keys.hint IS 'Its last four characters, for people to tell keys apart.';

CREATE UNLOGGED TABLE rate_counters (
  organisation_id uuid NOT NULL,
  api_key_id      uuid NOT NULL,
  window_start    timestamptz(3) NOT NULL,
  hits            integer NOT NULL,
  PRIMARY KEY (organisation_id, api_key_id)
) WITH (fillfactor = 50);
COMMENT ON TABLE rate_counters IS 'Requests of a key in its current minute, counted across processes. Lost in a crash, which forgives a minute.';

CREATE TABLE webhook_endpoints (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  url             text NOT NULL,
  description     text,
  event_types     text[],
  status          text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  sealed_secret   text NOT NULL,
  sealed_previous_secret text,
  previous_secret_until  timestamptz(3),
  created_at      timestamptz(3) NOT NULL,
  deleted_at      timestamptz(3),
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX webhook_endpoints_newest ON webhook_endpoints (organisation_id, environment, created_at DESC, id DESC);
COMMENT ON COLUMN webhook_endpoints.event_types IS 'Which events it wants; NULL means all.';

CREATE TABLE webhook_deliveries (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  event_id        uuid NOT NULL,
  endpoint_id     uuid NOT NULL,
  status          text NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
  attempts        integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3),
  delivered_at    timestamptz(3),
  failure_reason  text CHECK (failure_reason IN ('retries_spent', 'endpoint_disabled', 'endpoint_deleted')),
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, event_id, endpoint_id),
  CONSTRAINT failed_has_reason CHECK ((status = 'failed') = (failure_reason IS NOT NULL))
);
COMMENT ON TABLE webhook_deliveries IS 'One event to one endpoint.';
COMMENT ON COLUMN webhook_deliveries.attempts IS 'Attempts on its schedule so far; a redelivery of an ended delivery starts again from none.';
COMMENT ON COLUMN webhook_deliveries.delivered_at IS 'When the endpoint last took it; kept when a later redelivery fails.';

CREATE TABLE webhook_attempts (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              bigint GENERATED ALWAYS AS IDENTITY,
  event_id        uuid NOT NULL,
  endpoint_id     uuid NOT NULL,
  attempted_at    timestamptz(3) NOT NULL,
  duration_ms     integer NOT NULL,
  response_status integer,
  response_body   text,
  error           text,
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX webhook_attempts_by_event ON webhook_attempts (organisation_id, event_id, id);
COMMENT ON TABLE webhook_attempts IS 'The log of a delivery: what was answered, or why nothing was.';

CREATE TABLE audit_log (
  organisation_id uuid NOT NULL,
  environment     text CHECK (environment IN ('test', 'live')),
  id              bigint GENERATED ALWAYS AS IDENTITY,
  operator        text NOT NULL,
  action          text NOT NULL,
  subject         text NOT NULL,
  reason          text,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id)
);
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
COMMENT ON TABLE audit_log IS 'What a person did with a command: who, what, to what, why.';

-- How ledger.post writes rows along with the money. Each takes an array of complete rows and answers how many it wrote: a
-- row of version 1 is new, any other replaces exactly the version before it, and one that was overtaken is left out.
CREATE FUNCTION ledger.write_payments(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO payments SELECT * FROM jsonb_populate_recordset(NULL::payments, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    amount_received = excluded.amount_received, amount_credited = excluded.amount_credited,
    amount_refunding = excluded.amount_refunding, amount_refunded = excluded.amount_refunded,
    payer_wallet_id = excluded.payer_wallet_id, settled_at = excluded.settled_at
  WHERE payments.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE FUNCTION ledger.write_transfers(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO transfers SELECT * FROM jsonb_populate_recordset(NULL::transfers, table_rows);
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE FUNCTION ledger.write_withdrawals(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO withdrawals SELECT * FROM jsonb_populate_recordset(NULL::withdrawals, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    failure_reason = excluded.failure_reason, session_id = excluded.session_id, completed_at = excluded.completed_at
  WHERE withdrawals.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE FUNCTION ledger.write_refunds(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO refunds SELECT * FROM jsonb_populate_recordset(NULL::refunds, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    failure_reason = excluded.failure_reason, session_id = excluded.session_id, completed_at = excluded.completed_at,
    returned_at = excluded.returned_at
  WHERE refunds.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE FUNCTION ledger.write_payouts(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO payouts SELECT * FROM jsonb_populate_recordset(NULL::payouts, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    failures_told = excluded.failures_told
  WHERE payouts.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE FUNCTION ledger.write_payout_items(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO payout_items SELECT * FROM jsonb_populate_recordset(NULL::payout_items, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    account_name = excluded.account_name, failure_reason = excluded.failure_reason, session_id = excluded.session_id,
    returned_at = excluded.returned_at
  WHERE payout_items.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE FUNCTION ledger.write_inbound_credits(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO inbound_credits SELECT * FROM jsonb_populate_recordset(NULL::inbound_credits, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status
  WHERE inbound_credits.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE FUNCTION ledger.write_review_cases(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO review_cases SELECT * FROM jsonb_populate_recordset(NULL::review_cases, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    wallet_id = excluded.wallet_id, rail = excluded.rail, attempts = excluded.attempts, failure = excluded.failure,
    failure_reason = excluded.failure_reason, resolved_at = excluded.resolved_at
  WHERE review_cases.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE FUNCTION ledger.write_virtual_accounts(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO virtual_accounts SELECT * FROM jsonb_populate_recordset(NULL::virtual_accounts, table_rows);
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

-- What still moves to or from a wallet: counts by kind, without those that are zero.
CREATE FUNCTION ledger.wallet_in_flight(organisation uuid, env text, wallet uuid) RETURNS jsonb
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
  SELECT coalesce(jsonb_object_agg(kind, number) FILTER (WHERE number > 0), '{}')
  FROM (
    SELECT 'payments' AS kind, count(*) AS number FROM payments
    WHERE organisation_id = organisation AND environment = env AND target_wallet_id = wallet AND status IN ('pending', 'partial')
    UNION ALL
    SELECT 'inboundCredits', count(*) FROM inbound_credits
    WHERE organisation_id = organisation AND owner_id = wallet AND status = 'received'
    UNION ALL
    SELECT 'withdrawals', count(*) FROM withdrawals
    WHERE organisation_id = organisation AND environment = env AND source_wallet_id = wallet AND status = 'processing'
    UNION ALL
    SELECT 'refunds', count(*) FROM refunds r JOIN payments p ON p.organisation_id = r.organisation_id AND p.id = r.payment_id
    WHERE p.organisation_id = organisation AND p.environment = env AND p.target_wallet_id = wallet AND r.status = 'processing'
    UNION ALL
    SELECT 'payouts', count(*) FROM payouts
    WHERE organisation_id = organisation AND environment = env AND source_wallet_id = wallet AND status = 'processing'
    UNION ALL
    SELECT 'payoutItems', count(*) FROM payout_items
    WHERE organisation_id = organisation AND environment = env AND destination_wallet_id = wallet AND status IN ('pending', 'processing')
  ) counted
$$;

-- An operator freezes, unfreezes ('active') or closes a wallet. It takes the lock that money moves under, so the status
-- holds from the moment this returns; the audit entry is written with it. Answers what became of it: changed; unchanged
-- (it was so before); not_found; closed (for ever); settlement, balance or in_flight (why it cannot be closed).
CREATE FUNCTION ledger.set_wallet_status(organisation uuid, wallet uuid, wanted text, operator_name text, why text)
RETURNS TABLE (outcome text, env text, status_before text, held bigint, in_flight jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
DECLARE
  account bigint;
  wallet_kind text;
BEGIN
  SELECT w.environment, w.account_id, w.kind INTO env, account, wallet_kind FROM wallets w
  WHERE w.organisation_id = organisation AND w.id = wallet;
  IF NOT FOUND THEN
    outcome := 'not_found';
    RETURN NEXT;
    RETURN;
  END IF;
  SELECT a.status, a.balance INTO status_before, held FROM ledger.accounts a
  WHERE a.organisation_id = organisation AND a.id = account FOR NO KEY UPDATE;
  IF wanted = 'closed' THEN in_flight := ledger.wallet_in_flight(organisation, env, wallet); END IF;

  outcome := CASE
    WHEN status_before = wanted THEN 'unchanged'
    WHEN status_before = 'closed' THEN 'closed'
    WHEN wanted = 'closed' AND wallet_kind = 'settlement' THEN 'settlement'
    WHEN wanted = 'closed' AND held > 0 THEN 'balance'
    WHEN wanted = 'closed' AND in_flight <> '{}' THEN 'in_flight'
    ELSE 'changed'
  END;
  IF outcome = 'changed' THEN
    UPDATE ledger.accounts a SET status = wanted WHERE a.organisation_id = organisation AND a.id = account;
    INSERT INTO audit_log (organisation_id, environment, operator, action, subject, reason)
    VALUES (organisation, env, operator_name,
            'wallet.' || CASE wanted WHEN 'frozen' THEN 'freeze' WHEN 'active' THEN 'unfreeze' ELSE 'close' END, wallet::text, why);
  END IF;
  RETURN NEXT;
END
$$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ledger FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.open_account(uuid, text, text, boolean) TO manilla_app;
GRANT EXECUTE ON FUNCTION ledger.verify_account(uuid, bigint, bigint, bigint) TO manilla_app;
GRANT EXECUTE ON FUNCTION ledger.wallet_in_flight(uuid, text, uuid) TO manilla_app;
GRANT EXECUTE ON FUNCTION ledger.set_wallet_status(uuid, uuid, text, text, text) TO manilla_app;

-- Money resources are written by ledger.post alone; the application reads them.
GRANT SELECT ON payments, transfers, withdrawals, refunds, payouts, payout_items, inbound_credits, review_cases TO manilla_app;
GRANT SELECT, INSERT, UPDATE ON organisations, wallets, wallet_kyc, virtual_accounts, api_keys, webhook_endpoints,
  webhook_deliveries TO manilla_app;
GRANT SELECT, INSERT ON events, webhook_attempts, audit_log TO manilla_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON outbox, idempotency_keys, rate_counters TO manilla_app;
