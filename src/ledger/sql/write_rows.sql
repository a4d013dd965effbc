-- version 12
-- The functions by which ledger.post writes resource rows. Each takes a JSON array of complete rows and returns the
-- number of rows that it wrote. A row of version 1 is inserted; any other replaces exactly the version before it. A row
-- with a stale version is not written and not counted.
--
-- Columns are listed explicitly, so that a table can get a column with a default while processes of an earlier release
-- run: these functions then omit the column, and its default applies. The function of a release that writes the column
-- reads it as `coalesce(column, default)`, because processes of the release before do not send it.
CREATE OR REPLACE FUNCTION ledger.write_payments(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO payments (
    organisation_id, environment, id, version, method, status, base_amount, fee, amount_received, amount_credited,
    amount_refunding, amount_refunded, target_wallet_id, payer_wallet_id, description, expires_at, settled_at,
    created_at, reference, metadata, on_mismatch, return_url
  )
  SELECT
    organisation_id, environment, id, version, method, status, base_amount, fee, amount_received, amount_credited,
    amount_refunding, amount_refunded, target_wallet_id, payer_wallet_id, description, expires_at, settled_at,
    created_at, reference, metadata, on_mismatch, return_url
  FROM jsonb_populate_recordset(NULL::payments, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    amount_received = excluded.amount_received, amount_credited = excluded.amount_credited,
    amount_refunding = excluded.amount_refunding, amount_refunded = excluded.amount_refunded,
    payer_wallet_id = excluded.payer_wallet_id, settled_at = excluded.settled_at
  WHERE payments.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE OR REPLACE FUNCTION ledger.write_transfers(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO transfers (
    organisation_id, environment, id, source_wallet_id, destination_wallet_id, amount, fee, status, description,
    created_at, reference, metadata
  )
  SELECT
    organisation_id, environment, id, source_wallet_id, destination_wallet_id, amount, fee, status, description,
    created_at, reference, metadata
  FROM jsonb_populate_recordset(NULL::transfers, table_rows);
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE OR REPLACE FUNCTION ledger.write_withdrawals(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO withdrawals (
    organisation_id, environment, id, version, source_wallet_id, amount, fee, status, account_number, account_name,
    bank_code, bank_name, narration, failure_reason, rail, session_id, created_at, completed_at, clawed_back,
    reference, metadata, failure_code
  )
  SELECT
    organisation_id, environment, id, version, source_wallet_id, amount, fee, status, account_number, account_name,
    bank_code, bank_name, narration, failure_reason, rail, session_id, created_at, completed_at, clawed_back,
    reference, metadata, failure_code
  FROM jsonb_populate_recordset(NULL::withdrawals, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    failure_reason = excluded.failure_reason, failure_code = excluded.failure_code, session_id = excluded.session_id,
    completed_at = excluded.completed_at,
    clawed_back = coalesce(excluded.clawed_back, withdrawals.clawed_back)
  WHERE withdrawals.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE OR REPLACE FUNCTION ledger.write_refunds(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO refunds (
    organisation_id, environment, id, version, payment_id, amount, destination, status, reason, account_number,
    account_name, bank_code, failure_reason, rail, session_id, created_at, completed_at, returned_at, clawed_back,
    reference, metadata, failure_code
  )
  SELECT
    organisation_id, environment, id, version, payment_id, amount, destination, status, reason, account_number,
    account_name, bank_code, failure_reason, rail, session_id, created_at, completed_at, returned_at, clawed_back,
    reference, metadata, failure_code
  FROM jsonb_populate_recordset(NULL::refunds, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    failure_reason = excluded.failure_reason, failure_code = excluded.failure_code, session_id = excluded.session_id,
    completed_at = excluded.completed_at,
    returned_at = excluded.returned_at, clawed_back = coalesce(excluded.clawed_back, refunds.clawed_back)
  WHERE refunds.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE OR REPLACE FUNCTION ledger.write_payouts(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO payouts (
    organisation_id, environment, id, version, source_wallet_id, total_amount, total_fee, item_count, status,
    failures_reported, created_at, reference, metadata
  )
  SELECT
    organisation_id, environment, id, version, source_wallet_id, total_amount, total_fee, item_count, status,
    failures_reported, created_at, reference, metadata
  FROM jsonb_populate_recordset(NULL::payouts, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    failures_reported = excluded.failures_reported
  WHERE payouts.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE OR REPLACE FUNCTION ledger.write_payout_items(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO payout_items (
    organisation_id, environment, id, version, payout_id, position, amount, fee, status, destination_wallet_id,
    account_number, account_name, bank_code, reference, failure_reason, rail, session_id, returned_at, clawed_back,
    inside, failure_code
  )
  SELECT
    organisation_id, environment, id, version, payout_id, position, amount, fee, status, destination_wallet_id,
    account_number, account_name, bank_code, reference, failure_reason, rail, session_id, returned_at, clawed_back,
    inside, failure_code
  FROM jsonb_populate_recordset(NULL::payout_items, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    account_name = excluded.account_name, failure_reason = excluded.failure_reason, failure_code = excluded.failure_code,
    session_id = excluded.session_id,
    returned_at = excluded.returned_at, clawed_back = coalesce(excluded.clawed_back, payout_items.clawed_back)
  WHERE payout_items.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE OR REPLACE FUNCTION ledger.write_inbound_credits(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO inbound_credits (
    organisation_id, environment, id, version, rail, session_id, account_number, account_reference, amount, sender_name,
    sender_account_number, sender_bank_code, owner_kind, owner_id, status, received_at, created_at, recall,
    recalled_from, recalled_taken
  )
  SELECT
    organisation_id, environment, id, version, rail, session_id, account_number, account_reference, amount, sender_name,
    sender_account_number, sender_bank_code, owner_kind, owner_id, status, received_at, created_at, recall,
    recalled_from, recalled_taken
  FROM jsonb_populate_recordset(NULL::inbound_credits, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    recall = coalesce(excluded.recall, inbound_credits.recall),
    recalled_from = coalesce(excluded.recalled_from, inbound_credits.recalled_from),
    recalled_taken = coalesce(excluded.recalled_taken, inbound_credits.recalled_taken)
  WHERE inbound_credits.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE OR REPLACE FUNCTION ledger.write_review_cases(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO review_cases (
    organisation_id, environment, id, version, reason, status, amount, account_code, inbound_credit_id, payment_id,
    wallet_id, rail, attempts, failure, failure_reason, created_at, resolved_at, transfer
  )
  SELECT
    organisation_id, environment, id, version, reason, status, amount, account_code, inbound_credit_id, payment_id,
    wallet_id, rail, attempts, failure, failure_reason, created_at, resolved_at, transfer
  FROM jsonb_populate_recordset(NULL::review_cases, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    wallet_id = excluded.wallet_id, rail = excluded.rail, attempts = excluded.attempts, failure = excluded.failure,
    failure_reason = excluded.failure_reason, resolved_at = excluded.resolved_at
  WHERE review_cases.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE OR REPLACE FUNCTION ledger.write_virtual_accounts(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO virtual_accounts (
    organisation_id, environment, rail, account_number, owner_kind, owner_id, bank_name, account_name, expires_at,
    created_at, bank_code, rail_reference, accepts_amount
  )
  SELECT
    organisation_id, environment, rail, account_number, owner_kind, owner_id, bank_name, account_name, expires_at,
    created_at, bank_code, rail_reference, accepts_amount
  FROM jsonb_populate_recordset(NULL::virtual_accounts, table_rows);
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE OR REPLACE FUNCTION ledger.write_reconciliation_breaks(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO reconciliation_breaks (
    organisation_id, environment, id, version, rail, kind, line, reference, at, occurrence, ledger_amount, statement_amount, cleared_at,
    created_at
  )
  SELECT
    organisation_id, environment, id, version, rail, kind, line, reference, at, occurrence, ledger_amount, statement_amount, cleared_at,
    created_at
  FROM jsonb_populate_recordset(NULL::reconciliation_breaks, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, cleared_at = excluded.cleared_at
  WHERE reconciliation_breaks.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

-- The entries that a decision writes with the money. The name is that of the operator with this id, and an unknown id
-- fails on NOT NULL; without an id it is the caller's API key.
CREATE OR REPLACE FUNCTION ledger.write_audit_log(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO audit_log (organisation_id, environment, operator_id, operator, action, subject, reason)
  SELECT r.organisation_id, r.environment, r.operator_id, CASE WHEN r.operator_id IS NULL THEN r.operator ELSE o.name END,
         r.action, r.subject, r.reason
  FROM jsonb_populate_recordset(NULL::audit_log, table_rows) r
  LEFT JOIN operators o ON o.organisation_id = '00000000-0000-0000-0000-000000000000' AND o.id = r.operator_id;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

CREATE OR REPLACE FUNCTION ledger.write_statement_entries(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO statement_entries (organisation_id, environment, id, rail, kind, reference, amount, at, created_at)
  SELECT organisation_id, environment, id, rail, kind, reference, amount, at, created_at
  FROM jsonb_populate_recordset(NULL::statement_entries, table_rows);
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

-- Income has a derived balance and no floor. So the sweeps of a book take turns, until they are committed, and the
-- income is added up under the lock: a sweep of more is not written, and not counted.
CREATE OR REPLACE FUNCTION ledger.write_fee_sweeps(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  sweep   record;
  income  bigint;
  written integer := 0;
BEGIN
  FOR sweep IN SELECT * FROM jsonb_populate_recordset(NULL::fee_sweeps, table_rows) LOOP
    IF income IS NULL THEN -- the rows of a call are of one book
      PERFORM pg_advisory_xact_lock(hashtextextended('fee_sweeps ' || sweep.organisation_id || sweep.environment, 0));
      income := coalesce((SELECT balance FROM ledger.balances_before(sweep.organisation_id, sweep.environment, 'infinity', 'income:fees')), 0);
    END IF;
    CONTINUE WHEN sweep.amount > income;
    income := income - sweep.amount;
    INSERT INTO fee_sweeps (organisation_id, environment, id, key, wallet_id, amount, created_at)
    VALUES (sweep.organisation_id, sweep.environment, sweep.id, sweep.key, sweep.wallet_id, sweep.amount, sweep.created_at);
    written := written + 1;
  END LOOP;
  RETURN written;
END $$;

-- The postings of an adjustment and the reason for it never change: what was requested is what is approved.
CREATE OR REPLACE FUNCTION ledger.write_adjustments(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO adjustments (
    organisation_id, environment, id, version, status, postings, reason, evidence, reverses, requested_by, decided_by,
    created_at, decided_at
  )
  SELECT
    organisation_id, environment, id, version, status, postings, reason, evidence, reverses, requested_by, decided_by,
    created_at, decided_at
  FROM jsonb_populate_recordset(NULL::adjustments, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, status = excluded.status,
    decided_by = excluded.decided_by, decided_at = excluded.decided_at
  WHERE adjustments.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;

-- Static calls instead of dynamic SQL: their plans are cached, where EXECUTE would plan the call for each batch.
CREATE OR REPLACE FUNCTION ledger.write_rows(row_table text, table_rows jsonb) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  CASE row_table
    WHEN 'payments' THEN RETURN ledger.write_payments(table_rows);
    WHEN 'transfers' THEN RETURN ledger.write_transfers(table_rows);
    WHEN 'withdrawals' THEN RETURN ledger.write_withdrawals(table_rows);
    WHEN 'refunds' THEN RETURN ledger.write_refunds(table_rows);
    WHEN 'payouts' THEN RETURN ledger.write_payouts(table_rows);
    WHEN 'payout_items' THEN RETURN ledger.write_payout_items(table_rows);
    WHEN 'inbound_credits' THEN RETURN ledger.write_inbound_credits(table_rows);
    WHEN 'review_cases' THEN RETURN ledger.write_review_cases(table_rows);
    WHEN 'reconciliation_breaks' THEN RETURN ledger.write_reconciliation_breaks(table_rows);
    WHEN 'statement_entries' THEN RETURN ledger.write_statement_entries(table_rows);
    WHEN 'virtual_accounts' THEN RETURN ledger.write_virtual_accounts(table_rows);
    WHEN 'audit_log' THEN RETURN ledger.write_audit_log(table_rows);
    WHEN 'fee_sweeps' THEN RETURN ledger.write_fee_sweeps(table_rows);
    WHEN 'adjustments' THEN RETURN ledger.write_adjustments(table_rows);
  END CASE; -- any other name fails here
END $$;
COMMENT ON FUNCTION ledger.write_rows IS 'Writes the rows of movements in one table and returns how many it wrote.';
REVOKE ALL ON FUNCTION
  ledger.write_rows, ledger.write_payments, ledger.write_transfers, ledger.write_withdrawals, ledger.write_refunds,
  ledger.write_payouts, ledger.write_payout_items, ledger.write_inbound_credits, ledger.write_review_cases,
  ledger.write_reconciliation_breaks, ledger.write_statement_entries, ledger.write_virtual_accounts,
  ledger.write_audit_log, ledger.write_fee_sweeps, ledger.write_adjustments
FROM PUBLIC;
