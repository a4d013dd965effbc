-- The limit of calls a second to the rail of an environment, shared by all processes.
CREATE TABLE rail_call_limits (
  organisation_id  uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
                   CHECK (organisation_id = '00000000-0000-0000-0000-000000000000'),
  environment      text NOT NULL CHECK (environment IN ('test', 'live')),
  calls_per_second integer CHECK (calls_per_second > 0),
  next_at          timestamptz NOT NULL DEFAULT '-infinity',
  PRIMARY KEY (organisation_id, environment)
);
COMMENT ON TABLE rail_call_limits IS
  'Of the installation, not of one book. Each call takes the next slot (src/rail/callSlots.ts).';
COMMENT ON COLUMN rail_call_limits.calls_per_second IS 'Set by operators; null: the limit that the rail declares.';
COMMENT ON COLUMN rail_call_limits.next_at IS 'When the next call may start.';
INSERT INTO rail_call_limits (environment) VALUES ('test'), ('live');
GRANT SELECT, UPDATE ON rail_call_limits TO manilla_app;
