-- version 1
-- The current versions of those of these payments that are newer than seen, in one call for any number of any
-- organisations. Each payment is one look-up in the primary key: LATERAL with OFFSET 0 is not flattened into a join.
CREATE OR REPLACE FUNCTION ledger.changed_payments(
  organisation_ids uuid[], environments text[], payment_ids uuid[], seen_versions integer[]
) RETURNS TABLE (payment_id uuid, version integer) LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE
  owner   uuid;
  book    text;
  ids     uuid[];
  numbers integer[];
BEGIN
  FOR owner, book, ids, numbers IN
    SELECT s.owner, s.book, array_agg(s.id), array_agg(s.number)
    FROM unnest(organisation_ids, environments, payment_ids, seen_versions) AS s (owner, book, id, number)
    GROUP BY s.owner, s.book
  LOOP
    RETURN QUERY
      SELECT s.id, changed.version
      FROM unnest(ids, numbers) AS s (id, number), LATERAL (
        SELECT p.version FROM payments p
        WHERE p.organisation_id = owner AND p.environment = book AND p.id = s.id AND p.version > s.number OFFSET 0
      ) changed;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ledger.changed_payments TO manilla_app;
