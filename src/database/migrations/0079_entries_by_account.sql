-- Replaced by entries_by_debit and entries_by_credit.
DROP INDEX ledger.postings_by_debit, ledger.postings_by_credit;
