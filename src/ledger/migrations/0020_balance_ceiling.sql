-- A balance is a number that every reader can hold exactly: JSON numbers, and so JavaScript's, are exact up to 2^53 - 1. A
-- balance past that could be posted and not be read any more. ledger.post refuses the credit before (its `balance_limit`); this
-- is for whoever writes past it. It takes the place of the CHECK of the floor: each CHECK of a row costs every statement that
-- changes a balance. NOT VALID, so that a sandbox that is past it already can be upgraded: its next credit is refused.
ALTER TABLE ledger.accounts
  DROP CONSTRAINT balance_not_negative,
  ADD CONSTRAINT balance_in_range CHECK (balance BETWEEN 0 AND 9007199254740991) NOT VALID;
COMMENT ON COLUMN ledger.accounts.balance IS 'Kobo, credits less debits, at most 2^53 - 1. NULL: a shared platform account, which is never locked; its balance is the sum of its postings.';
