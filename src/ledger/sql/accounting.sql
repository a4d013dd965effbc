-- Accounting days, closing balances and periods. A day is closed in two steps, each a statement of its own:
-- begin_day_close, and fill_closing_balances again and again (src/ledger/closing.ts). Both can be repeated at any point.

-- A day is a day in Nigeria, as on bank statements and tax returns. Both functions must never change: the days of
-- closed reports depend on them.
CREATE OR REPLACE FUNCTION ledger.accounting_day(at timestamptz) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (at AT TIME ZONE 'Africa/Lagos')::date;
CREATE OR REPLACE FUNCTION ledger.day_end(day date) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (day + 1)::timestamp AT TIME ZONE 'Africa/Lagos';

-- Begins to close the next day of a book and returns it; NULL when none has been over for two minutes, in which what was
-- requested before its end is committed. Once this is committed, ledger.post dates no posting into the day.
CREATE OR REPLACE FUNCTION ledger.begin_day_close(organisation uuid, env text) RETURNS date
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE next_day date;
BEGIN
  SELECT CASE WHEN d.completed_at IS NULL THEN d.day ELSE d.day + 1 END INTO next_day
  FROM ledger.closed_days d WHERE d.organisation_id = organisation AND d.environment = env ORDER BY d.day DESC LIMIT 1;
  IF NOT FOUND THEN -- the day of the first account
    SELECT ledger.accounting_day(min(a.created_at)) INTO next_day FROM ledger.accounts a
    WHERE a.organisation_id = organisation AND a.environment = env;
  END IF;
  IF next_day IS NULL OR ledger.day_end(next_day) > clock_timestamp() - interval '2 minutes' THEN RETURN NULL; END IF;
  INSERT INTO ledger.closed_days (organisation_id, environment, day, ends_at)
  VALUES (organisation, env, next_day, ledger.day_end(next_day)) ON CONFLICT DO NOTHING;
  RETURN next_day;
END $$;

-- Adds the postings of the day to the balances of the next accounts of a book, by id: at most about `postings_max`
-- entries of each, in the order of their numbers. Returns the account after which to continue; NULL when the day is
-- complete.
--
-- The first call waits for the statements that may have dated a posting into the day before it was closed. ledger.post
-- dates postings while it has a lock on ledger.transactions, so those are the statements that have it then.
--
-- Entries of an account with a derived balance have ids for numbers. Two may share one, so a page ends with all that
-- have the last one; and one of a later day may commit with a lower one than those that were read, but not with one
-- that is lower than the end of the day, less the half of a millisecond by which times are rounded.
CREATE OR REPLACE FUNCTION ledger.fill_closing_balances(
  organisation uuid, env text, closing date, after_account bigint, accounts_max integer, postings_max integer
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE
  closed ledger.closed_days;
  starts_at timestamptz;
  last_of_day bigint;
  page_size bigint;
  last_account bigint;
  unfinished boolean;
  now_at CONSTANT timestamptz := clock_timestamp();
BEGIN
  -- The lock makes two callers take turns: a posting is added once.
  SELECT * INTO STRICT closed FROM ledger.closed_days
  WHERE organisation_id = organisation AND environment = env AND day = closing FOR NO KEY UPDATE;
  IF closed.completed_at IS NOT NULL THEN RETURN NULL; END IF;
  IF closed.settled_at IS NULL THEN
    PERFORM ledger.last_final_posting(organisation, interval '5 s');
    UPDATE ledger.closed_days SET settled_at = now_at
    WHERE organisation_id = organisation AND environment = env AND day = closing;
  END IF;
  last_of_day := ledger.posting_id(closed.ends_at - interval '1 ms');
  SELECT coalesce(max(ends_at), '-infinity') INTO starts_at FROM ledger.closed_days
  WHERE organisation_id = organisation AND environment = env AND day < closing;

  WITH page AS (
    SELECT id FROM ledger.accounts
    WHERE organisation_id = organisation AND environment = env AND id > after_account ORDER BY id LIMIT accounts_max
  ), known AS (
    SELECT page.id, coalesce(c.balance, 0) AS balance, c.day = closing AS is_begun, c.last_number, c.read_number,
           coalesce(CASE WHEN c.day = closing THEN c.read_number ELSE c.last_number END, 0) AS read_after
    FROM page
    LEFT JOIN LATERAL (
      SELECT * FROM ledger.closing_balances WHERE organisation_id = organisation AND account_id = page.id AND day <= closing
      ORDER BY day DESC LIMIT 1
    ) c ON true
  ), entries AS (
    SELECT known.*, e.* FROM known
    CROSS JOIN LATERAL (
      SELECT count(*) >= postings_max AS is_full, count(*) > 0 AS is_read, max(number) AS last_read,
             sum(change) FILTER (WHERE created_at >= starts_at AND created_at < closed.ends_at) AS change,
             min(number) FILTER (WHERE created_at >= closed.ends_at) AS first_later
      FROM (
        (SELECT coalesce(debit_number, id) AS number, -amount AS change, created_at FROM ledger.postings
         WHERE organisation_id = organisation AND debit_account_id = known.id AND coalesce(debit_number, id) > read_after
         ORDER BY coalesce(debit_number, id) FETCH FIRST postings_max ROWS WITH TIES)
        UNION ALL
        (SELECT coalesce(credit_number, id), amount, created_at FROM ledger.postings
         WHERE organisation_id = organisation AND credit_account_id = known.id AND coalesce(credit_number, id) > read_after
         ORDER BY coalesce(credit_number, id) FETCH FIRST postings_max ROWS WITH TIES)
        ORDER BY number FETCH FIRST postings_max ROWS WITH TIES
      ) p
    ) e
  ), written AS (
    INSERT INTO ledger.closing_balances (organisation_id, environment, account_id, day, balance, last_number, read_number)
    SELECT organisation, env, id, closing, balance + coalesce(change, 0),
           CASE WHEN is_begun AND last_number < read_number THEN last_number -- a later one was read before
                ELSE least(last_of_day, first_later - 1, last_read) END,
           last_read
    FROM entries WHERE is_read AND (is_begun OR is_full OR change IS NOT NULL)
    ON CONFLICT (organisation_id, account_id, day) DO UPDATE
    SET balance = excluded.balance, last_number = excluded.last_number, read_number = excluded.read_number
  )
  SELECT count(*), max(id), bool_or(is_full) INTO page_size, last_account, unfinished FROM entries;

  IF unfinished THEN RETURN after_account; END IF;
  IF page_size = accounts_max THEN RETURN last_account; END IF;
  UPDATE ledger.closed_days SET completed_at = now_at
  WHERE organisation_id = organisation AND environment = env AND day = closing;
  RETURN NULL;
END $$;

-- The balances of a book before a time: the last closing balance plus the postings since then. Of the accounts with
-- these codes, of those that are not of customers, or of all. With codes also the numbers of entries: those up to
-- `after` are in the closing balance, and none above `until` is dated before the time.
CREATE OR REPLACE FUNCTION ledger.balances_before(
  organisation uuid, env text, moment timestamptz, codes text[] DEFAULT NULL, of_platform boolean DEFAULT false
) RETURNS TABLE (account_id bigint, account text, class ledger.account_class, balance bigint, after bigint, until bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE closed record;
BEGIN
  SELECT coalesce(max(day), '-infinity') AS day, coalesce(max(ends_at), '-infinity') AS ends_at INTO closed FROM (
    SELECT day, ends_at FROM ledger.closed_days
    WHERE organisation_id = organisation AND environment = env AND completed_at IS NOT NULL AND ends_at <= moment
    ORDER BY day DESC LIMIT 1
  ) d;
  RETURN QUERY
  SELECT a.id, a.code::text, a.class, (coalesce(c.balance, 0) + coalesce(e.change, 0))::bigint, coalesce(c.last_number, 0), l.last
  FROM ledger.accounts a
  LEFT JOIN LATERAL (
    SELECT balance, last_number FROM ledger.closing_balances
    WHERE organisation_id = organisation AND account_id = a.id AND day <= closed.day ORDER BY day DESC LIMIT 1
  ) c ON true
  CROSS JOIN LATERAL (
    -- So that an old date does not read what came after it: what was read to close the day of that time, or the next
    -- one on which the balance changed.
    SELECT coalesce((
      SELECT b.read_number FROM ledger.closing_balances b
      JOIN ledger.closed_days d ON d.organisation_id = organisation AND d.environment = b.environment AND d.day = b.day
      WHERE b.organisation_id = organisation AND b.account_id = a.id
        AND b.day >= ledger.accounting_day(moment - interval '1 us') AND d.completed_at IS NOT NULL
        AND (closed.ends_at < moment OR codes IS NOT NULL)
      ORDER BY b.day LIMIT 1
    ), 9223372036854775807) AS last OFFSET 0
  ) l
  LEFT JOIN LATERAL (
    SELECT sum(change) AS change FROM (
      SELECT -amount AS change FROM ledger.postings
      WHERE organisation_id = organisation AND debit_account_id = a.id
        AND coalesce(debit_number, id) > coalesce(c.last_number, 0) AND coalesce(debit_number, id) <= l.last
        AND created_at >= closed.ends_at AND created_at < moment
      UNION ALL
      SELECT amount FROM ledger.postings
      WHERE organisation_id = organisation AND credit_account_id = a.id
        AND coalesce(credit_number, id) > coalesce(c.last_number, 0) AND coalesce(credit_number, id) <= l.last
        AND created_at >= closed.ends_at AND created_at < moment
    ) p
  ) e ON closed.ends_at < moment
  WHERE a.organisation_id = organisation AND a.environment = env AND (codes IS NULL OR a.code = ANY (codes))
    AND (NOT of_platform OR a.class <> 'customer')
  ORDER BY a.code;
END $$;

-- The days of a book with each bank that it had an account for at their end, and whether they are proved or waived.
CREATE OR REPLACE FUNCTION ledger.bank_days(organisation uuid, env text, first_day date, last_day date)
RETURNS TABLE (day date, rail text, is_proved boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT d.day::date, b.rail, EXISTS (
    SELECT FROM day_proofs p WHERE p.organisation_id = organisation AND p.environment = env AND p.day = d.day AND p.rail = b.rail)
  FROM (SELECT substr(code, length('clearing:') + 1) AS rail, ledger.accounting_day(created_at) AS since FROM ledger.accounts
        WHERE organisation_id = organisation AND environment = env AND starts_with(code, 'clearing:')) b
  CROSS JOIN LATERAL generate_series(greatest(first_day, b.since), last_day, interval '1 day') AS d (day)
  ORDER BY d.day, b.rail;
END $$;

-- Closes a month of a book, for an operator, with the audit entry. Its days must be closed before, so that no posting
-- can be dated into it. Outcomes: closed; unchanged (it was closed before); not_over; not_next (`next_period` must be
-- closed first; NULL: the book has no account); days_open; days_unproved (of a bank); unbalanced (the balances at its end
-- do not sum to zero).
CREATE OR REPLACE FUNCTION ledger.close_period(
  organisation uuid, env text, month date, proof text, OUT outcome text, OUT next_period date
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
DECLARE last_day CONSTANT date := (month + interval '1 month')::date - 1;
BEGIN
  SELECT max(period) + interval '1 month' INTO next_period FROM ledger.closed_periods
  WHERE organisation_id = organisation AND environment = env;
  next_period := coalesce(next_period, (
    SELECT date_trunc('month', ledger.accounting_day(min(a.created_at))) FROM ledger.accounts a
    WHERE a.organisation_id = organisation AND a.environment = env));
  outcome := CASE
    WHEN EXISTS (
      SELECT FROM ledger.closed_periods WHERE organisation_id = organisation AND environment = env AND period = month) THEN 'unchanged'
    WHEN ledger.day_end(last_day) > clock_timestamp() THEN 'not_over'
    WHEN month IS DISTINCT FROM next_period THEN 'not_next'
    WHEN NOT EXISTS (
      SELECT FROM ledger.closed_days
      WHERE organisation_id = organisation AND environment = env AND day = last_day AND completed_at IS NOT NULL) THEN 'days_open'
    WHEN 0 <> (SELECT sum(balance) FROM ledger.balances_before(organisation, env, ledger.day_end(last_day))) THEN 'unbalanced'
    WHEN EXISTS (SELECT FROM ledger.bank_days(organisation, env, month, last_day) WHERE NOT is_proved) THEN 'days_unproved'
    ELSE 'closed'
  END;
  IF outcome = 'closed' THEN
    INSERT INTO ledger.closed_periods (organisation_id, environment, period, closed_at)
    VALUES (organisation, env, month, clock_timestamp()) ON CONFLICT DO NOTHING;
    IF FOUND THEN
      PERFORM ledger.audit(organisation, env, proof, 'period.close', to_char(month, 'YYYY-MM'), NULL);
    ELSE
      outcome := 'unchanged';
    END IF;
  END IF;
END $$;

GRANT EXECUTE ON FUNCTION
  ledger.accounting_day, ledger.day_end, ledger.begin_day_close, ledger.fill_closing_balances, ledger.balances_before,
  ledger.bank_days, ledger.close_period
TO manilla_app;
