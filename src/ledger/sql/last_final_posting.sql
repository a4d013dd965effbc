-- version 2
-- The id up to which all postings are final: those with it or a lower one are committed, and no other will be. The
-- sums of an account with a derived balance, which is never locked, are exact and repeatable up to such an id only: a
-- statement may commit later than another one that took higher ids.
--
-- A statement takes ids while it has a lock on ledger.postings. So the function reads the last id that was taken, and
-- waits for the statements that have the lock then.
CREATE OR REPLACE FUNCTION ledger.last_final_posting() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  last_taken CONSTANT bigint := (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ledger.postings_id_seq);
BEGIN
  IF ledger.await_writers('ledger.postings', interval '15 s') THEN RETURN last_taken; END IF;
  RAISE EXCEPTION 'a transaction that posts has been open for 15 seconds: end it, or try again later' USING ERRCODE = 'lock_not_available';
END
$$;
COMMENT ON FUNCTION ledger.last_final_posting IS
  'The id up to which all postings are final: no posting with it or a lower one will be committed any more.';
REVOKE ALL ON FUNCTION ledger.last_final_posting FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.last_final_posting TO manilla_app;
