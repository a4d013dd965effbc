-- version 1
-- The id up to which all postings are final: those with it or a lower one are committed, and no other will be. The
-- sums of an account with a derived balance, which is never locked, are exact and repeatable up to such an id only: a
-- statement may commit later than another one that took higher ids.
--
-- A statement takes ids while it has a lock on ledger.postings. So the function reads the last id that was taken, and
-- waits for the statements that have the lock then.
CREATE OR REPLACE FUNCTION ledger.last_final_posting() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  last_taken bigint := (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ledger.postings_id_seq);
  own_database CONSTANT oid := (SELECT oid FROM pg_database WHERE datname = current_database());
  started CONSTANT timestamptz := clock_timestamp();
  writers text[];
BEGIN
  LOOP
    writers := ARRAY(
      SELECT virtualtransaction FROM pg_locks
      WHERE database = own_database AND relation = 'ledger.postings'::regclass AND mode = 'RowExclusiveLock' AND granted
        AND (writers IS NULL OR virtualtransaction = ANY (writers))
    );
    IF writers = '{}' THEN RETURN last_taken; END IF;
    IF clock_timestamp() > started + interval '15 s' THEN
      RAISE EXCEPTION 'a transaction that posts has been open for 15 seconds: end it, or try again later' USING ERRCODE = 'lock_not_available';
    END IF;
    PERFORM pg_sleep(0.001);
  END LOOP;
END
$$;
COMMENT ON FUNCTION ledger.last_final_posting IS
  'The id up to which all postings are final: no posting with it or a lower one will be committed any more.';
REVOKE ALL ON FUNCTION ledger.last_final_posting FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.last_final_posting TO manilla_app;
