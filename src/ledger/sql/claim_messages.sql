-- Leases due messages of the outbox for a relay: live ones, and sandbox ones in the room that those leave. In each
-- environment the organisations with due messages take turns and share the room equally, from the one behind `after`
-- on, so that a burst of one does not delay a message of another. Messages come in the order of the turns: organisation
-- and environment of the last one are `after` and `after_environment` of the next call; NULL begins with the first.
--
-- Rows are locked and changed by organisation, an organisation a statement. Every look-up is in the order of the index
-- outbox_turns: a plan that was cached while the table was almost empty could otherwise use the primary key and read
-- all messages of an organisation.
CREATE OR REPLACE FUNCTION ledger.claim_messages(
  claimed_topic text, claimed_priority smallint, after uuid, after_environment text, room integer, lease_seconds integer
)
RETURNS SETOF outbox LANGUAGE plpgsql SET search_path = public, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET enable_sort = off
SET enable_incremental_sort = off
AS $$
#variable_conflict use_variable
DECLARE
  turning text; -- the environment
  start   uuid;
  waiting uuid[];
  seen    uuid;
  wrapped boolean;
  next    record;
  owner   uuid;
  due     bigint[];
  claimed integer;
BEGIN
  FOREACH turning IN ARRAY ARRAY['live', 'test'] LOOP
    -- 1. The organisations with due messages, in the order of their turns: those behind `start`, then those up to it.
    start := CASE WHEN turning = after_environment THEN after END;
    seen := start;
    wrapped := start IS NULL;
    waiting := '{}';
    WHILE cardinality(waiting) < room LOOP
      SELECT o.topic, o.priority, o.environment, o.organisation_id INTO next FROM outbox o
      WHERE (o.topic, o.priority, o.environment, o.organisation_id, o.available_at)
            > (claimed_topic, claimed_priority, turning, coalesce(seen, '00000000-0000-0000-0000-000000000000'),
               CASE WHEN seen IS NULL THEN timestamptz '-infinity' ELSE 'infinity' END)
      ORDER BY o.topic, o.priority, o.environment, o.organisation_id LIMIT 1;
      IF (next.topic = claimed_topic AND next.priority = claimed_priority AND next.environment = turning) IS NOT TRUE
        OR (wrapped AND next.organisation_id > start) THEN
        EXIT WHEN wrapped;
        wrapped := true;
        seen := NULL;
        CONTINUE;
      END IF;
      seen := next.organisation_id;
      PERFORM FROM outbox o
      WHERE o.topic = claimed_topic AND o.priority = claimed_priority AND o.environment = turning
        AND o.organisation_id = seen AND o.available_at <= now()
      ORDER BY o.available_at LIMIT 1;
      IF FOUND THEN waiting := waiting || seen; END IF;
    END LOOP;

    -- 2. An equal share of what is left for each, so that one with fewer messages leaves its room to the next.
    FOR turn IN 1 .. cardinality(waiting) LOOP
      owner := waiting[turn];
      due := ARRAY(
        SELECT o.id FROM outbox o
        WHERE o.topic = claimed_topic AND o.priority = claimed_priority AND o.environment = turning
          AND o.organisation_id = owner AND o.available_at <= now()
        ORDER BY o.available_at, o.id
        LIMIT (room + cardinality(waiting) - turn) / (cardinality(waiting) - turn + 1) FOR UPDATE SKIP LOCKED
      );
      RETURN QUERY
        UPDATE outbox o SET available_at = now() + make_interval(secs => lease_seconds), attempts = o.attempts + 1
        WHERE o.organisation_id = owner AND o.id = ANY (due)
        RETURNING o.*;
      GET DIAGNOSTICS claimed = ROW_COUNT;
      room := room - claimed;
    END LOOP;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ledger.claim_messages TO manilla_app;
