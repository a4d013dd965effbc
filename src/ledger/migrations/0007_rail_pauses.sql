-- Operations can pause the rail of an environment: nothing is sent while a row is here. What was done and why is in the
-- audit log. A pause is of the rail and not of one book, so its organisation is the nil UUID.
CREATE TABLE rail_pauses (
  organisation_id uuid NOT NULL CHECK (organisation_id = '00000000-0000-0000-0000-000000000000'),
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  operator        text NOT NULL,
  reason          text NOT NULL,
  paused_at       timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, environment)
);
COMMENT ON TABLE rail_pauses IS 'Environments whose rail is given no transfer for now.';
COMMENT ON COLUMN rail_pauses.organisation_id IS 'The nil UUID: the pause holds for every organisation, also one that is created later.';
GRANT SELECT, INSERT, DELETE ON rail_pauses TO manilla_app;
