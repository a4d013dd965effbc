-- version 1
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
  posted   record;
  answered record;
BEGIN
  rejections := coalesce(rejections, array_fill(NULL::ledger.rejection, ARRAY[cardinality(transactions)]));
  FOR posted IN
    SELECT t.movement, x.id
    FROM unnest(transactions) WITH ORDINALITY AS t (id, key, kind, resource, effective_at, moved_at, rules, movement)
    CROSS JOIN LATERAL (
      SELECT y.id FROM ledger.transactions y
      WHERE y.organisation_id = organisation AND y.environment = environment AND y.key = t.key OFFSET 0
    ) x
  LOOP
    CONTINUE WHEN (rejections[posted.movement]).is_repeat;
    is_found := true;
    rejections[posted.movement] := ROW(
      CASE WHEN ledger.has_same_postings(organisation, accounts, postings, posted.movement::integer, posted.id)
      THEN 'duplicate' ELSE 'duplicate_differs' END, NULL, NULL, NULL, true);
  END LOOP;
  FOR answered IN
    SELECT k.movement, i.attempt = k.attempt AS is_ours
    FROM unnest(outcomes) AS k
    CROSS JOIN LATERAL (
      SELECT x.attempt FROM public.idempotency_keys x
      WHERE x.organisation_id = organisation AND x.environment = environment AND x.key = k.key OFFSET 0
    ) i
  LOOP
    CONTINUE WHEN (rejections[answered.movement]).is_repeat;
    is_found := true;
    rejections[answered.movement] := CASE
      WHEN answered.is_ours THEN ROW('duplicate', NULL, NULL, NULL, true)::ledger.rejection
      ELSE ROW('refused', 'IDEMPOTENCY_IN_PROGRESS', NULL, NULL, true)::ledger.rejection
    END;
  END LOOP;
  IF is_found THEN RETURN rejections; END IF;
  RETURN NULL;
END $$;

-- Whether a movement has the postings of the transaction that has its business key, in any order.
CREATE OR REPLACE FUNCTION ledger.has_same_postings(
  organisation uuid, accounts text[], postings ledger.batch_posting[], movement integer, posted_id uuid
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  RETURN (
    SELECT array_agg(p.text ORDER BY p.text) FROM (
      SELECT concat_ws(' ', debit.code, credit.code, q.amount) AS text
      FROM ledger.postings q
      CROSS JOIN LATERAL (SELECT x.code FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.id = q.debit_account_id OFFSET 0) debit
      CROSS JOIN LATERAL (SELECT x.code FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.id = q.credit_account_id OFFSET 0) credit
      WHERE q.organisation_id = organisation AND q.transaction_id = posted_id
    ) p
  ) IS NOT DISTINCT FROM (
    SELECT array_agg(p.text ORDER BY p.text) FROM (
      SELECT concat_ws(' ', accounts[q.debit], accounts[q.credit], q.amount) AS text FROM unnest(postings) AS q WHERE q.movement = movement
    ) p
  );
END $$;
