-- version 1
-- The last entry of an account with a stored balance up to a time: its number and the balance after it, or zeros.
--
-- On each side it is the entry before the first one after the time (first_entry_since.sql), and of these two the
-- later one. Both sides have one sequence of numbers: the credits are looked for after the debit.
--
-- A posting that is dated up to the time may be uncommitted while the time is recent. For a time within the last minute
-- the function therefore waits for the lock of the account: what is posted later is dated later. A time less than a
-- second ahead is waited for. So the same question has the same answer for ever, unless the time is further ahead.
CREATE OR REPLACE FUNCTION ledger.last_posting(organisation uuid, account bigint, at timestamptz, OUT balance bigint, OUT number bigint)
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = ledger, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
#variable_conflict use_variable
DECLARE
  -- Times are stored in milliseconds: a posting of the next half of a millisecond is dated `at` too.
  ahead        interval := at + interval '1 ms' - clock_timestamp();
  after        CONSTANT timestamptz := at + interval '1 us'; -- the next one: microseconds are the resolution
  number_after bigint;
  credit       record;
BEGIN
  IF ahead > interval '-1 minute' THEN
    IF ahead BETWEEN interval '0' AND interval '1 s' THEN PERFORM pg_sleep(extract(epoch FROM ahead)); END IF;
    PERFORM FROM ledger.accounts a WHERE a.organisation_id = organisation AND a.id = account FOR SHARE;
  END IF;
  number_after := ledger.first_debit_since(organisation, account, after);
  SELECT p.debit_balance_after, coalesce(p.debit_number, p.id) INTO balance, number FROM ledger.postings p
  WHERE p.organisation_id = organisation AND p.debit_account_id = account AND coalesce(p.debit_number, p.id) < number_after
  ORDER BY coalesce(p.debit_number, p.id) DESC LIMIT 1;
  number_after := ledger.first_credit_since(organisation, account, after, coalesce(number + 1, 0));
  SELECT p.credit_balance_after, coalesce(p.credit_number, p.id) AS number INTO credit FROM ledger.postings p
  WHERE p.organisation_id = organisation AND p.credit_account_id = account
    AND coalesce(p.credit_number, p.id) > coalesce(number, -1) AND coalesce(p.credit_number, p.id) < number_after
  ORDER BY coalesce(p.credit_number, p.id) DESC LIMIT 1;
  IF credit.number IS NOT NULL THEN
    balance := credit.credit_balance_after;
    number := credit.number;
  END IF;
  number := coalesce(number, 0);
  balance := coalesce(balance, 0);
END $$;
GRANT EXECUTE ON FUNCTION ledger.last_posting TO manilla_app;
