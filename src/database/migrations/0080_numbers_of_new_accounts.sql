-- The postings have numbers (0077): the entries of new accounts begin at 1.
ALTER TABLE ledger.accounts ALTER COLUMN last_number SET DEFAULT 0, ALTER COLUMN numbered_after SET DEFAULT 0;

-- What the digest of a seal covers: 1: the postings in the order of their ids; 2: with the numbers, in the order of
-- their own digests, which needs no other order.
ALTER TABLE ledger.seals ADD COLUMN version smallint NOT NULL DEFAULT 1 CHECK (version IN (1, 2));
COMMENT ON COLUMN ledger.seals.digest IS
  'SHA-256 over the digest of the seal before it (nothing for the first) and the digest of each posting. The version says '
  'in which order, and what they cover.';

COMMENT ON COLUMN ledger.closed_days.settled_posting_id IS
  'Every posting with an id up to this one had been committed or rolled back when the day was settled; NULL: not yet.';
COMMENT ON COLUMN ledger.closed_days.last_posting_id IS 'Not used since decision 55.';
COMMENT ON COLUMN ledger.closing_balances.last_posting_id IS
  'Every entry of the account that is dated after the day has a greater number.';
COMMENT ON COLUMN ledger.closing_balances.read_posting_id IS
  'The number of the last entry that was read: no entry that is dated up to the end of the day has a greater one.';
