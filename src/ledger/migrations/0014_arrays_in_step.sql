-- ledger.post_all reads its arrays in step, in the list of what is selected, and not as tables in FROM: there each array is first
-- copied into a table of its own, which took a third of what it takes to write a posting. Nothing else is changed.
CREATE OR REPLACE FUNCTION ledger.post_all(
  organisation          uuid,
  book                  text,
  account_codes         text[],
  account_kinds         text[],
  account_changes       bigint[],
  transaction_ids       uuid[],
  transaction_keys      text[],
  transaction_kinds     text[],
  transaction_resources text[],
  transaction_reverses  uuid[],
  transaction_times     timestamptz[],
  claim_keys            text[],
  claims                uuid[],
  claim_fingerprints    text[],
  claim_status_codes    integer[],
  claim_responses       text[],
  posting_movements     integer[],
  debits                integer[],
  credits               integer[],
  amounts               bigint[],
  event_ids             uuid[],
  event_types           text[],
  event_resources       text[],
  event_documents       text[],
  event_times           timestamptz[],
  message_topics        text[],
  messages              text[],
  resources             jsonb
)
RETURNS void
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ledger, public, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_column
DECLARE
  no_limit CONSTANT bigint := 9223372036854775807;
  posting_count integer := cardinality(amounts);
  -- One slot an account. Without nulls: Postgres then finds an element without walking over those before it.
  account_ids    bigint[];
  balances       bigint[];
  balances_last  bigint[];
  balance_maxes  bigint[];
  posting_maxes  bigint[];
  -- One slot a posting.
  debit_afters  bigint[] := array_fill(NULL::bigint, ARRAY[posting_count]);
  credit_afters bigint[] := array_fill(NULL::bigint, ARRAY[posting_count]);
  d integer;
  c integer;
  amount bigint;
  row_table  text;
  table_rows jsonb;
  written    integer;
BEGIN
  -- 1. What does not depend on a balance, each table once.
  INSERT INTO ledger.transactions (organisation_id, environment, id, key, kind, resource, reverses, effective_at)
  SELECT organisation, book, t.id, t.key, t.kind, t.resource, t.reverses, t.effective_at
  FROM (
    SELECT unnest(transaction_ids) AS id, unnest(transaction_keys) AS key, unnest(transaction_kinds) AS kind,
           unnest(transaction_resources) AS resource, unnest(transaction_reverses) AS reverses, unnest(transaction_times) AS effective_at
  ) t
  WHERE t.id IS NOT NULL;

  IF resources <> '{}' THEN
    FOR row_table, table_rows IN SELECT r.key, r.value FROM jsonb_each(resources) AS r LOOP
      EXECUTE format('SELECT ledger.%I($1)', 'write_' || row_table) INTO written USING table_rows;
      IF written <> jsonb_array_length(table_rows) THEN
        RAISE EXCEPTION 'a row of % was changed by somebody else', row_table USING ERRCODE = 'ML001';
      END IF;
    END LOOP;
  END IF;

  IF cardinality(event_ids) > 0 THEN
    INSERT INTO events (organisation_id, environment, id, type, resource, data, created_at)
    SELECT organisation, book, e.id, e.type, e.resource, e.document::json, e.created_at
    FROM (
      SELECT unnest(event_ids) AS id, unnest(event_types) AS type, unnest(event_resources) AS resource,
             unnest(event_documents) AS document, unnest(event_times) AS created_at
    ) e;
  END IF;

  IF cardinality(messages) > 0 THEN
    INSERT INTO outbox (organisation_id, environment, topic, message)
    SELECT organisation, book, x.topic, x.message::jsonb
    FROM (SELECT unnest(message_topics) AS topic, unnest(messages) AS message) x;
  END IF;

  IF cardinality(claim_keys) > 0 THEN
    -- In key order, so that two batches that meet here do not wait for each other in a circle.
    INSERT INTO idempotency_keys AS i (organisation_id, environment, key, fingerprint, claim, claimed_until, status_code, response)
    SELECT organisation, book, k.key, decode(k.fingerprint, 'base64'), k.claim, now(), k.status_code, k.response
    FROM (
      SELECT unnest(claim_keys) AS key, unnest(claims) AS claim, unnest(claim_fingerprints) AS fingerprint,
             unnest(claim_status_codes) AS status_code, unnest(claim_responses) AS response
    ) k
    WHERE k.key IS NOT NULL
    ORDER BY k.key
    ON CONFLICT (organisation_id, environment, key) DO UPDATE SET status_code = excluded.status_code, response = excluded.response
    WHERE i.claim = excluded.claim AND i.status_code IS NULL;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written <> cardinality(array_remove(claim_keys, NULL)) THEN
      RAISE EXCEPTION 'a claim was taken over' USING ERRCODE = 'ML001';
    END IF;
  END IF;

  IF posting_count = 0 THEN RETURN; END IF;

  -- 2. Platform accounts come into being with their first posting; a wallet's account is opened with the wallet.
  IF 'kept' = ANY (account_kinds) OR 'shared' = ANY (account_kinds) THEN
    INSERT INTO ledger.accounts (organisation_id, environment, code, balance)
    SELECT organisation, book, a.code, CASE a.kind WHEN 'kept' THEN 0 END
    FROM (SELECT unnest(account_codes) AS code, unnest(account_kinds) AS kind) a
    WHERE a.kind <> 'wallet'
      AND NOT EXISTS (SELECT FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.environment = book AND x.code = a.code)
    ORDER BY a.code
    ON CONFLICT DO NOTHING;
  END IF;

  -- 3. Each account that keeps a balance moves by what the batch adds up to, in the order in which everybody locks them. That
  -- locks it, finds it and writes it in one go; what it held before is what the postings are decided against below.
  WITH moved AS (
    UPDATE ledger.accounts x SET balance = x.balance + w.change
    FROM (
      SELECT unnest(account_codes) AS code, unnest(account_kinds) AS kind, unnest(account_changes) AS change,
             generate_series(1, cardinality(account_codes)) AS slot
    ) w
    WHERE x.organisation_id = organisation AND x.environment = book AND x.code = w.code AND w.kind <> 'shared' AND w.change IS NOT NULL
    RETURNING w.slot, x.id, x.balance - w.change AS balance_first, x.balance AS balance_last,
              coalesce(x.balance_max, no_limit) AS balance_max,
              CASE WHEN x.status = 'active' AND x.verified THEN coalesce(x.posting_max, no_limit) ELSE 0 END AS posting_max
  )
  SELECT array_agg(m.id), array_agg(m.balance_first), array_agg(m.balance_last), array_agg(m.balance_max), array_agg(m.posting_max)
  INTO account_ids, balances, balances_last, balance_maxes, posting_maxes
  FROM (SELECT * FROM moved ORDER BY slot) m;
  IF cardinality(account_codes) > coalesce(cardinality(account_ids), 0) THEN
    -- Shared accounts come behind: they have no balance, and nothing locks them.
    SELECT account_ids || array_agg(s.id), balances || array_agg(s.balance), balances_last || array_agg(s.balance),
           balance_maxes || array_agg(no_limit), posting_maxes || array_agg(s.posting_max)
    INTO account_ids, balances, balances_last, balance_maxes, posting_maxes
    FROM (
      SELECT x.id, x.balance, CASE WHEN x.status = 'active' AND x.verified THEN coalesce(x.posting_max, no_limit) ELSE 0 END AS posting_max
      FROM (
        SELECT unnest(account_codes) AS code, unnest(account_kinds) AS kind, generate_series(1, cardinality(account_codes)) AS slot
      ) w
      JOIN ledger.accounts x ON x.organisation_id = organisation AND x.environment = book AND x.code = w.code
      WHERE w.kind = 'shared'
      ORDER BY w.slot
    ) s;
    IF cardinality(account_ids) IS DISTINCT FROM cardinality(account_codes) THEN
      RAISE EXCEPTION 'not all of this batch can be posted' USING ERRCODE = 'ML003'; -- a wallet that does not exist takes no posting
    END IF;
  END IF;

  -- 4. Each posting in turn against the balances that the ones before it left; a shared account's is NULL and in nobody's way.
  -- Rules that a returning credit is excused from are not looked at: ledger.post does.
  FOR position IN 1..posting_count LOOP
    d := debits[position];
    c := credits[position];
    amount := amounts[position];
    IF amount > posting_maxes[d] OR amount > posting_maxes[c] OR balances[d] < amount OR balances[c] + amount > balance_maxes[c] THEN
      RAISE EXCEPTION 'not all of this batch can be posted' USING ERRCODE = 'ML003';
    END IF;
    balances[d] := balances[d] - amount;
    balances[c] := balances[c] + amount;
    debit_afters[position] := balances[d];
    credit_afters[position] := balances[c];
  END LOOP;
  IF balances <> balances_last THEN
    RAISE EXCEPTION 'the accounts were changed by something else than what the postings add up to';
  END IF;

  -- 5. The postings, in their order: so they are numbered, and so a statement reads.
  INSERT INTO ledger.postings (organisation_id, environment, transaction_id, debit_account_id, credit_account_id, amount,
                               debit_balance_after, credit_balance_after)
  SELECT organisation, book, transaction_ids[p.movement], account_ids[p.debit], account_ids[p.credit], p.amount, p.debit_after,
         p.credit_after
  FROM (
    SELECT unnest(posting_movements) AS movement, unnest(debits) AS debit, unnest(credits) AS credit, unnest(amounts) AS amount,
           unnest(debit_afters) AS debit_after, unnest(credit_afters) AS credit_after
  ) p;
END
$$;
