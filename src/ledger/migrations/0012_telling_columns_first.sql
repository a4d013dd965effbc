-- Indexes of the books begin with the column that tells most rows apart, not with the organisation. Whoever looks something up
-- names all columns, so any order finds it; but on the way down the tree each comparison goes column by column, and the first of
-- them was the same everywhere. Those of postings by account need no organisation at all: an account has one.
ALTER TABLE ledger.accounts
  DROP CONSTRAINT account_code_unique,
  ADD CONSTRAINT account_code_unique UNIQUE (code, organisation_id, environment);
ALTER TABLE ledger.transactions
  DROP CONSTRAINT transaction_key_unique,
  ADD CONSTRAINT transaction_key_unique UNIQUE (key, organisation_id, environment);

DROP INDEX ledger.postings_by_debit, ledger.postings_by_credit;
CREATE INDEX postings_by_debit ON ledger.postings (debit_account_id, id);
CREATE INDEX postings_by_credit ON ledger.postings (credit_account_id, id);
