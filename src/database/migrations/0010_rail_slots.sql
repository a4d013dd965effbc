-- To be deleted with the code that uses it: the limit of calls a second of each contract, shared by all processes.
CREATE TABLE rail_call_limits (
  organisation_id  uuid NOT NULL,
  environment      text NOT NULL CHECK (environment IN ('test', 'live')),
  rail             text NOT NULL,
  calls_per_second integer CHECK (calls_per_second > 0),
  next_at          timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (organisation_id, environment, rail)
);
COMMENT ON TABLE rail_call_limits IS
  'Of the contract of an organisation with a provider. Each call takes the next slot (src/rail/callSlots.ts).';
COMMENT ON COLUMN rail_call_limits.organisation_id IS
  'The organisation of the contract; 00000000-0000-0000-0000-000000000000: a rail that serves all organisations.';
COMMENT ON COLUMN rail_call_limits.rail IS 'The provider: the name of its rails.';
COMMENT ON COLUMN rail_call_limits.calls_per_second IS 'Set by operators; null: the limit that the rail declares.';
COMMENT ON COLUMN rail_call_limits.next_at IS 'When the next call may start.';
GRANT SELECT, INSERT, UPDATE ON rail_call_limits TO manilla_app;
