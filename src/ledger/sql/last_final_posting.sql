-- The next time of the books: now, or where the clock was set back, or that of a promoted standby lags, a microsecond
-- after the last one. Balances at a time, closed days and seals rely on it. A sequence is written without waiting for
-- a transaction, and has the last time on a standby too. No grant: its callers run with the rights of the owner.
CREATE OR REPLACE FUNCTION ledger.next_time() RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE now_id CONSTANT bigint := ledger.posting_id(clock_timestamp());
BEGIN
  RETURN 'epoch'::timestamptz + interval '1 us' * CASE
    WHEN now_id > coalesce(pg_sequence_last_value('ledger.clock'), 0) THEN setval('ledger.clock', now_id)
    ELSE nextval('ledger.clock') END;
END $$;

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

-- The id up to which all postings of an organisation are final: those with it or a lower one are committed, and no
-- other will be. The sums of an account with a derived balance, which is never locked, are exact and repeatable up to
-- such an id only: a statement may commit later than another one that took higher ids.
--
-- An id is a time, read under a lock on ledger.transactions. So the function reads one, and waits for the
-- statements that have the lock then. The organisation says whose clock and locks, where it has a node of its own.
CREATE OR REPLACE FUNCTION ledger.last_final_posting(organisation uuid, longest interval DEFAULT '15 s') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE next_id CONSTANT bigint := ledger.posting_id(ledger.next_time());
BEGIN
  IF ledger.await_writers('ledger.transactions', longest) THEN RETURN next_id - 1; END IF;
  RAISE EXCEPTION 'a transaction that posts has been open for %: end it, or try again later', longest USING ERRCODE = 'lock_not_available';
END $$;

GRANT EXECUTE ON FUNCTION ledger.last_final_posting TO manilla_app;
