-- Part of ledger.post: what own money can spend (docs/decisions/0033-own-money.md).
--
-- The banks of a book must hold what customers and the state are owed. A book sums to zero, so that is the same as: own
-- money less what is receivable, the headroom, is not below zero. Only debits of these accounts lower it, and movements
-- with such debits take turns, after the locks of their accounts. Movements of customers take no part.

-- Own accounts of the platform and receivables together, without settlement wallets: the balances at the end of the
-- last closed day, and the entries since then.
CREATE OR REPLACE FUNCTION ledger.own_platform_balance(organisation uuid, env text) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
BEGIN
  RETURN (
    SELECT coalesce(sum(b.balance), 0) FROM ledger.balances_before(organisation, env, 'infinity', ARRAY(
      SELECT a.code FROM ledger.accounts a
      WHERE a.organisation_id = organisation AND a.environment = env AND a.class <> 'customer'
        AND a.class IN ('own', 'receivable') AND a.balance IS NULL)) b
  );
END $$;

-- The headroom before a batch, and by movement how much it lowers that; NULL: all of the batch can be spent. Nothing is
-- added up while the lowest that own money can be is enough.
CREATE OR REPLACE FUNCTION ledger.guard_own_money(
  organisation uuid, env text, postings ledger.batch_posting[], states ledger.account_states, rejections ledger.rejection[],
  OUT falls bigint[], OUT headroom bigint
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  spent    bigint; -- debits of own money and receivables
  wallets  bigint; -- the settlement wallets: of the batch, then all
  platform bigint;
  lowers_platform boolean;
  movement integer;
  debit    integer;
  credit   integer;
  amount   bigint;
  written  bigint; -- how much the movements that are written lower the headroom
  change   bigint; -- of the accounts of the platform, by them
BEGIN
  SELECT sum(p.amount), bool_or(states.balances[p.debit] IS NULL) INTO spent, lowers_platform
  FROM unnest(postings) AS p WHERE p.debit = ANY (states.own);
  IF spent IS NULL THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('own_money ' || organisation || env, 0));
  SELECT f.platform_balance INTO platform FROM ledger.own_funds f
  WHERE f.organisation_id = organisation AND f.environment = env;
  wallets := (SELECT coalesce(sum(states.balances[o]), 0) FROM unnest(states.own) AS o);
  IF NOT lowers_platform AND spent <= platform + wallets THEN RETURN; END IF;

  wallets := wallets + (
    SELECT coalesce(sum(a.balance), 0) FROM ledger.accounts a
    WHERE a.organisation_id = organisation AND a.environment = env AND a.class <> 'customer' AND a.class = 'own'
      AND a.balance IS NOT NULL AND a.id <> ALL (SELECT states.ids[o] FROM unnest(states.own) AS o)
  );
  IF (spent <= platform + wallets) IS NOT TRUE THEN platform := ledger.own_platform_balance(organisation, env); END IF;
  headroom := platform + wallets;
  FOREACH movement, debit, credit, amount IN ARRAY postings LOOP
    IF debit = ANY (states.own) THEN falls[movement] := coalesce(falls[movement], 0) + amount; END IF;
    IF credit = ANY (states.own) THEN falls[movement] := coalesce(falls[movement], 0) - amount; END IF;
  END LOOP;
  SELECT coalesce(sum(e.change) FILTER (WHERE states.balances[e.account] IS NULL), 0), -coalesce(sum(e.change), 0)
  INTO change, written
  FROM unnest(postings) AS p CROSS JOIN LATERAL (VALUES (p.debit, -p.amount), (p.credit, p.amount)) AS e (account, change)
  WHERE rejections[p.movement] IS NULL AND e.account = ANY (states.own);
  INSERT INTO ledger.own_funds (organisation_id, environment, platform_balance, shortfall)
  VALUES (organisation, env, platform + change, greatest(written - headroom, 0))
  ON CONFLICT (organisation_id, environment) DO UPDATE
  SET platform_balance = excluded.platform_balance, shortfall = excluded.shortfall;
END $$;

GRANT EXECUTE ON FUNCTION ledger.own_platform_balance TO manilla_app;
