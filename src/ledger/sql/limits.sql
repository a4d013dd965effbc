-- What may leave a wallet in a day and in a month of Lagos (docs/decisions/0037-limits.md). There is no counter: what is
-- used is added up from the entries of the wallet, under its lock, and only where it has such a limit.

-- Whether a transaction is one that its payer sent, which limits count.
CREATE OR REPLACE FUNCTION ledger.is_sent(kind text) RETURNS boolean LANGUAGE sql IMMUTABLE
RETURN kind IN ('transfer', 'payment_from_wallet', 'withdrawal_hold', 'payout_reserve', 'payout_reserve_free');

-- The limits of an account, with what is used of each at a time: kobo, fees included, or transactions, without what came
-- back since. `maxima`: ledger.accounts.period_maxima.
CREATE OR REPLACE FUNCTION ledger.limit_use(organisation uuid, account bigint, maxima bigint[], at timestamptz)
RETURNS TABLE (name text, maximum bigint, used bigint, resets_at timestamptz) LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ledger, public, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  day    CONSTANT timestamptz := date_trunc('day', at::timestamptz(3), 'Africa/Lagos'); -- entries have milliseconds
  month  CONSTANT timestamptz := date_trunc('month', day, 'Africa/Lagos');
  before CONSTANT bigint := (ledger.last_posting(
    organisation, account, CASE WHEN coalesce(maxima[3], maxima[4]) IS NULL THEN day ELSE month END - interval '1 ms')).number;
BEGIN
  RETURN QUERY
  SELECT l.name, maxima[l.place], l.used::bigint,
         CASE WHEN l.place <= 2 THEN day + interval '24 hours' ELSE date_add(month, '1 month', 'Africa/Lagos') END
  FROM (
    SELECT coalesce(sum(s.amount) FILTER (WHERE s.at >= day), 0) AS of_day, count(*) FILTER (WHERE s.at >= day) AS count_of_day,
           coalesce(sum(s.amount), 0) AS of_month, count(*) AS count_of_month
    FROM (
      SELECT min(p.created_at) AS at, sum(p.amount) - coalesce(
        (SELECT h.amount_cancelled FROM transfers x JOIN holds h ON h.organisation_id = organisation AND h.id = x.hold_id
         WHERE x.organisation_id = organisation AND x.id = t.id),
        (SELECT sum(i.amount + i.fee) FROM payout_items i
         WHERE i.organisation_id = organisation AND i.payout_id = t.id AND (i.status = 'failed' OR i.clawed_back IS NOT NULL)), 0) AS amount
      FROM ledger.postings p JOIN ledger.transactions t ON t.organisation_id = organisation AND t.id = p.transaction_id
      WHERE p.organisation_id = organisation AND p.debit_account_id BETWEEN account AND account
        AND coalesce(p.debit_number, p.id) > before AND ledger.is_sent(t.kind) AND NOT EXISTS (
          SELECT FROM ledger.transactions r
          WHERE r.key = t.resource || '/return' AND r.organisation_id = organisation AND r.environment = t.environment)
      GROUP BY t.id
    ) s WHERE s.amount > 0
  ) x CROSS JOIN LATERAL (VALUES
    (1, 'daily_amount', x.of_day), (2, 'daily_count', x.count_of_day),
    (3, 'monthly_amount', x.of_month), (4, 'monthly_count', x.count_of_month)
  ) AS l (place, name, used) WHERE maxima[l.place] IS NOT NULL ORDER BY l.place;
END $$;

-- Part of ledger.post. What limits of accounts need to be decided; NULL: no movement is sent from such an account.
-- `uses`, by account: its limits, with what is used of each before the batch. `attempts`, by posting: what its movement
-- takes from the payer, at the first of its postings that does.
CREATE OR REPLACE FUNCTION ledger.find_uses(
  organisation uuid, transactions ledger.batch_transaction[], postings ledger.batch_posting[], states ledger.account_states,
  at timestamptz, OUT uses jsonb[], OUT attempts bigint[]
) LANGUAGE plpgsql AS $$
DECLARE sent record;
BEGIN
  FOR sent IN
    SELECT p.debit, min(p.position) AS position, sum(p.amount)::bigint AS amount,
           row_number() OVER (PARTITION BY p.debit) = 1 AS is_first
    FROM unnest(postings) WITH ORDINALITY AS p (movement, debit, credit, amount, position)
    WHERE p.debit = ANY (states.limited) AND ledger.is_sent(transactions[p.movement].kind)
    GROUP BY p.debit, p.movement
  LOOP
    attempts[sent.position] := sent.amount;
    IF sent.is_first THEN
      uses[sent.debit] := (
        SELECT jsonb_agg(u) FROM ledger.accounts x CROSS JOIN LATERAL ledger.limit_use(organisation, x.id, x.period_maxima, at) AS u
        WHERE x.organisation_id = organisation AND x.id = states.ids[sent.debit]);
    END IF;
  END LOOP;
END $$;

-- Why an attempt exceeds a limit of the account that pays, of which the movements before it in the batch have sent an
-- amount; NULL: it does not.
CREATE OR REPLACE FUNCTION ledger.find_excess(
  account_code text, uses jsonb, attempt bigint, sent_amount bigint, sent_number bigint
) RETURNS ledger.rejection LANGUAGE sql STABLE AS $$
  SELECT ledger.refused('WALLET_LIMIT_EXCEEDED', account_code, jsonb_build_object(
    'limit', u.name, 'maximum', u.maximum, 'attempted', w.attempted, 'remaining', greatest(u.maximum - u.used - w.before, 0),
    'resetsAt', to_char(u.resets_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
  FROM jsonb_to_recordset(uses) AS u (name text, maximum bigint, used bigint, resets_at timestamptz)
  JOIN (VALUES (false, attempt, sent_amount), (true, 1, sent_number)) AS w (counts, attempted, before)
    ON w.counts = (u.name LIKE '%count')
  WHERE w.before + w.attempted > u.maximum - u.used
  ORDER BY u.name LIKE 'daily%', u.name LIMIT 1 -- the month's first: it ends with the day or later
$$;

-- Sets the limits of a book by tier, and of its wallets, but those of other tiers. Of the nil organisation: the ceiling.
CREATE OR REPLACE FUNCTION ledger.set_limits(organisation uuid, env text, proof text, why text, tiers jsonb) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
BEGIN
  PERFORM ledger.audit(organisation, env, proof, 'limits.set', organisation::text, why);
  PERFORM pg_advisory_xact_lock(hashtextextended('limits ' || organisation || env, 0)); -- as ledger.record_kyc
  DELETE FROM limit_policies p WHERE p.organisation_id = organisation AND p.environment = env;
  INSERT INTO limit_policies
  SELECT organisation, env, t.tier, t.balance_max, t.posting_max, t.period_maxima
  FROM jsonb_populate_recordset(NULL::limit_policies, tiers) AS t;
  UPDATE ledger.accounts a SET balance_max = p.balance_max, posting_max = p.posting_max, period_maxima = p.period_maxima
  FROM wallets w JOIN limit_policies p
    ON p.organisation_id = w.organisation_id AND p.environment = w.environment AND p.tier = w.kyc_status
  WHERE w.organisation_id = organisation AND w.environment = env
    AND a.organisation_id = organisation AND a.environment = env AND a.code = w.account_code
    AND (a.balance_max, a.posting_max, a.period_maxima) IS DISTINCT FROM (p.balance_max, p.posting_max, p.period_maxima);
END $$;

-- Sets the fees of a book (src/ledger/fees.ts) from a time on, or from now, which it returns; of the nil organisation:
-- of all. One that has not begun is replaced; what was charged by stays.
CREATE OR REPLACE FUNCTION ledger.set_fees(organisation uuid, env text, proof text, why text, effective timestamptz, fees jsonb)
RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
DECLARE begins CONSTANT timestamptz(3) := greatest(effective, clock_timestamp());
BEGIN
  PERFORM ledger.audit(organisation, env, proof, 'fees.set', organisation::text, why);
  INSERT INTO fee_schedules (organisation_id, environment, effective_from, schedule) VALUES (organisation, env, begins, fees)
  ON CONFLICT (organisation_id, environment, effective_from) DO UPDATE SET schedule = excluded.schedule;
  RETURN begins;
END $$;

GRANT EXECUTE ON FUNCTION ledger.limit_use, ledger.set_limits, ledger.set_fees TO manilla_app;
