-- Postings have one key, by transaction and number, in place of two indexes: one by number, one by transaction. Each posting
-- costs an entry less. Nobody looked for a posting by its number alone but `ledger verify`, which now follows each account
-- along the indexes by account; the number still orders the postings of an account and comes from one sequence.
ALTER TABLE ledger.postings
  DROP CONSTRAINT postings_pkey,
  ADD PRIMARY KEY (organisation_id, transaction_id, id);
DROP INDEX ledger.postings_by_transaction;
