-- What each reconciliation of a rail's statement with the books came to. A report tells; it never repairs.
CREATE TABLE reconciliation_reports (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  rail            text NOT NULL,
  period_from     timestamptz(3) NOT NULL,
  period_to       timestamptz(3) NOT NULL,
  line_count      integer NOT NULL CHECK (line_count >= 0),
  break_count     integer NOT NULL CHECK (break_count >= 0),
  breaks          jsonb NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT reconciliation_period_order CHECK (period_from < period_to)
);
CREATE INDEX reconciliation_reports_newest ON reconciliation_reports (organisation_id, environment, created_at DESC, id DESC);
COMMENT ON TABLE reconciliation_reports IS 'A rail''s statement of a period, compared line by line with the postings on clearing:<rail>.';
COMMENT ON COLUMN reconciliation_reports.line_count IS 'Lines of the statement in the period.';
COMMENT ON COLUMN reconciliation_reports.breaks IS 'The breaks, at most 1,000 of them; break_count counts all. Ids, amounts, codes and times only.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON reconciliation_reports FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
GRANT SELECT, INSERT ON reconciliation_reports TO manilla_app;
