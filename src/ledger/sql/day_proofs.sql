-- The proof of a day: what a bank held at its end by its own statement, and what the books say of it.

-- The facts of a day at a rail, as they are known now, also of a day that is not over. `bank` NULL: no statement that
-- ends with the day has a balance.
-- `breaks`: what is open at the rail by reason, {reason: {count, amount}}; the bank's balance that nothing explains, and
-- a shortfall of the book, are among them.
CREATE OR REPLACE FUNCTION ledger.day_facts(organisation uuid, env text, wanted date, wanted_rail text) RETURNS public.day_proofs
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  ends  CONSTANT timestamptz := ledger.day_end(wanted);
  facts public.day_proofs;
BEGIN
  SELECT organisation, env, wanted, wanted_rail,
         coalesce(-sum(b.balance) FILTER (WHERE b.account = 'clearing:' || wanted_rail), 0), coalesce(-sum(b.balance), 0),
         coalesce(sum(b.balance) FILTER (WHERE b.class = 'statutory'), 0), coalesce(sum(b.balance) FILTER (WHERE b.class = 'own'), 0),
         coalesce(-sum(b.balance) FILTER (WHERE b.class = 'receivable'), 0)
  INTO facts.organisation_id, facts.environment, facts.day, facts.rail, facts.books, facts.customer, facts.statutory, facts.own, facts.receivable
  FROM ledger.balances_before(organisation, env, ends, NULL, true) b;
  facts.headroom := facts.own - facts.receivable;

  -- In flight at the end of the day: what the books say less what they explain of the balance.
  SELECT s.balance, facts.books + s.in_flight + coalesce((
           SELECT b.balance FROM ledger.balances_before(organisation, env, s.compared_at, ARRAY['clearing:' || wanted_rail]) b), 0)
  INTO facts.bank, facts.in_flight
  FROM bank_balances s
  WHERE s.organisation_id = organisation AND s.environment = env AND s.rail = wanted_rail AND s.day = wanted
    AND (s.reported_for = ends OR ends > now());

  SELECT coalesce(jsonb_object_agg(reason, jsonb_build_object('count', count, 'amount', amount)), '{}') INTO facts.breaks FROM (
    SELECT b.kind AS reason, count(*), sum(abs(coalesce(b.statement_amount, 0) - coalesce(b.ledger_amount, 0))) AS amount
    FROM reconciliation_breaks b
    JOIN review_cases c ON c.organisation_id = organisation AND c.id = b.id AND c.status = 'open'
    WHERE b.organisation_id = organisation AND b.environment = env AND b.rail = wanted_rail AND b.kind <> 'balance'
      AND b.at < ends AND b.cleared_at IS NULL
    GROUP BY b.kind
    UNION ALL SELECT 'balance', 1, abs(facts.bank - facts.books + facts.in_flight) WHERE facts.bank <> facts.books - facts.in_flight
    UNION ALL SELECT 'shortfall', 1, -facts.headroom WHERE facts.headroom < 0
  ) x;
  RETURN facts;
END $$;

-- Proves a day at a rail, or waives it with a reason: writes the row that never changes, with the audit entries. With
-- breaks it needs two operators, who saw the same. Outcomes: proved, waived; unchanged (it has a row); day_open;
-- no_statement; proposed (another operator must do the same); needs_people; refused (`because`).
CREATE OR REPLACE FUNCTION ledger.prove_day(
  organisation uuid, env text, proof text, wanted date, wanted_rail text, waiver text, OUT outcome text, OUT because text
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  facts  public.day_proofs := ledger.day_facts(organisation, env, wanted, wanted_rail);
  d      CONSTANT ledger.batch_decision := ROW(1, proof, concat_ws('/', env, wanted, wanted_rail),
    CASE WHEN waiver IS NULL THEN 'day.prove' ELSE 'day.waive' END, NULL, md5(facts::text), waiver);
  answer record;
BEGIN
  outcome := CASE
    WHEN EXISTS (SELECT FROM day_proofs p
                 WHERE p.organisation_id = organisation AND p.environment = env AND p.day = wanted AND p.rail = wanted_rail) THEN 'unchanged'
    WHEN NOT EXISTS (SELECT FROM ledger.closed_days c WHERE c.organisation_id = organisation AND c.environment = env
                     AND c.day = wanted AND c.completed_at IS NOT NULL) THEN 'day_open'
    WHEN facts.bank IS NULL AND waiver IS NULL THEN 'no_statement' END;
  IF outcome IS NOT NULL THEN RETURN; END IF;
  answer := ledger.check_decision(
    organisation, env, d, ledger.identify(organisation, env, d), facts.breaks <> '{}', NULL);
  IF (answer.rejection).outcome IS NOT NULL THEN
    outcome := CASE (answer.rejection).code WHEN 'DECISION_PROPOSED' THEN 'proposed' WHEN 'REVIEW_NEEDS_OPERATORS' THEN 'needs_people'
               ELSE 'refused' END;
    because := (answer.rejection).detail ->> 'because';
    RETURN;
  END IF;
  facts.waived := waiver;
  facts.prepared_by := (answer.entries[1]).operator;
  facts.reviewed_by := (answer.entries[2]).operator;
  facts.created_at := clock_timestamp();
  INSERT INTO day_proofs SELECT facts.* ON CONFLICT DO NOTHING;
  IF FOUND THEN PERFORM ledger.audit_decisions(organisation, env, '{}', answer.entries, NULL); END IF;
  outcome := CASE WHEN NOT FOUND THEN 'unchanged' WHEN waiver IS NULL THEN 'proved' ELSE 'waived' END;
END $$;

GRANT EXECUTE ON FUNCTION ledger.day_facts, ledger.prove_day TO manilla_app;
