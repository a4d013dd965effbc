-- What looks after accepted resources and old rows: the sweeper's indexes, and forgetting what nobody needs any more.

-- The sweeper pages over resources that have not ended. They are few among all that ever were, so each index is small.
CREATE INDEX payments_open ON payments (organisation_id, id) WHERE status IN ('pending', 'partial');
CREATE INDEX withdrawals_open ON withdrawals (organisation_id, id) WHERE status = 'processing';
CREATE INDEX refunds_open ON refunds (organisation_id, id) WHERE status = 'processing';
CREATE INDEX payouts_open ON payouts (organisation_id, id) WHERE status = 'processing';
-- A bank may return an item after its payout has ended; that is told by a roll-up of its own.
CREATE INDEX payout_items_returned ON payout_items (organisation_id, payout_id) WHERE returned_at IS NOT NULL;
CREATE INDEX inbound_credits_open ON inbound_credits (organisation_id, id) WHERE status = 'received';
CREATE INDEX review_cases_open ON review_cases (organisation_id, id) WHERE status IN ('open', 'sending');
CREATE INDEX webhook_deliveries_open ON webhook_deliveries (organisation_id, event_id, endpoint_id) WHERE status = 'pending';

CREATE INDEX webhook_attempts_oldest ON webhook_attempts (attempted_at);

-- Forgets attempts made before a time, at most so many at a call, and answers how many. The application may not delete
-- from the log; this is the one way, and it never reaches the last month.
CREATE FUNCTION ledger.forget_webhook_attempts(made_before timestamptz, rows_max integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE forgotten integer;
BEGIN
  DELETE FROM webhook_attempts a USING (
    SELECT organisation_id, id FROM webhook_attempts
    WHERE attempted_at < least(made_before, now() - interval '30 days')
    ORDER BY attempted_at LIMIT rows_max FOR UPDATE SKIP LOCKED
  ) old
  WHERE a.organisation_id = old.organisation_id AND a.id = old.id;
  GET DIAGNOSTICS forgotten = ROW_COUNT;
  RETURN forgotten;
END $$;
COMMENT ON FUNCTION ledger.forget_webhook_attempts(timestamptz, integer) IS 'Housekeeping of the delivery log, in small batches.';
REVOKE ALL ON FUNCTION ledger.forget_webhook_attempts(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.forget_webhook_attempts(timestamptz, integer) TO manilla_app;
