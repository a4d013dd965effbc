-- version 1
-- Deletes webhook attempts made before a time, at most rows_max per call, and returns the number of deleted rows. The
-- application role may not delete from this log itself; this function never deletes attempts of the last 30 days.
CREATE OR REPLACE FUNCTION ledger.delete_webhook_attempts(made_before timestamptz, rows_max integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE deleted integer;
BEGIN
  DELETE FROM webhook_attempts a USING (
    SELECT organisation_id, id FROM webhook_attempts
    WHERE attempted_at < least(made_before, now() - interval '30 days')
    ORDER BY attempted_at LIMIT rows_max FOR UPDATE SKIP LOCKED
  ) old
  WHERE a.organisation_id = old.organisation_id AND a.id = old.id;
  GET DIAGNOSTICS deleted = ROW_COUNT;
  RETURN deleted;
END $$;
COMMENT ON FUNCTION ledger.delete_webhook_attempts(timestamptz, integer) IS
  'Deletes old webhook attempts in small batches.';
REVOKE ALL ON FUNCTION ledger.delete_webhook_attempts(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.delete_webhook_attempts(timestamptz, integer) TO manilla_app;
