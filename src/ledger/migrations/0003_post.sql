-- ledger.post: the one way money moves. A batch of movements goes in as one document and comes back with one outcome
-- each; a movement is a transaction with its postings and everything that must be true together with it (resource rows,
-- events, outbox messages, the idempotency outcome). It is one statement, so a lost connection leaves all of it or nothing.
--
-- A batch is one organisation's, which is an argument of its own: every table that is read or written here is met by that
-- organisation, so that a distributed database can run the whole of it where the organisation lives.
--
-- The document: accounts [{e: environment, c: code, k: 'wallet' | 'kept' | 'shared'}], movements
-- [{e, transaction: {id, key, kind, resource, exempt, reverses, effective_at} | null, claim: {...} | null}], postings
-- [[movement, debit account, credit account, amount]] (positions count from 1), and rows by table, each with `m`, the
-- movement it belongs to, and written by `ledger.write_<table>`. `exempt`: the credited side takes it though it is frozen
-- or over a limit. src/ledger/journal.ts makes it.
--
-- Locks are taken in one order everywhere (accounts by id, then idempotency rows by key), so two batches never deadlock.
CREATE FUNCTION ledger.post(organisation uuid, batch jsonb)
RETURNS TABLE (movement integer, outcome text, code text, account_code text, detail jsonb)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
#variable_conflict use_column
DECLARE
  movement_count integer := jsonb_array_length(batch -> 'movements');
  -- One slot an account of the batch.
  account_codes  text[];
  account_ids    bigint[];
  balances       bigint[];
  balances_first bigint[];
  statuses       text[];
  verifieds      boolean[];
  balance_maxes  bigint[];
  posting_maxes  bigint[];
  -- One slot a posting.
  posting_movements integer[];
  debits            integer[];
  credits           integer[];
  amounts           bigint[];
  debit_afters      bigint[];
  credit_afters     bigint[];
  -- One slot a movement.
  exempts  boolean[];
  outcomes text[];
  codes    text[];
  failed   integer[] := array_fill(NULL::integer, ARRAY[movement_count]);
  details  jsonb[] := array_fill(NULL::jsonb, ARRAY[movement_count]);
  accepted boolean[] := array_fill(false, ARRAY[movement_count]);
  posting_count integer;
  position integer := 1;
  first    integer;
  undo     integer;
  d integer;
  c integer;
  amount bigint;
  refusal text;
  culprit integer;
  why jsonb;
  all_accepted boolean;
  row_table  text;
  table_rows jsonb;
  written    integer;
BEGIN
  -- 1. Platform accounts come into being with their first posting; a wallet's account is opened with the wallet.
  INSERT INTO ledger.accounts (organisation_id, environment, code, balance)
  SELECT organisation, a.e, a.c, CASE a.k WHEN 'kept' THEN 0 END
  FROM jsonb_to_recordset(batch -> 'accounts') AS a (e text, c text, k text)
  WHERE a.k <> 'wallet'
    AND NOT EXISTS (SELECT FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.environment = a.e AND x.code = a.c)
  ORDER BY a.e, a.c
  ON CONFLICT DO NOTHING;

  -- 2. Lock, in id order, the accounts whose balance is kept; read the shared ones without a lock.
  WITH wanted AS (
    SELECT row_number() OVER () AS slot, a.e, a.c, a.k
    FROM jsonb_to_recordset(batch -> 'accounts') AS a (e text, c text, k text)
  ), locked AS (
    SELECT w.slot, x.id, x.balance, x.status, x.verified, x.balance_max, x.posting_max
    FROM wanted w JOIN ledger.accounts x ON x.organisation_id = organisation AND x.environment = w.e AND x.code = w.c
    WHERE w.k <> 'shared'
    ORDER BY x.id
    FOR NO KEY UPDATE OF x
  ), found AS (
    SELECT slot, id, balance, status, verified, balance_max, posting_max FROM locked
    UNION ALL
    SELECT w.slot, x.id, NULL, x.status, x.verified, x.balance_max, x.posting_max
    FROM wanted w JOIN ledger.accounts x ON x.organisation_id = organisation AND x.environment = w.e AND x.code = w.c
    WHERE w.k = 'shared'
  )
  SELECT array_agg(w.c ORDER BY w.slot), array_agg(f.id ORDER BY w.slot), array_agg(f.balance ORDER BY w.slot),
         array_agg(f.status ORDER BY w.slot), array_agg(f.verified ORDER BY w.slot),
         array_agg(f.balance_max ORDER BY w.slot), array_agg(f.posting_max ORDER BY w.slot)
  INTO account_codes, account_ids, balances, statuses, verifieds, balance_maxes, posting_maxes
  FROM wanted w LEFT JOIN found f USING (slot);
  balances_first := balances;

  -- 3. What is already there: a business key that was posted, a claim that was lost or has committed.
  SELECT array_agg(
           CASE
             WHEN t.id IS NOT NULL THEN 'duplicate'
             WHEN m.claim IS NOT NULL AND k.claim = (m.claim ->> 'claim')::uuid AND k.status_code IS NOT NULL THEN 'duplicate'
             WHEN m.claim IS NOT NULL AND k.claim IS DISTINCT FROM (m.claim ->> 'claim')::uuid AND k.key IS NOT NULL THEN 'refused'
             ELSE 'posted'
           END ORDER BY m.slot),
         array_agg(
           CASE
             WHEN t.id IS NULL AND m.claim IS NOT NULL AND k.claim IS DISTINCT FROM (m.claim ->> 'claim')::uuid AND k.key IS NOT NULL
             THEN 'IDEMPOTENCY_IN_PROGRESS'
           END ORDER BY m.slot),
         array_agg(coalesce((m.transaction ->> 'exempt')::boolean, false) ORDER BY m.slot)
  INTO outcomes, codes, exempts
  FROM (
    SELECT row_number() OVER () AS slot, r.e, r.transaction, r.claim
    FROM jsonb_to_recordset(batch -> 'movements') AS r (e text, transaction jsonb, claim jsonb)
  ) m
  LEFT JOIN ledger.transactions t
    ON t.organisation_id = organisation AND t.environment = m.e AND t.key = m.transaction ->> 'key'
  LEFT JOIN LATERAL (
    SELECT i.key, i.claim, i.status_code FROM idempotency_keys i
    WHERE i.organisation_id = organisation AND i.environment = m.e AND i.key = m.claim ->> 'key'
    FOR UPDATE
  ) k ON m.claim IS NOT NULL;

  -- 4. Decide each movement in turn against the balances that the ones before it left.
  SELECT array_agg((p ->> 0)::integer), array_agg((p ->> 1)::integer), array_agg((p ->> 2)::integer), array_agg((p ->> 3)::bigint)
  INTO posting_movements, debits, credits, amounts
  FROM jsonb_array_elements(batch -> 'postings') AS p;
  posting_count := coalesce(array_length(amounts, 1), 0);
  debit_afters := array_fill(NULL::bigint, ARRAY[posting_count]);
  credit_afters := array_fill(NULL::bigint, ARRAY[posting_count]);

  FOR m IN 1..movement_count LOOP
    first := position;
    refusal := NULL;
    IF outcomes[m] <> 'posted' THEN
      WHILE position <= posting_count AND posting_movements[position] = m LOOP position := position + 1; END LOOP;
      CONTINUE;
    END IF;
    WHILE position <= posting_count AND posting_movements[position] = m LOOP
      IF refusal IS NULL THEN
        d := debits[position];
        c := credits[position];
        amount := amounts[position];
        IF account_ids[d] IS NULL THEN refusal := 'WALLET_NOT_FOUND'; culprit := d;
        ELSIF account_ids[c] IS NULL THEN refusal := 'WALLET_NOT_FOUND'; culprit := c;
        ELSE
          IF statuses[d] <> 'active' THEN refusal := 'WALLET_' || upper(statuses[d]); culprit := d;
          ELSIF NOT verifieds[d] THEN refusal := 'WALLET_KYC_REQUIRED'; culprit := d;
          ELSIF amount > posting_maxes[d] THEN
            refusal := 'WALLET_TIER1_LIMIT_EXCEEDED'; culprit := d;
            why := jsonb_build_object('limit', 'transaction', 'limitAmount', posting_maxes[d], 'attemptedAmount', amount);
          ELSIF statuses[c] = 'closed' THEN refusal := 'WALLET_CLOSED'; culprit := c;
          ELSIF NOT exempts[m] THEN
            IF statuses[c] <> 'active' THEN refusal := 'WALLET_' || upper(statuses[c]); culprit := c;
            ELSIF NOT verifieds[c] THEN refusal := 'WALLET_KYC_REQUIRED'; culprit := c;
            ELSIF amount > posting_maxes[c] THEN
              refusal := 'WALLET_TIER1_LIMIT_EXCEEDED'; culprit := c;
              why := jsonb_build_object('limit', 'transaction', 'limitAmount', posting_maxes[c], 'attemptedAmount', amount);
            ELSIF balances[c] + amount > balance_maxes[c] THEN
              refusal := 'WALLET_TIER1_LIMIT_EXCEEDED'; culprit := c;
              why := jsonb_build_object('limit', 'balance', 'limitAmount', balance_maxes[c], 'attemptedAmount', balances[c] + amount);
            END IF;
          END IF;
          IF refusal IS NULL AND balances[d] < amount THEN
            refusal := 'WALLET_INSUFFICIENT_FUNDS'; culprit := d;
            why := jsonb_build_object('attemptedAmount', amount);
          END IF;
        END IF;
        IF refusal IS NULL THEN
          balances[d] := balances[d] - amount;
          balances[c] := balances[c] + amount;
          debit_afters[position] := balances[d];
          credit_afters[position] := balances[c];
        ELSE
          undo := position;
        END IF;
      END IF;
      position := position + 1;
    END LOOP;
    IF refusal IS NULL THEN
      accepted[m] := true;
    ELSE
      WHILE undo > first LOOP -- all of a movement or nothing of it
        undo := undo - 1;
        balances[debits[undo]] := balances[debits[undo]] + amounts[undo];
        balances[credits[undo]] := balances[credits[undo]] - amounts[undo];
      END LOOP;
      outcomes[m] := 'refused';
      codes[m] := refusal;
      failed[m] := culprit;
      details[m] := why;
      why := NULL;
    END IF;
  END LOOP;

  -- 5. Write what was accepted, each table once.
  all_accepted := NOT (false = ANY (accepted));
  INSERT INTO ledger.transactions (organisation_id, environment, id, key, kind, resource, reverses, effective_at)
  SELECT organisation, r.e, t.id, t.key, t.kind, t.resource, t.reverses, t.effective_at
  FROM (
    SELECT row_number() OVER () AS slot, x.e, x.transaction
    FROM jsonb_to_recordset(batch -> 'movements') AS x (e text, transaction jsonb)
  ) r
  CROSS JOIN LATERAL jsonb_to_record(r.transaction)
    AS t (id uuid, key text, kind text, resource text, reverses uuid, effective_at timestamptz)
  WHERE accepted[r.slot] AND jsonb_typeof(r.transaction) = 'object'
  ORDER BY r.e, t.key;

  IF posting_count > 0 THEN
    INSERT INTO ledger.postings (organisation_id, environment, transaction_id, debit_account_id, credit_account_id, amount,
                                 debit_balance_after, credit_balance_after)
    SELECT organisation, m.value ->> 'e', (m.value #>> '{transaction,id}')::uuid,
           account_ids[p.debit], account_ids[p.credit], p.amount, p.debit_after, p.credit_after
    FROM unnest(posting_movements, debits, credits, amounts, debit_afters, credit_afters) WITH ORDINALITY
           AS p (movement, debit, credit, amount, debit_after, credit_after, slot)
    JOIN jsonb_array_elements(batch -> 'movements') WITH ORDINALITY AS m (value, slot) ON m.slot = p.movement
    WHERE accepted[p.movement]
    ORDER BY p.slot;

    UPDATE ledger.accounts a SET balance = n.balance
    FROM unnest(account_ids, balances, balances_first) AS n (id, balance, first)
    WHERE a.organisation_id = organisation AND a.id = n.id AND n.balance IS DISTINCT FROM n.first;
  END IF;

  -- Resource rows, each table by its own `ledger.write_<table>`, which answers how many rows it wrote. A row that was
  -- overtaken is not written: the batch is refused, and the journal tries its halves.
  FOR row_table, table_rows IN SELECT key, value FROM jsonb_each(batch -> 'rows') LOOP
    IF NOT all_accepted THEN
      SELECT coalesce(jsonb_agg(r), '[]') INTO table_rows FROM jsonb_array_elements(table_rows) r WHERE accepted[(r ->> 'm')::integer];
      CONTINUE WHEN table_rows = '[]';
    END IF;
    EXECUTE format('SELECT ledger.%I($1)', 'write_' || row_table) INTO written USING table_rows;
    IF written <> jsonb_array_length(table_rows) THEN
      RAISE EXCEPTION 'a row of % was changed by somebody else', row_table USING ERRCODE = 'ML001';
    END IF;
  END LOOP;

  IF jsonb_array_length(batch -> 'events') > 0 THEN
    INSERT INTO events (organisation_id, environment, id, type, resource, data, created_at)
    SELECT organisation, e.e, e.id, e.type, e.resource, e.data::json, e.created_at
    FROM jsonb_to_recordset(batch -> 'events') AS e (m integer, e text, id uuid, type text, resource text, data text, created_at timestamptz)
    WHERE accepted[e.m];
  END IF;

  IF jsonb_array_length(batch -> 'outbox') > 0 THEN
    INSERT INTO outbox (organisation_id, environment, topic, message)
    SELECT organisation, x.e, x.topic, x.message
    FROM jsonb_to_recordset(batch -> 'outbox') AS x (m integer, e text, topic text, message jsonb)
    WHERE accepted[x.m];
  END IF;

  INSERT INTO idempotency_keys (organisation_id, environment, key, fingerprint, claim, claimed_until, status_code, response)
  SELECT organisation, r.e, k.key, decode(k.fingerprint, 'base64'), k.claim, now(), k.status_code, k.response
  FROM (
    SELECT row_number() OVER () AS slot, x.e, x.claim
    FROM jsonb_to_recordset(batch -> 'movements') AS x (e text, claim jsonb)
  ) r
  CROSS JOIN LATERAL jsonb_to_record(r.claim) AS k (key text, fingerprint text, claim uuid, status_code integer, response text)
  WHERE accepted[r.slot] AND jsonb_typeof(r.claim) = 'object'
  ORDER BY r.e, k.key
  ON CONFLICT (organisation_id, environment, key) DO UPDATE SET status_code = excluded.status_code, response = excluded.response
  WHERE idempotency_keys.claim = excluded.claim AND idempotency_keys.status_code IS NULL;
  GET DIAGNOSTICS written = ROW_COUNT;
  IF written <> (
    SELECT count(*) FROM jsonb_array_elements(batch -> 'movements') WITH ORDINALITY AS r (value, slot)
    WHERE accepted[r.slot] AND jsonb_typeof(r.value -> 'claim') = 'object'
  ) THEN
    RAISE EXCEPTION 'a claim was taken over' USING ERRCODE = 'ML001';
  END IF;

  RETURN QUERY
  SELECT g.m, outcomes[g.m], codes[g.m], account_codes[failed[g.m]], details[g.m]
  FROM generate_series(1, movement_count) AS g (m);
END
$$;
COMMENT ON FUNCTION ledger.post(uuid, jsonb) IS 'Posts a batch of one organisation''s movements, each whole or not at all. See src/ledger/journal.ts.';
REVOKE ALL ON FUNCTION ledger.post(uuid, jsonb) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.post(uuid, jsonb) TO manilla_app;
