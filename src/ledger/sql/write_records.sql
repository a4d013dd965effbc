-- Part of ledger.post: writes what is committed with the money, of the movements that are not rejected: resource rows,
-- events but those of wallets, outbox messages and the outcomes of Idempotency-Keys.
CREATE OR REPLACE FUNCTION ledger.write_records(
  organisation uuid, environment text, row_tables ledger.batch_table[], events ledger.batch_event[],
  messages ledger.batch_message[], outcomes ledger.batch_outcome[], documents text[], rejections ledger.rejection[]
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  row_table       text;
  document        integer;
  table_rows      json;
  delivers_events boolean;
BEGIN
  FOREACH row_table, document IN ARRAY row_tables LOOP
    table_rows := documents[document];
    IF rejections IS NOT NULL THEN
      SELECT json_agg(r) INTO table_rows FROM json_array_elements(table_rows) AS r
      WHERE rejections[(r ->> 'movement')::integer] IS NULL;
      CONTINUE WHEN table_rows IS NULL;
    END IF;
    IF NOT ledger.write_rows(organisation, environment, row_table, table_rows) THEN
      RAISE EXCEPTION 'a row of % was changed by another writer', row_table USING ERRCODE = 'ML001';
    END IF;
  END LOOP;
  IF events <> '{}' THEN
    PERFORM ledger.insert_events(organisation, environment, events, documents, rejections);
  END IF;
  IF messages <> '{}' THEN
    -- An event is delivered to the endpoints of its book: without one there is nothing to deliver, and no message.
    PERFORM FROM public.webhook_endpoints w
    WHERE w.organisation_id = organisation AND w.environment = environment AND w.deleted_at IS NULL LIMIT 1;
    delivers_events := FOUND;
    INSERT INTO public.outbox (organisation_id, environment, topic, message, available_at)
    SELECT organisation, environment, m.topic, documents[m.document]::jsonb, coalesce(m.available_at, now())
    FROM unnest(messages) AS m WHERE rejections[m.movement] IS NULL AND (delivers_events OR m.topic <> 'event');
  END IF;
  IF outcomes <> '{}' THEN
    INSERT INTO public.idempotency_keys (organisation_id, environment, key, fingerprint, attempt, status_code, response)
    SELECT organisation, environment, o.key, decode(o.fingerprint, 'base64'), o.attempt, o.status_code, documents[o.document]
    FROM unnest(outcomes) AS o WHERE rejections[o.movement] IS NULL
    ORDER BY o.key; -- the same order in all batches, so that two with common keys do not deadlock
  END IF;
END $$;
