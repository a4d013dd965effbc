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

-- One row a break, however many runs find it. Its id is that of its review case, and both are written by ledger.post.
CREATE TABLE reconciliation_breaks (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  version         integer NOT NULL,
  rail            text NOT NULL,
  kind            text NOT NULL CHECK (kind IN ('missing', 'extra', 'amount', 'duplicate', 'status')),
  line            text NOT NULL CHECK (line IN ('credit', 'sent', 'returned')),
  reference       text NOT NULL,
  at              timestamptz(3) NOT NULL,
  copy            integer NOT NULL CHECK (copy > 0),
  ours            bigint,
  theirs          bigint,
  gone_at         timestamptz(3),
  created_at      timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT reconciliation_break_unique UNIQUE (organisation_id, environment, rail, reference, kind, line, at, copy)
);
CREATE INDEX reconciliation_breaks_by_time ON reconciliation_breaks (organisation_id, environment, rail, at);
COMMENT ON TABLE reconciliation_breaks IS 'What the rail''s statement and the books do not agree on; each has a review case of the same id.';
COMMENT ON COLUMN reconciliation_breaks.at IS 'When the line happened, by the side that has it.';
COMMENT ON COLUMN reconciliation_breaks.copy IS 'Counts breaks that are alike in all the rest: the same line three times on a statement is two of them.';
COMMENT ON COLUMN reconciliation_breaks.gone_at IS 'Since when runs over its time do not find it any more.';

CREATE FUNCTION ledger.write_reconciliation_breaks(table_rows jsonb) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO reconciliation_breaks SELECT * FROM jsonb_populate_recordset(NULL::reconciliation_breaks, table_rows)
  ON CONFLICT (organisation_id, id) DO UPDATE SET version = excluded.version, gone_at = excluded.gone_at
  WHERE reconciliation_breaks.version = excluded.version - 1;
  GET DIAGNOSTICS written = ROW_COUNT;
  RETURN written;
END $$;
REVOKE ALL ON FUNCTION ledger.write_reconciliation_breaks(jsonb) FROM PUBLIC;
GRANT SELECT ON reconciliation_breaks TO manilla_app;
