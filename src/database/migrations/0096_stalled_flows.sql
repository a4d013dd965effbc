-- Flows with a task that no worker takes or ends are listed beside those with a task that fails again and again.
ALTER TABLE failing_flows ADD COLUMN problem text NOT NULL DEFAULT 'failing' CHECK (problem IN ('failing', 'stalled'));
COMMENT ON COLUMN failing_flows.error IS 'The last failure, or what is missing.';
