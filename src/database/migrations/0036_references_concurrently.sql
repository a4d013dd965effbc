-- The caller's references are unique, and a filter of the lists. Partial: rows without a reference cost nothing.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS transfer_reference_unique
  ON transfers (organisation_id, environment, reference) WHERE reference IS NOT NULL;
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS withdrawal_reference_unique
  ON withdrawals (organisation_id, environment, reference) WHERE reference IS NOT NULL;
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS refund_reference_unique
  ON refunds (organisation_id, environment, reference) WHERE reference IS NOT NULL;
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS payout_reference_unique
  ON payouts (organisation_id, environment, reference) WHERE reference IS NOT NULL;
-- A payment that the rail opened no account number for has failed, and the caller retries the request: its reference
-- stays free. The last column tells failed payments apart, so that one index serves the filter too.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS payment_reference_unique
  ON payments (organisation_id, environment, reference, (CASE WHEN status = 'failed' THEN id END)) NULLS NOT DISTINCT
  WHERE reference IS NOT NULL;
