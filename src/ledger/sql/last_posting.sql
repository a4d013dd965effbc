-- The last entry of an account with a stored balance up to a time: its number and the balance after it, or zeros.
--
-- The lock of the account gives its entries the same order by number, 1, 2, 3 …, as by time. So the entry is found by
-- bisection over the numbers: some twenty look-ups in the indexes by account, among millions of entries.
--
-- A posting that is dated up to the time may be uncommitted while the time is recent. For a time within the last minute
-- the function therefore waits for the lock of the account: what is posted later is dated later. A time less than a
-- second ahead is waited for. So the same question has the same answer for ever, unless the time is further ahead.
CREATE OR REPLACE FUNCTION ledger.last_posting(organisation uuid, account bigint, at timestamptz, OUT balance bigint, OUT number bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = ledger, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off AS $$
#variable_conflict use_variable
DECLARE
  -- Times are stored in milliseconds: a posting of the next half of a millisecond is dated `at` too.
  ahead       interval := at + interval '1 ms' - clock_timestamp();
  first_after bigint; -- an entry after the time, or the next one
  middle      bigint;
  entry       record;
BEGIN
  IF ahead > interval '-1 minute' THEN
    IF ahead BETWEEN interval '0' AND interval '1 s' THEN PERFORM pg_sleep(extract(epoch FROM ahead)); END IF;
    PERFORM FROM ledger.accounts a WHERE a.organisation_id = organisation AND a.id = account FOR SHARE;
  END IF;
  SELECT a.last_number + 1 INTO first_after FROM ledger.accounts a WHERE a.organisation_id = organisation AND a.id = account;
  number := 0;
  balance := 0;
  WHILE number + 1 < first_after LOOP
    middle := (number + first_after) / 2;
    SELECT e.* INTO entry FROM (
      SELECT p.created_at, p.debit_balance_after AS balance_after FROM ledger.postings p
      WHERE p.organisation_id = organisation AND p.debit_account_id = account AND coalesce(p.debit_number, p.id) = middle
      UNION ALL
      SELECT p.created_at, p.credit_balance_after FROM ledger.postings p
      WHERE p.organisation_id = organisation AND p.credit_account_id = account AND coalesce(p.credit_number, p.id) = middle
    ) e;
    IF entry.created_at <= at THEN
      number := middle;
      balance := entry.balance_after;
    ELSE
      first_after := middle;
    END IF;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ledger.last_posting TO manilla_app;
