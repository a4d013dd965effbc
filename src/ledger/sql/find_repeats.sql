-- Part of ledger.post: which movements exist already, after a unique key has been violated. A business key that was
-- posted makes a duplicate; an Idempotency-Key that was committed makes one if the same attempt did it, and otherwise a
-- refusal. Adds them to the rejections, and returns NULL if there is none that is not among them. LATERAL with OFFSET 0
-- allows no plan but a look-up for each key.
CREATE OR REPLACE FUNCTION ledger.find_repeats(
  organisation uuid, environment text, accounts text[], transactions ledger.batch_transaction[], postings ledger.batch_posting[],
  outcomes ledger.batch_outcome[], rejections ledger.rejection[]
) RETURNS ledger.rejection[] LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  is_found boolean := false;
  earlier  record;
BEGIN
  rejections := coalesce(rejections, array_fill(NULL::ledger.rejection, ARRAY[cardinality(transactions)]));
  FOR earlier IN
    SELECT t.movement::integer, x.id AS posted_id, NULL::boolean AS is_ours
    FROM unnest(transactions) WITH ORDINALITY AS t (id, key, kind, resource, effective_at, moved_at, rules, movement)
    CROSS JOIN LATERAL (
      SELECT y.id FROM ledger.transactions y
      WHERE y.organisation_id = organisation AND y.environment = environment AND y.key = t.key OFFSET 0
    ) x
    UNION ALL
    SELECT k.movement, NULL, i.attempt = k.attempt
    FROM unnest(outcomes) AS k
    CROSS JOIN LATERAL (
      SELECT x.attempt FROM public.idempotency_keys x
      WHERE x.organisation_id = organisation AND x.environment = environment AND x.key = k.key OFFSET 0
    ) i
  LOOP
    CONTINUE WHEN (rejections[earlier.movement]).is_repeat;
    is_found := true;
    rejections[earlier.movement] := CASE
      WHEN NOT earlier.is_ours THEN ROW('refused', 'IDEMPOTENCY_IN_PROGRESS', NULL, NULL, true)::ledger.rejection
      WHEN earlier.is_ours OR ledger.has_same_postings(organisation, accounts, postings, earlier.movement, earlier.posted_id)
        THEN ROW('duplicate', NULL, NULL, NULL, true)::ledger.rejection
      ELSE ROW('duplicate_differs', NULL, NULL, NULL, true)::ledger.rejection
    END;
  END LOOP;
  RETURN CASE WHEN is_found THEN rejections END;
END $$;

-- Whether a movement has the postings of the transaction that has its business key, in any order.
CREATE OR REPLACE FUNCTION ledger.has_same_postings(
  organisation uuid, accounts text[], postings ledger.batch_posting[], movement integer, posted_id uuid
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  RETURN NOT EXISTS (
    SELECT FROM (
      SELECT debit.code AS debit, credit.code AS credit, q.amount, 1 AS count
      FROM ledger.postings q
      CROSS JOIN LATERAL (SELECT x.code FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.id = q.debit_account_id OFFSET 0) debit
      CROSS JOIN LATERAL (SELECT x.code FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.id = q.credit_account_id OFFSET 0) credit
      WHERE q.organisation_id = organisation AND q.transaction_id = posted_id
      UNION ALL SELECT accounts[q.debit], accounts[q.credit], q.amount, -1 FROM unnest(postings) AS q WHERE q.movement = movement
    ) p GROUP BY p.debit, p.credit, p.amount HAVING sum(p.count) <> 0
  );
END $$;
