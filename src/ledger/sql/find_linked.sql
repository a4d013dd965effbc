-- Part of ledger.post: what a transaction resolves or reverses, and whose money it may take.
--
-- A hold is resolved once, and a transaction is reversed once (resolved_or_reversed_once), by debiting what the other
-- one credited, account by account. A reversal credits the accounts that the other transaction, or the hold that this
-- one resolves, debited. Money of a reserve returns to the account that funded it, and money whose account was closed
-- goes to suspense. What leaves transit must name its hold: otherwise a hold could be returned after a completion that
-- does not name it. A wallet gets money of the platform, or money whose owner is not known, by a decision (`covered`)
-- or a reversal only.
--
-- Returns the ids of the earlier transactions by movement; raises an error that ends with the name of the broken rule.
CREATE OR REPLACE FUNCTION ledger.find_linked(
  organisation uuid, environment text, accounts text[], links ledger.batch_link[], postings ledger.batch_posting[], covered integer[]
) RETURNS ledger.linked LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  linked ledger.linked;
  link   record;
  broken text;
BEGIN
  SELECT CASE WHEN starts_with(accounts[p.debit], 'in_transit:') THEN 'transit_names_hold' ELSE 'decision_needed' END INTO broken
  FROM unnest(postings) AS p
  WHERE (starts_with(accounts[p.debit], 'in_transit:') AND NOT EXISTS (SELECT FROM unnest(links) AS l WHERE l.movement = p.movement))
     OR (accounts[p.credit] ~ '^(wallet|held|reserve|in_transit|suspense:payment):'
         AND accounts[p.debit] !~ '^(wallet|held|reserve|in_transit|suspense:payment|clearing|float):'
         AND (p.movement = ANY (covered)) IS NOT TRUE
         AND NOT EXISTS (SELECT FROM unnest(links) AS l WHERE l.movement = p.movement AND l.reverses IS NOT NULL))
  LIMIT 1;
  IF broken IS NOT NULL THEN
    RAISE EXCEPTION 'a movement takes money from where it may not ("%")', broken USING ERRCODE = 'check_violation', CONSTRAINT = broken;
  END IF;
  FOR link IN
    SELECT l.movement, coalesce(l.resolves, l.reverses) AS key, l.reverses IS NOT NULL AS is_reversal,
           t.id, coalesce(t.resolves, t.id) AS origin_id
    FROM unnest(links) AS l
    LEFT JOIN LATERAL (
      SELECT x.id, x.resolves FROM ledger.transactions x
      WHERE x.organisation_id = organisation AND x.environment = environment AND x.key = coalesce(l.resolves, l.reverses) OFFSET 0
    ) t ON true
  LOOP
    IF link.id IS NULL THEN
      RAISE EXCEPTION 'transaction % does not exist in this book ("named_transaction_exists")', link.key
        USING ERRCODE = 'check_violation', CONSTRAINT = 'named_transaction_exists';
    END IF;
    IF link.is_reversal THEN
      linked.reverses[link.movement] := link.id;
    ELSE
      linked.resolves[link.movement] := link.id;
    END IF;
    IF NOT ledger.debits_what_was_credited(organisation, accounts, postings, link.movement, link.id)
       OR (link.is_reversal AND NOT ledger.returns_to_origin(organisation, accounts, postings, link.movement, link.origin_id)) THEN
      RAISE EXCEPTION 'the postings are not the mirror of those of % ("mirrors_named_transaction")', link.key
        USING ERRCODE = 'check_violation', CONSTRAINT = 'mirrors_named_transaction';
    END IF;
  END LOOP;
  RETURN linked;
END $$;

-- Whether a movement debits each account by what an earlier transaction credited to it. The debts for a refund come
-- with its hold, and end with a return after its completion too.
CREATE OR REPLACE FUNCTION ledger.debits_what_was_credited(
  organisation uuid, accounts text[], postings ledger.batch_posting[], movement integer, earlier_id uuid
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  RETURN NOT EXISTS (
    SELECT FROM (
      SELECT x.code, p.amount
      FROM ledger.postings p JOIN ledger.accounts x ON x.organisation_id = organisation AND x.id = p.credit_account_id
      WHERE p.organisation_id = organisation AND p.transaction_id = earlier_id
      UNION ALL SELECT accounts[p.debit], -p.amount FROM unnest(postings) AS p WHERE p.movement = movement
    ) a WHERE a.code <> 'own:funded_refunds' GROUP BY a.code HAVING sum(a.amount) <> 0
  );
END $$;

-- Whether a movement credits only accounts that an earlier transaction debited, those that funded a reserve that it
-- debited, and suspense.
CREATE OR REPLACE FUNCTION ledger.returns_to_origin(
  organisation uuid, accounts text[], postings ledger.batch_posting[], movement integer, origin_id uuid
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  RETURN NOT EXISTS (
    SELECT FROM unnest(postings) AS p
    WHERE p.movement = movement AND accounts[p.credit] NOT LIKE 'suspense:%' AND accounts[p.credit] NOT IN (
      SELECT coalesce(funding.code, x.code)
      FROM ledger.postings o JOIN ledger.accounts x ON x.organisation_id = organisation AND x.id = o.debit_account_id
      LEFT JOIN LATERAL (
        SELECT y.code
        FROM (
          SELECT f.debit_account_id FROM ledger.postings f
          WHERE f.organisation_id = organisation AND f.credit_account_id BETWEEN x.id AND x.id
          ORDER BY f.credit_account_id, coalesce(f.credit_number, f.id) LIMIT 1
        ) f
        JOIN ledger.accounts y ON y.organisation_id = organisation AND y.id = f.debit_account_id
      ) funding ON x.code LIKE 'reserve:%'
      WHERE o.organisation_id = organisation AND o.transaction_id = origin_id
    )
  );
END $$;
