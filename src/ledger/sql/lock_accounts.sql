-- Parts of ledger.post: creates, locks and finds the accounts of a batch.

-- Accounts of the platform are created by their first posting.
CREATE OR REPLACE FUNCTION ledger.create_accounts(organisation uuid, environment text, platform_accounts ledger.batch_account[])
RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  INSERT INTO ledger.accounts (organisation_id, environment, code, class, balance)
  SELECT organisation, environment, a.code, ledger.class_of(a.code), CASE WHEN a.stores_balance THEN 0 END
  FROM unnest(platform_accounts) AS a
  LEFT JOIN LATERAL (
    SELECT x.id FROM ledger.accounts x
    WHERE x.organisation_id = organisation AND x.environment = environment AND x.code = a.code COLLATE "C" OFFSET 0
  ) existing ON true
  WHERE existing.id IS NULL
  ORDER BY a.code
  ON CONFLICT DO NOTHING;
END $$;

-- The highest balance of an account: its own limit, or that of the CHECK balance_in_range.
CREATE OR REPLACE FUNCTION ledger.balance_max(own_max bigint DEFAULT NULL) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT least(own_max, 9007199254740991)
$$;

-- The highest amount that may be posted to an account without a look at the rules of the transaction: none to one that
-- is frozen, closed or unverified.
CREATE OR REPLACE FUNCTION ledger.posting_max(own_max bigint, status text, is_verified boolean) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN status = 'active' AND is_verified THEN coalesce(own_max, 9223372036854775807) ELSE 0 END
$$;

-- By account, what the postings of a batch change in all, without those of movements that are rejected.
CREATE OR REPLACE FUNCTION ledger.net_changes(accounts text[], postings ledger.batch_posting[], rejections ledger.rejection[])
RETURNS ledger.net_changes LANGUAGE plpgsql AS $$
DECLARE
  amounts bigint[]  := array_fill(0::bigint, ARRAY[cardinality(accounts)]);
  entries integer[] := array_fill(0, ARRAY[cardinality(accounts)]);
  movement integer;
  debit    integer;
  credit   integer;
  amount   bigint;
BEGIN
  FOREACH movement, debit, credit, amount IN ARRAY postings LOOP
    CONTINUE WHEN NOT (rejections[movement] IS NULL);
    amounts[debit] := amounts[debit] - amount;
    amounts[credit] := amounts[credit] + amount;
    entries[debit] := entries[debit] + 1;
    entries[credit] := entries[credit] + 1;
  END LOOP;
  RETURN ROW(amounts, entries);
END $$;

-- Updates each account with a stored balance by its net change, in the order of the list, which finds, locks and writes
-- it at once; returns what the accounts were before. An account that cannot take its net change is left out: then
-- ledger.decide finds the posting that causes it.
--
-- Statements that lock the same accounts in different orders deadlock, so the order must not depend on the plan. This
-- form and the settings of ledger.post allow one: for each code of the list in turn, a look-up in the hash index. As
-- constants, organisation and environment would allow a plan that starts from ledger.accounts: so they are columns of
-- the list, compared with IS TRUE, which no index supports. The codes have the collation of the hash index only.
CREATE OR REPLACE FUNCTION ledger.lock_accounts(organisation uuid, environment text, accounts text[], changes ledger.net_changes)
RETURNS ledger.account_states LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE states ledger.account_states;
BEGIN
  WITH changed AS (
    UPDATE ledger.accounts x SET balance = x.balance + w.change, last_number = x.last_number + w.entries
    FROM (
      SELECT organisation AS organisation_id, environment AS environment, unnest(accounts) AS code,
             unnest(changes.amounts) AS change, unnest(changes.entries) AS entries, generate_series(1, cardinality(accounts)) AS position
    ) w
    WHERE x.code = w.code COLLATE "C" AND (x.organisation_id = w.organisation_id) IS TRUE AND (x.environment = w.environment) IS TRUE
      AND x.balance + w.change BETWEEN 0 AND ledger.balance_max() AND (w.change = 0 OR x.status <> 'closed')
    RETURNING w.position, x.id, x.balance - w.change AS balance, x.last_number - w.entries AS last_number,
              ledger.balance_max(x.balance_max) AS balance_max, ledger.posting_max(x.posting_max, x.status, x.verified) AS posting_max,
              x.owed, x.class IN ('own', 'receivable') AS is_own, x.period_maxima IS NOT NULL AS is_limited
  )
  SELECT array_agg(a.position), array_agg(a.id), array_agg(a.balance), array_agg(a.last_number), array_agg(a.balance_max),
         array_agg(a.posting_max), array_agg(a.owed), NULL, true, array_agg(a.position) FILTER (WHERE a.is_own),
         array_agg(a.position) FILTER (WHERE a.is_limited)
  INTO states FROM (SELECT * FROM changed c ORDER BY c.position) a;
  RETURN states;
END $$;

-- Adds the accounts that were not updated, by position: those with a derived balance, which are never locked; a wallet
-- that does not exist, which has no id; and those that cannot take their net change.
CREATE OR REPLACE FUNCTION ledger.find_others(organisation uuid, environment text, accounts text[], locked ledger.account_states)
RETURNS ledger.account_states LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE states ledger.account_states;
BEGIN
  SELECT array_agg(a.position), array_agg(a.id), array_agg(a.balance), array_agg(a.last_number), array_agg(a.balance_max),
         array_agg(a.posting_max), array_agg(a.owed), array_agg(a.debtor), bool_and(a.is_locked),
         array_agg(a.position) FILTER (WHERE a.is_own), array_agg(a.position) FILTER (WHERE a.is_limited)
  INTO states
  FROM (
    SELECT l.*, NULL::integer AS debtor, true AS is_locked, l.position = ANY (locked.own) AS is_own, l.position = ANY (locked.limited) AS is_limited
    FROM unnest(locked.positions, locked.ids, locked.balances, locked.last_numbers, locked.balance_maxes, locked.posting_maxes,
                locked.owed)
      AS l (position, id, balance, last_number, balance_max, posting_max, owed)
    UNION ALL
    SELECT w.position, x.id, x.balance, CASE WHEN x.balance IS NOT NULL THEN x.last_number END, ledger.balance_max(x.balance_max),
           ledger.posting_max(x.posting_max, x.status, x.verified), x.owed,
           CASE WHEN starts_with(w.code, 'receivable:wallet:') THEN array_position(accounts, substr(w.code, length('receivable:_'))) END,
           x.balance IS NULL, x.class IN ('own', 'receivable'), x.period_maxima IS NOT NULL
    FROM unnest(accounts) WITH ORDINALITY AS w (code, position)
    LEFT JOIN LATERAL (
      SELECT * FROM ledger.accounts y
      WHERE y.organisation_id = organisation AND y.environment = environment AND y.code = w.code COLLATE "C" OFFSET 0
    ) x ON true
    WHERE w.position NOT IN (SELECT unnest(locked.positions))
    ORDER BY 1
  ) a;
  RETURN states;
END $$;
