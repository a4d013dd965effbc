-- Decisions of operators, and of callers who decide: who may decide what, and the proof of who did.
--
-- A proof is the SHA-256 of a secret, in hex, after its kind: `key:…` or `code:…` of an operator, `api:…` of a caller;
-- `owner` is accepted from the owner of the database, `worker` for a pause of a rail and the proof of a day. The
-- tables have the SHA-256 of that digest, so what is read from them proves nothing. Only these functions write the audit log.

-- The rule of a decision, by its name in the audit log: the scope that an operator needs, how many must send the same,
-- and the scope with which an API key may decide it; NULL: none may. An adjustment is approved by another operator than
-- the one who requested it; a credit needs two for another wallet, and from an amount on (decision_limits).
CREATE OR REPLACE FUNCTION ledger.decision_rule(wanted text, OUT scope text, OUT people integer, OUT key_scope text)
LANGUAGE sql IMMUTABLE AS $$
  SELECT r.scope, r.people, r.key_scope FROM (VALUES
    ('view', 1, NULL, 'operator.sign_in'),
    ('support', 1, 'wallet', 'wallet.verify'),
    ('support', 1, NULL, 'wallet.freeze wallet.unfreeze wallet.close webhooks.redeliver attention.retry resolve:retry'),
    ('finance', 1, NULL, 'resolve:dismiss resolve:set_aside rail.pause rail.resume rail.check day.prove day.waive period.close fees.sweep '
      'reconciliation.import adjustment.request adjustment.approve adjustment.reject review:close review:retry hold.release hold.cancel'),
    ('finance', 2, NULL, 'resolve:complete resolve:fail resolve:return'),
    ('finance', 1, 'review', 'review:credit review:return_to_sender review:move_to_unclaimed'),
    ('admin', 1, NULL, 'organisation.create operator.create operator.rotate operator.revoke rail.connect rail.rotate rail.close '
      'rail.disconnect keyring.re_encrypt limits.set fees.set'),
    ('admin', 1, 'keys', 'api_key.create api_key.rotate api_key.revoke')
  ) AS r (scope, people, key_scope, actions) WHERE wanted = ANY (string_to_array(r.actions, ' '))
$$;

-- The audit entry of a decision; `refusal`: why it is not proven. A code is valid for its subject and its action, and
-- for a day for what it was first used about, because a statement may be repeated, but not longer than the key that
-- made it. That use is recorded here.
CREATE OR REPLACE FUNCTION ledger.identify(organisation uuid, environment text, d ledger.batch_decision) RETURNS ledger.audit_entry
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  all_organisations CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
  digest  CONSTANT bytea := sha256(decode(substring(d.proof FROM ':([0-9a-f]{64})$'), 'hex'));
  about   CONSTANT text := coalesce(d.about, '');
  rule    record;
  code    public.operator_codes;
  entry   ledger.audit_entry := ROW(d.movement, NULL, NULL, d.action, d.subject, d.reason, NULL, NULL, true, NULL);
BEGIN
  SELECT * INTO rule FROM ledger.decision_rule(d.action);
  IF rule.scope IS NULL THEN
    RAISE EXCEPTION 'there is no decision %', d.action USING ERRCODE = 'check_violation';
  ELSIF d.proof = 'owner' AND pg_has_role(session_user, current_user, 'MEMBER') THEN
    entry.operator := 'database owner';
  ELSIF d.proof = 'worker' AND d.action IN ('rail.pause', 'day.prove') THEN
    entry.operator := 'worker';
  ELSIF starts_with(d.proof, 'api:') THEN
    SELECT ledger.public_id(k.id, 'key'), k.scopes INTO entry.operator, entry.scopes FROM public.api_keys k
    WHERE k.organisation_id = organisation AND k.environment = environment AND k.hash = digest AND k.revoked_at IS NULL
      AND (k.expires_at IS NULL OR k.expires_at > now()) AND rule.key_scope = ANY (k.scopes);
  ELSE
    SELECT c.* INTO code FROM public.operator_codes c
    WHERE c.organisation_id = all_organisations AND starts_with(d.proof, 'code:') AND c.hash = digest
      AND (c.subject = d.subject OR (d.action = 'resolve:retry' AND starts_with(about, 'batch:') AND c.subject = about))
      AND CASE WHEN c.first_used_at IS NULL THEN c.expires_at > now() ELSE c.first_used_at > now() - interval '1 day' END
    FOR UPDATE;
    SELECT o.id, o.name, o.scopes INTO entry.operator_id, entry.operator, entry.scopes FROM public.operators o
    WHERE o.organisation_id = all_organisations AND o.revoked_at IS NULL
      AND (o.id = code.operator_id AND coalesce(code.first_used_at >= o.key_since, true)
           OR starts_with(d.proof, 'key:') AND o.key_hash = digest)
    FOR SHARE; -- A key that is replaced meanwhile decides nothing, and makes no code.
    entry.code := code.hash;
    entry.is_first_use := code.first_used_at IS NULL;
    entry.refusal := CASE
      WHEN code.action <> concat_ws(' ', regexp_replace(d.action, '^.*[:.]', ''), d.wallet) THEN 'other'
      WHEN code.used_about <> about THEN 'used'
      WHEN rule.scope <> ALL (entry.scopes || 'view'::text) THEN 'scope'
    END;
  END IF;
  IF entry.operator IS NULL THEN entry.refusal := 'unknown'; END IF;
  IF entry.refusal IS NULL AND entry.is_first_use AND entry.code IS NOT NULL THEN
    UPDATE public.operator_codes c SET first_used_at = clock_timestamp(), used_about = about
    WHERE c.organisation_id = all_organisations AND c.hash = entry.code;
  END IF;
  RETURN entry;
END $$;

-- Why a decision does not take effect, or its audit entries. One by two confirms the newest proposal about its subject,
-- or is a proposal itself. `posts`: the key of the transaction that it takes effect with; NULL: it is only asked.
CREATE OR REPLACE FUNCTION ledger.check_decision(
  organisation uuid, environment text, d ledger.batch_decision, entry ledger.audit_entry, needs_two boolean, posts text,
  OUT rejection ledger.rejection, OUT entries ledger.audit_entry[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  decided  CONSTANT text := concat_ws(' ', d.action, d.wallet, d.about);
  proposal record;
BEGIN
  entries := ARRAY[entry];
  IF entry.refusal IS NOT NULL THEN
    rejection := ROW('refused', 'DECISION_REFUSED', NULL, jsonb_build_object('because', entry.refusal), true);
  ELSIF needs_two OR (ledger.decision_rule(d.action)).people = 2 THEN
    SELECT p.*, o.name INTO proposal
    FROM public.operator_proposals p JOIN public.operators o
      ON o.organisation_id = '00000000-0000-0000-0000-000000000000' AND o.id = p.operator_id AND o.revoked_at IS NULL
    WHERE p.organisation_id = organisation AND p.environment = environment AND p.subject = d.subject AND p.decision = decided
      AND p.operator_id <> entry.operator_id
      AND (p.posted = posts OR (p.posted IS NULL AND p.created_at > greatest(now() - interval '1 day', o.key_since)))
    FOR UPDATE OF p;
    IF FOUND THEN
      entries := ROW(d.movement, proposal.operator_id, proposal.name, d.action || ':proposed', d.subject, proposal.reason,
                     proposal.code, NULL, false, NULL)::ledger.audit_entry || entries;
    ELSIF entry.operator_id IS NULL THEN
      rejection := ROW('refused', 'REVIEW_NEEDS_OPERATORS', NULL, NULL, true);
    ELSE
      rejection := ROW('refused', 'DECISION_PROPOSED', NULL,
                       jsonb_build_object('operator', ledger.public_id(entry.operator_id, 'opr')), true);
      IF entry.is_first_use THEN
        DELETE FROM public.operator_proposals p WHERE p.organisation_id = organisation AND p.subject = d.subject;
        INSERT INTO public.operator_proposals (organisation_id, environment, subject, decision, operator_id, reason, code)
        VALUES (organisation, environment, d.subject, decided, entry.operator_id, d.reason, entry.code);
      END IF;
    END IF;
  END IF;
END $$;

-- The changes of rows that need a decision. `actions`: any of these decides it; NULL: none is needed. `postings`: what
-- its movement posts, neither more nor less. `own_wallet` is the wallet that is credited when the decision names none.
CREATE OR REPLACE FUNCTION ledger.decided_changes(organisation uuid, env text, row_table text, table_rows json)
RETURNS TABLE (
  movement integer, actions text[], subject text, wallet text, own_wallet text, needs_two boolean, requested_by uuid, postings jsonb,
  is_stale boolean
) LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
DECLARE
  by_two_from CONSTANT bigint := (
    SELECT l.credit_by_two_from FROM public.decision_limits l WHERE l.organisation_id = '00000000-0000-0000-0000-000000000000');
BEGIN
  IF row_table = 'adjustments' THEN RETURN QUERY
  SELECT r.movement,
         ARRAY[CASE concat_ws(' ', a.status, r.status) WHEN 'requested' THEN 'adjustment.request'
                 WHEN 'requested posted' THEN 'adjustment.approve' WHEN 'requested rejected' THEN 'adjustment.reject' END],
         ledger.public_id(r.id, 'adj'), NULL, NULL, false, CASE WHEN r.status = 'posted' THEN a.requested_by END,
         CASE WHEN r.status = 'posted' THEN a.postings END, coalesce(a.version, 0) <> r.version - 1
  FROM json_to_recordset(table_rows) AS r (movement integer, id uuid, status text, version integer)
  LEFT JOIN public.adjustments a ON a.organisation_id = organisation AND a.id = r.id;
  ELSIF row_table = 'fee_sweeps' THEN RETURN QUERY
  SELECT r.movement, ARRAY['fees.sweep'], ledger.public_id(r.id, 'fsw'), NULL, NULL, false, NULL::uuid,
         jsonb_build_array(jsonb_build_object('debit', 'own:drawings', 'credit', w.account_code, 'amount', r.amount)), false
  FROM json_to_recordset(table_rows) AS r (movement integer, id uuid, wallet_id uuid, amount bigint)
  LEFT JOIN public.wallets w
    ON w.organisation_id = organisation AND w.environment = env AND w.id = r.wallet_id AND w.kind = 'settlement';
  ELSIF row_table = 'review_cases' THEN RETURN QUERY
  SELECT r.movement,
         CASE r.status
           WHEN 'credited' THEN ARRAY['review:credit']
           WHEN 'unclaimed' THEN ARRAY['review:move_to_unclaimed']
           WHEN 'closed' THEN CASE WHEN c.reason IS DISTINCT FROM 'credit_unconfirmed' AND NOT EXISTS (
             SELECT FROM public.reconciliation_breaks b
             WHERE b.organisation_id = organisation AND b.id = r.id AND b.cleared_at IS NOT NULL) THEN ARRAY['review:close'] END
           ELSE CASE WHEN c.status = 'open' AND c.attempts = 0 AND p.on_mismatch = 'refund'
                      AND (c.inbound_credit_id IS NOT NULL OR c.reason = 'partial_expired') THEN NULL
                ELSE ARRAY['review:return_to_sender'] END
         END,
         ledger.public_id(r.id, 'rev'),
         CASE WHEN r.status = 'credited' THEN ledger.public_id(r.wallet_id, 'wlt') END,
         CASE WHEN r.status = 'credited' THEN ledger.public_id(c.wallet_id, 'wlt') END,
         r.status = 'credited' AND (r.wallet_id IS DISTINCT FROM c.wallet_id OR c.amount >= by_two_from),
         NULL::uuid,
         CASE WHEN r.status <> 'closed' THEN (
           SELECT jsonb_agg(jsonb_build_object('debit', x.debit, 'credit', x.credit, 'amount', x.amount) ORDER BY x.place) FROM (
             VALUES
             (0, m.holder, m.held_in, CASE WHEN m.held > 0 THEN c.amount END),
             (1, CASE WHEN m.held > 0 THEN m.held_in ELSE m.holder END,
              CASE r.status WHEN 'credited' THEN m.beside || 'wallet:' || ledger.public_id(r.wallet_id, 'wlt')
                            WHEN 'unclaimed' THEN 'unclaimed:credits' ELSE 'in_transit:returns' END,
              c.amount + m.held - m.fee - (SELECT coalesce(sum(s.amount), 0) FROM jsonb_to_recordset(r.splits) AS s (amount bigint))),
             (100, CASE WHEN m.held > 0 THEN m.held_in ELSE m.holder END, 'income:fees', m.fee)
             UNION ALL -- the splits of a payment that was not settled, each up to its amount
             SELECT 1 + q.place, CASE WHEN m.held > 0 THEN m.held_in ELSE m.holder END,
                    CASE WHEN q.split ? 'hold' THEN 'held:' ELSE '' END || 'wallet:' || ledger.public_id(s."walletId", 'wlt'), s.amount
             FROM jsonb_array_elements(p.splits) WITH ORDINALITY AS q (split, place)
             JOIN jsonb_to_recordset(r.splits) AS s ("walletId" uuid, amount bigint) ON s."walletId" = (q.split ->> 'walletId')::uuid
              AND s.amount <= (q.split ->> 'amount')::bigint - (q.split ->> 'amountCredited')::bigint
             WHERE r.status = 'credited' AND r.wallet_id = p.target_wallet_id AND p.settled_at IS NULL
           ) AS x (place, debit, credit, amount) WHERE x.amount > 0) END,
         coalesce(c.version, 0) <> r.version - 1
  FROM json_to_recordset(table_rows) AS r (movement integer, id uuid, status text, wallet_id uuid, version integer, fee bigint, splits jsonb)
  LEFT JOIN public.review_cases c ON c.organisation_id = organisation AND c.id = r.id
  LEFT JOIN public.payments p ON p.organisation_id = organisation AND p.id = c.payment_id
  -- A credit to the wallet of its payment settles an open payment with what that holds, and is charged up to its fee. It
  -- is held, if its part of the payment is.
  CROSS JOIN LATERAL (
    SELECT CASE c.status WHEN 'unclaimed' THEN 'unclaimed:credits' ELSE c.account_code END AS holder,
           'suspense:payment:' || ledger.public_id(p.id, 'pay') AS held_in,
           CASE WHEN r.status = 'credited' AND r.wallet_id = p.target_wallet_id AND p.status IN ('pending', 'partial')
                THEN p.amount_received ELSE 0 END AS held,
           CASE WHEN r.status = 'credited' AND r.wallet_id = p.target_wallet_id
                THEN least(r.fee, p.fee - p.fee_charged) ELSE 0 END AS fee,
           CASE WHEN (c.inbound_credit_id IS NOT NULL OR c.reason IN ('partial_expired', 'split_refused'))
                     AND (r.wallet_id = p.target_wallet_id AND p.hold IS NOT NULL OR c.reason = 'split_refused' AND jsonb_path_exists(
                       p.splits, '$[*] ? (@.walletId == $wallet && exists(@.hold))', jsonb_build_object('wallet', r.wallet_id)))
                THEN 'held:' ELSE '' END AS beside
  ) m
  WHERE r.status IN ('credited', 'unclaimed', 'closed', 'returning')
    AND (r.status, c.status, c.version) IS DISTINCT FROM ('unclaimed', 'unclaimed', r.version - 1); -- a recall leaves less in it
  END IF;
END $$;

-- Whether a row of a case with money changes what a decision about it rests on: its wallet, before it is credited, or
-- what it holds. A new one holds at most what its movement puts there, or what its payment held before it expired.
CREATE OR REPLACE FUNCTION ledger.has_false_case(
  organisation uuid, env text, accounts text[], postings ledger.batch_posting[], row_tables ledger.batch_table[], documents text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  RETURN EXISTS (
    SELECT FROM unnest(row_tables) AS t
    CROSS JOIN json_to_recordset(documents[t.document]::json) AS r (movement integer, id uuid, version integer, status text,
      reason text, amount bigint, account_code text, payment_id uuid, wallet_id uuid)
    LEFT JOIN public.review_cases c ON c.organisation_id = organisation AND c.id = r.id
    LEFT JOIN ledger.accounts h ON h.organisation_id = organisation AND h.environment = env AND h.code = r.account_code
      AND r.reason = 'partial_expired' AND h.code = 'suspense:payment:' || ledger.public_id(r.payment_id, 'pay')
    WHERE t.name = 'review_cases' AND r.account_code IS NOT NULL AND coalesce(c.version, 0) = r.version - 1
    GROUP BY r.movement, c.id, r.account_code, h.balance
    HAVING CASE WHEN c.id IS NULL
      THEN sum(r.amount) > coalesce(h.balance, (
        SELECT sum(p.amount) FROM unnest(postings) AS p WHERE p.movement = r.movement AND accounts[p.credit] = r.account_code), 0)
      ELSE bool_or(r.status <> 'credited' AND r.wallet_id IS DISTINCT FROM c.wallet_id OR r.amount > c.amount) END);
END $$;

-- Checks the decisions of a batch. Raises an error for a change that needs one and has none, or another: that is never
-- a mistake of an operator. A decision that is not proven, or waits for a second operator, refuses its movement.
-- `documents`: with the ids of the operators who have proven that they request or decide an adjustment. `covered`: the
-- movements that post exactly what was decided.
CREATE OR REPLACE FUNCTION ledger.check_decisions(
  organisation uuid, environment text, accounts text[], transactions ledger.batch_transaction[], postings ledger.batch_posting[],
  row_tables ledger.batch_table[], outcomes ledger.batch_outcome[], decisions ledger.batch_decision[],
  INOUT documents text[], OUT rejections ledger.rejection[], OUT entries ledger.audit_entry[], OUT covered integer[]
) LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  item   record;
  d      ledger.batch_decision;
  entry  ledger.audit_entry;
  answer record;
BEGIN
  IF ledger.has_false_case(organisation, environment, accounts, postings, row_tables, documents) THEN
    RAISE EXCEPTION 'a case is not of the money of its movement, or names another wallet ("decision_needed")'
      USING ERRCODE = 'check_violation', CONSTRAINT = 'decision_needed';
  END IF;
  IF decisions <> '{}' THEN rejections := array_fill(NULL::ledger.rejection, ARRAY[cardinality(transactions)]); END IF;
  FOR item IN
    SELECT coalesce(x.movement, c.movement) AS number, x AS decision, c.subject IS NOT NULL AS is_change, c.*
    FROM unnest(decisions) AS x FULL JOIN (
      SELECT y.* FROM unnest(row_tables) AS t
      CROSS JOIN LATERAL ledger.decided_changes(organisation, environment, t.name, documents[t.document]::json) AS y
    ) c ON c.movement = x.movement
    ORDER BY x.proof -- the same order in all batches
  LOOP
    d := item.decision;
    IF item.is_change THEN covered := covered || item.number; END IF; -- what is not as decided raises an error below
    IF item.is_stale THEN
      rejections := coalesce(
        ledger.find_repeats(organisation, environment, accounts, transactions, postings, outcomes, rejections), rejections);
      CONTINUE WHEN (rejections[item.number]).is_repeat;
      RAISE EXCEPTION 'a row was changed by another writer' USING ERRCODE = 'ML001';
    END IF;
    IF transactions[item.number].resource <> d.subject OR item.is_change AND (
         item.postings IS DISTINCT FROM (
           SELECT jsonb_agg(jsonb_build_object('debit', accounts[p.debit], 'credit', accounts[p.credit], 'amount', p.amount) ORDER BY p.position)
           FROM unnest(postings) WITH ORDINALITY AS p (movement, debit, credit, amount, position) WHERE p.movement = item.number)
         OR item.actions IS NOT NULL AND NOT coalesce(
           d.action = ANY (item.actions) AND d.subject = item.subject
           AND coalesce(d.wallet, item.own_wallet) IS NOT DISTINCT FROM item.wallet, false))
    THEN
      RAISE EXCEPTION 'the movement is not what was decided about % ("decision_needed")', coalesce(item.subject, d.subject)
        USING ERRCODE = 'check_violation', CONSTRAINT = 'decision_needed';
    END IF;
    CONTINUE WHEN d.movement IS NULL;
    entry := ledger.identify(organisation, environment, d);
    IF entry.operator_id = item.requested_by THEN entry.refusal := coalesce(entry.refusal, 'same_person'); END IF;
    answer := ledger.check_decision(
      organisation, environment, d, entry, coalesce(item.needs_two, false), coalesce(transactions[item.number].key, ''));
    rejections[item.number] := answer.rejection;
    IF (answer.rejection).outcome IS NULL THEN entries := entries || answer.entries; END IF;
  END LOOP;
  FOR item IN SELECT t.document FROM unnest(row_tables) AS t WHERE t.name = 'adjustments' LOOP
    documents[item.document] := (
      SELECT jsonb_agg(r || jsonb_build_object(CASE r ->> 'status' WHEN 'requested' THEN 'requested_by' ELSE 'decided_by' END, e.operator_id))
      FROM jsonb_array_elements(documents[item.document]::jsonb) AS r
      LEFT JOIN unnest(entries) AS e ON e.movement = (r ->> 'movement')::integer);
  END LOOP;
END $$;

-- Writes the audit entries of the decisions that take effect, each once for a code, whatever is repeated; and that a
-- proposal took effect, so that no other movement can cite it.
CREATE OR REPLACE FUNCTION ledger.audit_decisions(
  organisation uuid, environment text, transactions ledger.batch_transaction[], entries ledger.audit_entry[], rejections ledger.rejection[]
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
BEGIN
  INSERT INTO public.audit_log (organisation_id, environment, operator_id, operator, action, subject, reason, code, created_at)
  SELECT organisation, environment, e.operator_id, e.operator, e.action, e.subject, e.reason, e.code, ledger.next_time()
  FROM unnest(entries) AS e
  WHERE rejections[e.movement] IS NULL AND (e.code IS NULL OR NOT EXISTS (
    SELECT FROM public.audit_log a
    WHERE a.organisation_id = organisation AND a.subject = e.subject AND a.action = e.action AND a.code = e.code
  ));
  UPDATE public.operator_proposals p SET posted = coalesce(transactions[e.movement].key, '')
  FROM unnest(entries) AS e
  WHERE p.organisation_id = organisation AND p.subject = e.subject AND e.action LIKE '%:proposed' AND rejections[e.movement] IS NULL;
END $$;

-- A decision beside a movement: writes its audit entry. One that needs two operators is only asked whether it takes
-- effect, because the movement that carries it out writes the entries. Returns why it does not; NULL: it does.
CREATE OR REPLACE FUNCTION ledger.record_decision(
  organisation uuid, environment text, proof text, subject text, action text, about text, reason text
) RETURNS ledger.rejection LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  d      CONSTANT ledger.batch_decision := ROW(1, proof, subject, action, NULL, about, reason);
  answer record := ledger.check_decision(organisation, environment, d, ledger.identify(organisation, environment, d), false, NULL);
BEGIN
  IF (answer.rejection).outcome IS NULL AND cardinality(answer.entries) = 1 THEN
    PERFORM ledger.audit_decisions(organisation, environment, '{}', answer.entries, NULL);
  END IF;
  RETURN answer.rejection;
END $$;

-- The same for a decision of one person that must take effect: raises an error if it is not proven.
CREATE OR REPLACE FUNCTION ledger.audit(organisation uuid, environment text, proof text, action text, subject text, reason text)
RETURNS ledger.audit_entry LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE entry CONSTANT ledger.audit_entry := ledger.identify(organisation, environment, ROW(1, proof, subject, action, NULL, NULL, reason));
BEGIN
  IF entry.refusal IS NOT NULL OR (ledger.decision_rule(action)).people = 2 THEN
    RAISE EXCEPTION '% is not proven: %', action, entry.refusal
      USING ERRCODE = 'insufficient_privilege', CONSTRAINT = 'decision_not_proven';
  END IF;
  PERFORM ledger.audit_decisions(organisation, environment, '{}', ARRAY[entry], NULL);
  RETURN entry;
END $$;

-- Stores codes of the operator whose key it is, by their hashes, each for one decision about one subject. Removes those
-- that expired without use.
CREATE OR REPLACE FUNCTION ledger.create_operator_codes(proof text, action text, subjects text[], hashes text[], valid_for interval)
RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  all_organisations CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
  entry   CONSTANT ledger.audit_entry := ledger.identify(all_organisations, NULL, ROW(1, proof, '', 'operator.sign_in', NULL, NULL, NULL));
  expires CONSTANT timestamptz := now() + least(valid_for, interval '1 hour');
BEGIN
  IF entry.refusal IS NOT NULL OR entry.operator_id IS NULL THEN
    RAISE EXCEPTION 'this is not the key of an operator' USING ERRCODE = 'insufficient_privilege';
  END IF;
  DELETE FROM operator_codes c WHERE c.organisation_id = all_organisations AND c.expires_at < now() AND c.first_used_at IS NULL;
  INSERT INTO operator_codes (hash, operator_id, subject, action, expires_at)
  SELECT decode(c.hash, 'hex'), entry.operator_id, c.subject, action, expires FROM unnest(subjects, hashes) AS c (subject, hash);
  RETURN expires;
END $$;

GRANT EXECUTE ON FUNCTION ledger.record_decision, ledger.audit, ledger.create_operator_codes TO manilla_app;
