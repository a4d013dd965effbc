-- A hold is resolved once: by its completion, which names it as `resolves`, or by its reversal.
ALTER TABLE ledger.transactions ADD COLUMN resolves uuid;
COMMENT ON COLUMN ledger.transactions.resolves IS
  'The hold that it completes. A failure reverses the hold, and a late return reverses the completion.';
COMMENT ON COLUMN ledger.transactions.reverses IS 'The transaction that it reverses: its postings mirror those.';
COMMENT ON COLUMN ledger.postings.created_at IS
  'When it was posted, read while its accounts were locked. So the postings of an account with a stored balance have the '
  'same order by time as by id.';
