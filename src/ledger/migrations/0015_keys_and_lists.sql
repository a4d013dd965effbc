-- What a request writes besides the books.

-- Most Idempotency-Keys are written together with their outcome now, not claimed first and answered later. Room that is kept for
-- outcomes would leave four fifths of the table empty. And the key begins with what tells rows apart (see migration 0012).
ALTER TABLE idempotency_keys
  RESET (fillfactor),
  DROP CONSTRAINT idempotency_keys_pkey,
  ADD PRIMARY KEY (key, organisation_id, environment);

-- Lists are read newest first, which an ascending index gives as well, from its end. Rows come in the order of time, so in an
-- ascending index each goes behind the last one, and its place is known without a search.
DROP INDEX
  wallets_newest, wallets_by_email, payments_newest, payments_by_target, transfers_newest, withdrawals_newest,
  withdrawals_by_source, refunds_by_payment, payouts_newest, payouts_by_source, review_cases_newest, events_newest,
  webhook_endpoints_newest, reconciliation_reports_newest;
CREATE INDEX wallets_newest ON wallets (organisation_id, environment, created_at, id);
CREATE INDEX wallets_by_email ON wallets (organisation_id, environment, email, created_at, id);
CREATE INDEX payments_newest ON payments (organisation_id, environment, created_at, id);
CREATE INDEX payments_by_target ON payments (organisation_id, environment, target_wallet_id, created_at, id);
CREATE INDEX transfers_newest ON transfers (organisation_id, environment, created_at, id);
CREATE INDEX withdrawals_newest ON withdrawals (organisation_id, environment, created_at, id);
CREATE INDEX withdrawals_by_source ON withdrawals (organisation_id, environment, source_wallet_id, created_at, id);
CREATE INDEX refunds_by_payment ON refunds (organisation_id, environment, payment_id, created_at, id);
CREATE INDEX payouts_newest ON payouts (organisation_id, environment, created_at, id);
CREATE INDEX payouts_by_source ON payouts (organisation_id, environment, source_wallet_id, created_at, id);
CREATE INDEX review_cases_newest ON review_cases (organisation_id, environment, created_at, id);
CREATE INDEX events_newest ON events (organisation_id, environment, created_at, id);
CREATE INDEX webhook_endpoints_newest ON webhook_endpoints (organisation_id, environment, created_at, id);
CREATE INDEX reconciliation_reports_newest ON reconciliation_reports (organisation_id, environment, created_at, id);

-- Which function writes a table was looked up by its name, so each batch of each table was a statement to be planned anew.
-- A table that movements write to is named here.
CREATE FUNCTION ledger.write_rows(row_table text, table_rows jsonb) RETURNS integer LANGUAGE plpgsql AS $$
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
    WHEN 'virtual_accounts' THEN RETURN ledger.write_virtual_accounts(table_rows);
  END CASE; -- any other name fails here
END $$;
COMMENT ON FUNCTION ledger.write_rows IS 'Writes the rows of one table that movements carry, and answers how many it wrote.';
REVOKE ALL ON FUNCTION ledger.write_rows FROM PUBLIC;

-- Both ways of posting call it; nothing else of them is changed.
DO $$
DECLARE
  poster regproc;
  old CONSTANT text := $old$EXECUTE format('SELECT ledger.%I($1)', 'write_' || row_table) INTO written USING table_rows;$old$;
  definition text;
BEGIN
  FOREACH poster IN ARRAY ARRAY['ledger.post', 'ledger.post_all']::regproc[] LOOP
    definition := pg_get_functiondef(poster);
    IF strpos(definition, old) = 0 THEN RAISE EXCEPTION '% is not what this migration changes', poster; END IF;
    EXECUTE replace(definition, old, 'written := ledger.write_rows(row_table, table_rows);');
  END LOOP;
END $$;
