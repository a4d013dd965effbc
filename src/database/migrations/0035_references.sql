-- The caller's own reference and metadata of every resource that moves money, and the code of a failure beside its text.
ALTER TABLE payments ADD COLUMN reference text, ADD COLUMN metadata jsonb;
ALTER TABLE transfers ADD COLUMN reference text, ADD COLUMN metadata jsonb;
ALTER TABLE withdrawals ADD COLUMN reference text, ADD COLUMN metadata jsonb, ADD COLUMN failure_code text;
ALTER TABLE refunds ADD COLUMN reference text, ADD COLUMN metadata jsonb, ADD COLUMN failure_code text;
ALTER TABLE payouts ADD COLUMN reference text, ADD COLUMN metadata jsonb;
ALTER TABLE payout_items ADD COLUMN failure_code text;

UPDATE withdrawals SET failure_code = CASE
  WHEN status = 'returned' THEN 'bank_returned'
  WHEN failure_reason = 'The bank never received the transfer' THEN 'never_received'
  WHEN failure_reason LIKE 'Decided by %' THEN 'operator_decision'
  ELSE 'bank_refused' END
WHERE status IN ('failed', 'returned');
UPDATE refunds SET failure_code = CASE
  WHEN returned_at IS NOT NULL THEN 'bank_returned'
  WHEN failure_reason = 'The bank never received the transfer' THEN 'never_received'
  WHEN failure_reason LIKE 'Decided by %' THEN 'operator_decision'
  ELSE 'bank_refused' END
WHERE status = 'failed';
UPDATE payout_items SET failure_code = CASE
  WHEN returned_at IS NOT NULL THEN 'bank_returned'
  WHEN failure_reason = 'The bank never received the transfer' THEN 'never_received'
  WHEN failure_reason = 'The bank knows no account with this number' THEN 'account_not_resolved'
  WHEN failure_reason LIKE 'The bank has this account under another name: %' THEN 'name_mismatch'
  WHEN failure_reason LIKE 'The wallet cannot receive this amount now%' THEN 'wallet_refused'
  WHEN failure_reason LIKE 'Decided by %' THEN 'operator_decision'
  ELSE 'bank_refused' END
WHERE status = 'failed';

COMMENT ON COLUMN payments.reference IS 'The caller''s own reference; unique among payments that did not fail at their creation.';
COMMENT ON COLUMN payments.metadata IS 'The caller''s own keys and values, never interpreted; NULL: none.';
COMMENT ON COLUMN transfers.reference IS 'The caller''s own reference, unique among transfers; the same for the other resources.';
COMMENT ON COLUMN withdrawals.failure_code IS
  'Why it failed or was returned, for programs (src/resources/failureCodes.ts); failure_reason is the text for people.';
