-- Enforces that a hold is resolved once, and that a transaction is reversed once.
CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS resolved_or_reversed_once
  ON ledger.transactions (organisation_id, coalesce(resolves, reverses)) WHERE coalesce(resolves, reverses) IS NOT NULL;
