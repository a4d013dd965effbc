-- version 1
-- Deletes events of a book from before a time, the oldest first, with their deliveries and attempts. Never those of the
-- last 366 days: ledger.sequence_before relies on it. One that was attempted lately stays with its attempts.
CREATE OR REPLACE FUNCTION ledger.delete_events(organisation uuid, env text, created_before timestamptz, rows_max integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  old CONSTANT uuid[] := ARRAY(
    SELECT e.id FROM events e
    WHERE e.organisation_id = organisation AND e.environment = env
      AND e.created_at < least(created_before, now() - interval '366 days')
      AND NOT EXISTS (SELECT FROM webhook_attempts a WHERE a.organisation_id = organisation AND a.event_id = e.id
                      AND a.attempted_at > now() - interval '30 days')
    ORDER BY e.created_at, e.id LIMIT rows_max
  );
BEGIN
  DELETE FROM webhook_attempts a WHERE a.organisation_id = organisation AND a.event_id = ANY (old);
  DELETE FROM webhook_deliveries d WHERE d.organisation_id = organisation AND d.event_id = ANY (old);
  DELETE FROM events e WHERE e.organisation_id = organisation AND e.id = ANY (old);
  RETURN cardinality(old);
END $$;
GRANT EXECUTE ON FUNCTION ledger.delete_events TO manilla_app;
