-- Lines of the statements of providers: collected money that is moved to the balance which pays out, money that the
-- organisation pays in, and lines of no known kind, which are breaks.
ALTER TABLE statement_entries DROP CONSTRAINT statement_entries_kind_check,
  ADD CONSTRAINT statement_entries_kind_check
    CHECK (kind IN ('charge', 'settlement', 'settled', 'interest', 'funding'));
ALTER TABLE reconciliation_breaks DROP CONSTRAINT reconciliation_breaks_line_check,
  ADD CONSTRAINT reconciliation_breaks_line_check
    CHECK (line IN ('credit', 'sent', 'returned', 'charge', 'settlement', 'settled', 'interest', 'funding', 'other_in',
                    'other_out'));
