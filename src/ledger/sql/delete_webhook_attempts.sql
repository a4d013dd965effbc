-- version 1
-- Deletes webhook attempts made before a time, at most rows_max per call, never those of the last 30 days. Returns the
-- number of deleted rows. They are found in all organisations, and deleted by organisation.
CREATE OR REPLACE FUNCTION ledger.delete_webhook_attempts(made_before timestamptz, rows_max integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  old_before CONSTANT timestamptz := least(made_before, now() - interval '30 days');
  old   record;
  count integer;
  total integer := 0;
BEGIN
  FOR old IN
    SELECT page.organisation_id AS organisation, array_agg(page.id) AS ids
    FROM (
      SELECT a.organisation_id, a.id FROM webhook_attempts a
      WHERE a.attempted_at < old_before ORDER BY a.attempted_at LIMIT rows_max
    ) page
    GROUP BY page.organisation_id
  LOOP
    DELETE FROM webhook_attempts a WHERE a.organisation_id = old.organisation AND a.id = ANY (old.ids);
    GET DIAGNOSTICS count = ROW_COUNT;
    total := total + count;
  END LOOP;
  RETURN total;
END $$;
GRANT EXECUTE ON FUNCTION ledger.delete_webhook_attempts TO manilla_app;
