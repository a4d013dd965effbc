-- version 2
-- The lowest id of the postings of one side of an account from a time on; above its last one when there is none. Found
-- by bisection over the ids: a few look-ups in the index by account for a time that is long ago as for a recent one,
-- and without an index by time.
--
-- It is exact when the postings have the same order by id as by time, which the lock of the account gives those of a
-- stored balance. No lock orders those of a derived balance: their ids follow the times but for the seconds that a
-- statement takes, so the caller asks for a time that much earlier and still compares the times.
DROP FUNCTION IF EXISTS ledger.first_posting_since; -- its arguments differ between versions
CREATE FUNCTION ledger.first_posting_since(organisation uuid, account bigint, side text, since timestamptz)
RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  low     bigint := 0; -- the postings before this id are before the time
  high    bigint;      -- the postings from this id on are not
  middle  bigint;
  posting record;
BEGIN
  -- The last posting is looked up first, because most times are recent. IS TRUE: only the index by account fits; the
  -- primary key would be read for the whole organisation.
  IF side = 'debit' THEN
    SELECT p.id, p.created_at INTO posting FROM ledger.postings p
    WHERE (p.organisation_id = organisation) IS TRUE AND p.debit_account_id = account ORDER BY p.id DESC LIMIT 1;
  ELSE
    SELECT p.id, p.created_at INTO posting FROM ledger.postings p
    WHERE (p.organisation_id = organisation) IS TRUE AND p.credit_account_id = account ORDER BY p.id DESC LIMIT 1;
  END IF;
  middle := coalesce(posting.id, 0);
  high := middle + 1;
  LOOP
    IF posting.created_at < since THEN low := posting.id + 1; ELSE high := middle; END IF;
    EXIT WHEN low >= high;
    middle := (low + high) / 2;
    IF side = 'debit' THEN
      SELECT p.id, p.created_at INTO posting FROM ledger.postings p
      WHERE (p.organisation_id = organisation) IS TRUE AND p.debit_account_id = account AND p.id >= middle
      ORDER BY p.id LIMIT 1;
    ELSE
      SELECT p.id, p.created_at INTO posting FROM ledger.postings p
      WHERE (p.organisation_id = organisation) IS TRUE AND p.credit_account_id = account AND p.id >= middle
      ORDER BY p.id LIMIT 1;
    END IF;
  END LOOP;
  RETURN low;
END $$;
REVOKE ALL ON FUNCTION ledger.first_posting_since FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.first_posting_since TO manilla_app;
