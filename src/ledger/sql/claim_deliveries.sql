-- Claims due deliveries for a worker, which attempts them within the lease: live ones, and sandbox ones in the room that
-- those leave. In each environment the endpoints take turns, from the one behind `after` on, and each has at most
-- `at_once` attempts in progress, in all processes together: one that does not respond holds up no other. A delivery is
-- due at its time; or at once, when its endpoint has recovered since its last attempt.
--
-- The row of an endpoint is locked while its deliveries are counted and claimed; another process passes it by.
CREATE OR REPLACE FUNCTION ledger.claim_deliveries(after uuid, room integer, at_once integer, lease_seconds integer)
RETURNS TABLE (organisation_id uuid, environment text, event_id uuid, endpoint_id uuid)
LANGUAGE plpgsql SET search_path = public, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
  -- Looked at if the endpoint has recovered, as some have failed since; else as many as are claimed and can be.
  looked_at_max CONSTANT integer := 1000;
  turning text; -- the environment
  seen    uuid;
  wrapped boolean;
  next    record;
  until   timestamptz; -- deliveries of a later time are not looked at
  back_at timestamptz; -- when the endpoint has recovered
  claimed integer;
BEGIN
  FOREACH turning IN ARRAY ARRAY['live', 'test'] LOOP
    seen := after;
    wrapped := after IS NULL;
    WHILE room > 0 LOOP
      SELECT d.organisation_id, d.endpoint_id INTO next FROM webhook_deliveries d
      WHERE d.status = 'pending' AND d.environment = turning
        AND d.endpoint_id > coalesce(seen, '00000000-0000-0000-0000-000000000000')
      ORDER BY d.endpoint_id LIMIT 1;
      EXIT WHEN wrapped AND (NOT FOUND OR next.endpoint_id > after);
      wrapped := wrapped OR NOT FOUND;
      seen := next.endpoint_id; -- NULL, the first one, after the last
      CONTINUE WHEN NOT FOUND;
      SELECT w.recovered_at, CASE WHEN w.failing_since IS NULL AND w.recovered_at IS NOT NULL THEN 'infinity' ELSE now() END
      INTO back_at, until FROM webhook_endpoints w
      WHERE w.organisation_id = next.organisation_id AND w.id = next.endpoint_id;
      PERFORM FROM webhook_deliveries d
      WHERE d.status = 'pending' AND d.environment = turning AND d.organisation_id = next.organisation_id
        AND d.endpoint_id = next.endpoint_id AND d.next_attempt_at <= until LIMIT 1;
      CONTINUE WHEN NOT FOUND;
      PERFORM FROM webhook_endpoints w
      WHERE w.organisation_id = next.organisation_id AND w.id = next.endpoint_id FOR NO KEY UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
      RETURN QUERY
        WITH due AS MATERIALIZED (
          SELECT p.event_id FROM (
            SELECT d.event_id, d.next_attempt_at, d.attempted_at FROM webhook_deliveries d
            WHERE d.status = 'pending' AND d.environment = turning AND d.organisation_id = next.organisation_id
              AND d.endpoint_id = next.endpoint_id AND d.next_attempt_at <= until
            ORDER BY d.next_attempt_at LIMIT CASE WHEN until = 'infinity' THEN looked_at_max ELSE 2 * at_once END
          ) p JOIN webhook_deliveries d ON d.organisation_id = next.organisation_id AND d.event_id = p.event_id
            AND d.endpoint_id = next.endpoint_id AND d.status = 'pending'
            AND (d.claimed_until IS NULL OR d.claimed_until <= now())
          WHERE p.next_attempt_at <= now() OR p.attempted_at < back_at
          ORDER BY p.next_attempt_at
          LIMIT least(room, greatest(0, at_once - (
            SELECT count(*) FROM webhook_deliveries c
            WHERE c.organisation_id = next.organisation_id AND c.endpoint_id = next.endpoint_id AND c.claimed_until > now())))
          FOR NO KEY UPDATE OF d SKIP LOCKED -- never waits: others lock deliveries of several endpoints in another order
        )
        UPDATE webhook_deliveries d SET claimed_until = now() + make_interval(secs => lease_seconds)
        FROM due
        WHERE d.organisation_id = next.organisation_id AND d.event_id = due.event_id AND d.endpoint_id = next.endpoint_id
        RETURNING d.organisation_id, d.environment, d.event_id, d.endpoint_id;
      GET DIAGNOSTICS claimed = ROW_COUNT;
      room := room - claimed;
    END LOOP;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ledger.claim_deliveries TO manilla_app;
