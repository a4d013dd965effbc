-- Events. Each has a sequence, which rises by one with every event of its resource, so that a receiver can tell an
-- older state from a newer one. It follows the newest of the resource, which is read under a lock of the caller: of the
-- row that it has changed, or of the account of the wallet. A writer without one violates event_sequence_unique.

-- What the first event of a resource follows, where none is stored. Public ids begin with their time, and events that
-- are older than this may have been deleted (kept_366_days): the next one then follows all of them, each time again.
CREATE OR REPLACE FUNCTION ledger.sequence_before(resource text) RETURNS integer LANGUAGE plpgsql STABLE AS $$
DECLARE times integer := 0;
BEGIN
  WHILE times < 100 AND resource COLLATE "C" < ledger.public_id((
    lpad(to_hex((extract(epoch FROM now() - (times + 1) * interval '366 days') * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid, '') LOOP
    times := times + 1;
  END LOOP;
  RETURN 1000000 * times;
END $$;

-- Part of ledger.post. A transfer has one event, and most batches no other: they need no look-up.
CREATE OR REPLACE FUNCTION ledger.insert_events(
  organisation uuid, environment text, events ledger.batch_event[], documents text[], rejections ledger.rejection[]
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  INSERT INTO public.events (organisation_id, environment, id, type, resource, sequence, data, created_at)
  SELECT organisation, environment, e.id, e.type, e.resource, 1, documents[e.document]::json, e.created_at
  FROM unnest(events) AS e WHERE rejections[e.movement] IS NULL AND e.type = 'transfer.completed';
  IF NOT EXISTS (SELECT FROM unnest(events) AS e WHERE e.type <> 'transfer.completed') THEN RETURN; END IF;
  INSERT INTO public.events (organisation_id, environment, id, type, resource, sequence, data, created_at)
  SELECT organisation, environment, e.id, e.type, e.resource,
         coalesce(newest.sequence, ledger.sequence_before(e.resource)) + row_number() OVER (PARTITION BY e.resource ORDER BY e.place),
         documents[e.document]::json, e.created_at
  FROM unnest(events) WITH ORDINALITY AS e (movement, id, type, resource, created_at, document, place)
  LEFT JOIN LATERAL (
    SELECT x.sequence FROM public.events x
    WHERE x.organisation_id = organisation AND x.environment = environment AND x.resource = e.resource
      AND x.type <> 'transfer.completed'
    ORDER BY x.sequence DESC LIMIT 1
  ) newest ON true
  WHERE rejections[e.movement] IS NULL AND e.type <> 'transfer.completed';
END $$;

-- Part of ledger.post, after it has locked the accounts: the events of wallets, each with the status of its wallet. So
-- the newest event has the newest status, whatever it is about.
CREATE OR REPLACE FUNCTION ledger.insert_wallet_events(
  organisation uuid, environment text, events ledger.batch_event[], documents text[], rejections ledger.rejection[]
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  event  ledger.batch_event;
  status text;
BEGIN
  FOREACH event IN ARRAY events LOOP
    SELECT a.status INTO status FROM ledger.accounts a
    WHERE a.organisation_id = organisation AND a.environment = environment AND a.code = ('wallet:' || event.resource) COLLATE "C";
    documents[event.document] := left(documents[event.document], -1) || ',"status":"' || status || '"}';
  END LOOP;
  PERFORM ledger.insert_events(organisation, environment, events, documents, rejections);
END $$;

-- Writes an event that belongs to no movement, and the message that has it delivered: to all endpoints, or to one.
-- Returns its sequence. The caller has locked the resource.
CREATE OR REPLACE FUNCTION ledger.insert_event(
  organisation uuid, env text, event uuid, event_type text, about text, payload json, at timestamptz, endpoint uuid DEFAULT NULL
) RETURNS integer LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE written integer;
BEGIN
  INSERT INTO events (organisation_id, environment, id, type, resource, sequence, data, created_at)
  SELECT organisation, env, event, event_type, about, coalesce(max(e.sequence), ledger.sequence_before(about)) + 1, payload, at
  FROM events e
  WHERE e.organisation_id = organisation AND e.environment = env AND e.resource = about AND e.type <> 'transfer.completed'
  RETURNING sequence INTO written;
  INSERT INTO outbox (organisation_id, environment, topic, message)
  VALUES (organisation, env, 'event', jsonb_strip_nulls(jsonb_build_object('eventId', event, 'endpointId', endpoint)));
  RETURN written;
END $$;
GRANT EXECUTE ON FUNCTION ledger.insert_event, ledger.sequence_before TO manilla_app;
