-- Transfers that a bank pays after it reported them as failed: what was taken back from the wallet, and the review case
-- that tells operators.
ALTER TABLE withdrawals ADD COLUMN clawed_back bigint CHECK (clawed_back >= 0);
ALTER TABLE refunds ADD COLUMN clawed_back bigint CHECK (clawed_back >= 0);
ALTER TABLE payout_items ADD COLUMN clawed_back bigint CHECK (clawed_back >= 0);
COMMENT ON COLUMN withdrawals.clawed_back IS
  'What was taken back from the wallet, once the bank had paid the withdrawal after reporting it as failed; NULL for '
  'any other.';
COMMENT ON COLUMN refunds.clawed_back IS 'As withdrawals.clawed_back.';
COMMENT ON COLUMN payout_items.clawed_back IS 'As withdrawals.clawed_back.';

ALTER TABLE review_cases
  ADD COLUMN transfer text,
  DROP CONSTRAINT review_case_money,
  -- Cases of these reasons hold no money that could be credited, returned or moved to unclaimed.
  ADD CONSTRAINT review_case_money CHECK (
    CASE WHEN reason IN ('reconciliation_break', 'credit_unconfirmed', 'paid_after_failure')
         THEN account_code IS NULL AND status IN ('open', 'closed')
         ELSE account_code IS NOT NULL AND amount > 0 AND status <> 'closed' END);
COMMENT ON COLUMN review_cases.transfer IS 'Public id of the transfer that the bank paid after reporting it as failed.';
COMMENT ON COLUMN review_cases.amount IS
  'The amount in suspense; for a case that holds no money, the amount in question, or the rest that is missing.';
COMMENT ON COLUMN review_cases.account_code IS 'The suspense account that holds the money; NULL where the case holds none.';

-- For the sweep: a payout whose event does not count such an item as completed yet.
CREATE INDEX payout_items_clawed_back ON payout_items (organisation_id, payout_id) WHERE clawed_back IS NOT NULL;
