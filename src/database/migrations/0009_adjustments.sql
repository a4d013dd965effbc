-- Adjustments: corrections of the books that one operator requests and another approves.
CREATE TABLE adjustments (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  version         integer NOT NULL,
  status          text NOT NULL CHECK (status IN ('requested', 'posted', 'rejected')),
  postings        jsonb NOT NULL CHECK (jsonb_array_length(postings) > 0),
  reason          text NOT NULL CHECK (reason <> ''),
  evidence        text NOT NULL CHECK (evidence <> ''),
  reverses        uuid,
  requested_by    uuid NOT NULL,
  decided_by      uuid,
  created_at      timestamptz(3) NOT NULL,
  decided_at      timestamptz(3),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT adjustment_decided CHECK ((status = 'requested') = (decided_by IS NULL) AND (status = 'requested') = (decided_at IS NULL)),
  CONSTRAINT adjustment_needs_two_operators CHECK (status <> 'posted' OR decided_by <> requested_by)
);
CREATE INDEX adjustments_newest ON adjustments (organisation_id, environment, created_at, id);
-- For the sweep.
CREATE INDEX adjustments_open ON adjustments (organisation_id, id) WHERE status = 'requested';
-- A second reversal cannot even be requested, unless the first one was rejected. The ledger refuses it too.
CREATE UNIQUE INDEX one_reversal_per_adjustment ON adjustments (organisation_id, reverses)
  WHERE reverses IS NOT NULL AND status <> 'rejected';
COMMENT ON TABLE adjustments IS
  'Corrections: postings between accounts of one book that one operator requests and another approves.';
COMMENT ON COLUMN adjustments.postings IS
  'What is posted on approval, [{debit, credit, amount}]; never changes, so that what was requested is what is approved.';
COMMENT ON COLUMN adjustments.reverses IS
  'The adjustment that this one undoes. The transaction of an adjustment has its id.';
COMMENT ON COLUMN adjustments.decided_by IS
  'Who approved or rejected it. The operator who requested it can reject it, never approve it.';

-- Only ledger.post writes it.
GRANT SELECT ON adjustments TO manilla_app;
