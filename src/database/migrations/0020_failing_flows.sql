-- Flows with a task that fails again and again, as the last scan of the open flows found them.
CREATE TABLE failing_flows (
  organisation_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
                  CHECK (organisation_id = '00000000-0000-0000-0000-000000000000'),
  workflow_id     text NOT NULL,
  workflow        text NOT NULL,
  task            text NOT NULL CHECK (task IN ('activity', 'workflow_task')),
  activity        text,
  attempt         integer NOT NULL,
  since           timestamptz(3) NOT NULL,
  error           text NOT NULL,
  seen_at         timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, workflow_id)
);
COMMENT ON TABLE failing_flows IS
  'A copy of what Temporal knows, for a list and a gauge: each scan replaces it. Of the installation, not of one book.';
COMMENT ON COLUMN failing_flows.error IS 'The last failure.';
GRANT SELECT, INSERT, UPDATE, DELETE ON failing_flows TO manilla_app;
