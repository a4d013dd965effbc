-- version 1
-- Waits for the statements that hold the lock of writers on a table when the function is called. False: one of them has
-- not ended within `longest`. A caller that needs the last id that they may have taken reads it before the call. The
-- locks are polled: a request for a conflicting one would make all later writers queue behind it.
CREATE OR REPLACE FUNCTION ledger.await_writers(relation regclass, longest interval) RETURNS boolean
LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
  own_database CONSTANT oid := (SELECT oid FROM pg_database WHERE datname = current_database());
  started CONSTANT timestamptz := clock_timestamp();
  writers text[];
BEGIN
  LOOP
    writers := ARRAY(
      SELECT l.virtualtransaction FROM pg_locks l
      WHERE l.database = own_database AND l.relation = await_writers.relation AND l.mode = 'RowExclusiveLock'
        AND l.granted AND (writers IS NULL OR l.virtualtransaction = ANY (writers))
    );
    IF writers = '{}' THEN RETURN true; END IF;
    IF clock_timestamp() > started + longest THEN RETURN false; END IF;
    PERFORM pg_sleep(0.001);
  END LOOP;
END $$;
-- No grant to manilla_app: its callers run with the rights of the owner.
