-- Transfers that `rail check` sent: they are on the statement of the provider, and belong to no customer.
ALTER TABLE statement_entries DROP CONSTRAINT statement_entries_kind_check,
  ADD CONSTRAINT statement_entries_kind_check
    CHECK (kind IN ('charge', 'settlement', 'settled', 'interest', 'funding', 'check'));
ALTER TABLE reconciliation_breaks DROP CONSTRAINT reconciliation_breaks_line_check,
  ADD CONSTRAINT reconciliation_breaks_line_check
    CHECK (line IN ('credit', 'sent', 'returned', 'charge', 'settlement', 'settled', 'interest', 'funding', 'check',
                    'other_in', 'other_out'));
