-- Replaced by resolved_or_reversed_once.
DROP INDEX ledger.one_reversal_per_transaction;
