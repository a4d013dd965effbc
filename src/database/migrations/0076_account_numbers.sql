-- Entries of an account are ordered by a number that its lock gives, no longer by the id of a sequence: an id comes
-- from the node that wrote it, and goes down when a book moves to another one
-- (docs/decisions/0055-numbers-of-entries.md).
--
-- No posting is rewritten. What was posted before has no number: its number is its id, which came from the one sequence
-- of this database. Accounts that exist go on above these ids, so that all numbers have one order. Above means far
-- above, because ids are taken until the next file is applied: each file locks one table of money, so that it cannot
-- deadlock with a posting. New accounts begin at 1 from migration 0080 on.
DO $$
DECLARE
  above CONSTANT bigint := (SELECT CASE WHEN is_called THEN last_value + 1000000000 ELSE 0 END FROM ledger.postings_id_seq);
BEGIN
  EXECUTE format('ALTER TABLE ledger.accounts ADD COLUMN last_number bigint NOT NULL DEFAULT %1$s,
                                              ADD COLUMN numbered_after bigint NOT NULL DEFAULT %1$s', above);
END
$$;
COMMENT ON COLUMN ledger.accounts.last_number IS
  'The number of the newest entry. Without meaning for an account with a derived balance.';
COMMENT ON COLUMN ledger.accounts.numbered_after IS
  'Entries above this number are numbered without a gap. 0, unless the account is older than the numbers.';
