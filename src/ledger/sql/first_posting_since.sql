-- version 1
-- The lowest id that the postings of one side of an account with a derived balance have from a time on. As no lock orders
-- them (ledger.last_posting is for accounts with one), their ids follow the times only but for the seconds that a
-- statement takes: so this looks for a time a minute earlier, by bisection, and the caller still compares the times.
CREATE OR REPLACE FUNCTION ledger.first_posting_since(account bigint, side text, since timestamptz) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
  low     bigint := 0;
  high    bigint;
  middle  bigint;
  posting record;
BEGIN
  IF side = 'debit' THEN
    SELECT coalesce(max(id), 0) + 1 INTO high FROM ledger.postings WHERE debit_account_id = account;
  ELSE
    SELECT coalesce(max(id), 0) + 1 INTO high FROM ledger.postings WHERE credit_account_id = account;
  END IF;
  WHILE low < high LOOP
    middle := (low + high) / 2;
    IF side = 'debit' THEN
      SELECT id, created_at INTO posting FROM ledger.postings WHERE debit_account_id = account AND id >= middle ORDER BY id LIMIT 1;
    ELSE
      SELECT id, created_at INTO posting FROM ledger.postings WHERE credit_account_id = account AND id >= middle ORDER BY id LIMIT 1;
    END IF;
    IF posting.created_at < since - interval '1 minute' THEN low := posting.id + 1; ELSE high := middle; END IF;
  END LOOP;
  RETURN low;
END $$;
REVOKE ALL ON FUNCTION ledger.first_posting_since FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.first_posting_since TO manilla_app;
