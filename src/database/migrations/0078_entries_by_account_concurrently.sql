-- The entries of an account in their order. Statements, balances as of a time and `ledger verify` read them; they
-- replace the indexes by account and id.
CREATE INDEX CONCURRENTLY IF NOT EXISTS entries_by_debit
  ON ledger.postings (debit_account_id, coalesce(debit_number, id));
CREATE INDEX CONCURRENTLY IF NOT EXISTS entries_by_credit
  ON ledger.postings (credit_account_id, coalesce(credit_number, id));
