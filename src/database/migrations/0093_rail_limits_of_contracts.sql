-- The limit of calls a second of each contract: a provider counts the calls of a contract, not those of all. A row is
-- written when operators set a limit, and where a rail declares one. What was set for live is set for each contract.
ALTER TABLE rail_call_limits DROP CONSTRAINT rail_call_limits_pkey, DROP CONSTRAINT rail_call_limits_organisation_id_check;
ALTER TABLE rail_call_limits ALTER COLUMN organisation_id DROP DEFAULT;
ALTER TABLE rail_call_limits ADD COLUMN rail text NOT NULL DEFAULT 'sandbox';
ALTER TABLE rail_call_limits ALTER COLUMN rail DROP DEFAULT;
INSERT INTO rail_call_limits (organisation_id, environment, rail, calls_per_second)
  SELECT c.organisation_id, c.environment, c.rail, l.calls_per_second
  FROM rail_contracts c JOIN rail_call_limits l ON l.environment = c.environment
  WHERE c.disconnected_at IS NULL AND l.calls_per_second IS NOT NULL;
DELETE FROM rail_call_limits
  WHERE organisation_id = '00000000-0000-0000-0000-000000000000' AND (environment = 'live' OR calls_per_second IS NULL);
ALTER TABLE rail_call_limits ADD PRIMARY KEY (organisation_id, environment, rail);
COMMENT ON TABLE rail_call_limits IS
  'Of the contract of an organisation with a provider. Each call takes the next slot (src/rail/callSlots.ts).';
COMMENT ON COLUMN rail_call_limits.organisation_id IS
  'The organisation of the contract; 00000000-0000-0000-0000-000000000000: a rail that serves all organisations.';
COMMENT ON COLUMN rail_call_limits.rail IS 'The provider: the name of its rails.';
GRANT INSERT ON rail_call_limits TO manilla_app;
