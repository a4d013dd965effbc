-- version 1
-- The id up to which all postings of an organisation are final: those with it or a lower one are committed, and no
-- other will be. The sums of an account with a derived balance, which is never locked, are exact and repeatable up to
-- such an id only: a statement may commit later than another one that took higher ids.
--
-- An id is a time, read under a lock on ledger.transactions. So the function reads one, and waits for the
-- statements that have the lock then. The organisation says whose clock and locks, where it has a node of its own.
CREATE OR REPLACE FUNCTION ledger.last_final_posting(organisation uuid, longest interval DEFAULT '15 s') RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  next_id CONSTANT bigint := ledger.posting_id(ledger.next_time());
BEGIN
  IF ledger.await_writers('ledger.transactions', longest) THEN RETURN next_id - 1; END IF;
  RAISE EXCEPTION 'a transaction that posts has been open for %: end it, or try again later', longest USING ERRCODE = 'lock_not_available';
END $$;

GRANT EXECUTE ON FUNCTION ledger.last_final_posting TO manilla_app;
