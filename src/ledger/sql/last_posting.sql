-- version 1
-- The last posting of an account with a stored balance up to a time, and the balance after it.
--
-- The postings of such an account have the same order by id as by time, because ledger.post reads the clock while it
-- holds the lock of the account. So the posting is found by bisection over the ids, a few look-ups in the index by
-- account for a time that is long ago as for a recent one, and without an index by time.
--
-- A posting that is dated up to the time may be uncommitted while the time is recent. For a time within the last minute
-- the function therefore waits for the lock of the account: what is posted later is dated later. A time less than a
-- second ahead is waited for. So the same question has the same answer for ever, unless the time is further ahead.
CREATE OR REPLACE FUNCTION ledger.last_posting(organisation uuid, account bigint, at timestamptz, OUT id bigint, OUT balance bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = ledger, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_variable
DECLARE
  -- Times are stored in milliseconds: a posting of the next half of a millisecond is dated `at` too.
  ahead   interval := at + interval '1 ms' - clock_timestamp();
  is_debit boolean;
  newest  record;
  found   record;
  low     bigint; -- the postings up to this id are up to the time
  high    bigint; -- the postings from this id on are after the time
  middle  bigint;
BEGIN
  IF ahead > interval '-1 minute' THEN
    IF ahead BETWEEN interval '0' AND interval '1 s' THEN PERFORM pg_sleep(extract(epoch FROM ahead)); END IF;
    PERFORM FROM ledger.accounts a WHERE a.organisation_id = organisation AND a.id = account FOR SHARE;
  END IF;
  id := 0;
  balance := 0;
  FOREACH is_debit IN ARRAY ARRAY[true, false] LOOP
    IF is_debit THEN
      SELECT p.id, p.created_at INTO newest FROM ledger.postings p
      WHERE p.organisation_id = organisation AND p.debit_account_id BETWEEN account AND account ORDER BY p.debit_account_id DESC, p.id DESC LIMIT 1;
    ELSE
      SELECT p.id, p.created_at INTO newest FROM ledger.postings p
      WHERE p.organisation_id = organisation AND p.credit_account_id BETWEEN account AND account ORDER BY p.credit_account_id DESC, p.id DESC LIMIT 1;
    END IF;
    CONTINUE WHEN newest.id IS NULL;
    low := 0;
    high := newest.id + 1;
    middle := newest.id;
    WHILE low < high - 1 LOOP
      IF is_debit THEN
        SELECT p.id, p.created_at, p.debit_balance_after AS balance INTO found FROM ledger.postings p
        WHERE p.organisation_id = organisation AND p.debit_account_id BETWEEN account AND account AND p.id >= middle ORDER BY p.debit_account_id, p.id LIMIT 1;
      ELSE
        SELECT p.id, p.created_at, p.credit_balance_after AS balance INTO found FROM ledger.postings p
        WHERE p.organisation_id = organisation AND p.credit_account_id BETWEEN account AND account AND p.id >= middle ORDER BY p.credit_account_id, p.id LIMIT 1;
      END IF;
      IF found.id < high AND found.created_at <= at THEN
        low := found.id;
        IF low > id THEN
          id := low;
          balance := found.balance;
        END IF;
      ELSE
        high := middle;
      END IF;
      middle := low + (high - low) / 2;
    END LOOP;
  END LOOP;
END
$$;
COMMENT ON FUNCTION ledger.last_posting IS
  'The last posting of an account with a stored balance up to a time, and the balance after it; 0 and 0 if it has none.';
REVOKE ALL ON FUNCTION ledger.last_posting FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.last_posting TO manilla_app;
