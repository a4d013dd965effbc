-- ledger.post_all: a batch of movements that are expected to post, every one of them. It takes what ledger.post takes
-- (migration 0003) and writes the same, all of it or nothing: where a movement would be refused, or was posted before, or a row
-- or a claim was overtaken, it fails and the caller asks ledger.post, which gives each movement an outcome of its own.
--
-- What it gains: everything that does not depend on a balance is written before the accounts are locked, so a hot account is
-- locked for its postings alone; and no key is looked for that the unique constraints refuse anyway.
CREATE FUNCTION ledger.post_all(
  organisation          uuid,
  book                  text,
  account_codes         text[],
  account_kinds         text[],
  transaction_ids       uuid[],
  transaction_keys      text[],
  transaction_kinds     text[],
  transaction_resources text[],
  transaction_reverses  uuid[],
  transaction_times     timestamptz[],
  transaction_rules     text[],
  claim_keys            text[],
  claims                uuid[],
  claim_fingerprints    text[],
  claim_status_codes    integer[],
  claim_responses       text[],
  posting_movements     integer[],
  debits                integer[],
  credits               integer[],
  amounts               bigint[],
  event_movements       integer[],
  event_ids             uuid[],
  event_types           text[],
  event_resources       text[],
  event_documents       text[],
  event_times           timestamptz[],
  message_movements     integer[],
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
  balances_first bigint[];
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
  FROM unnest(transaction_ids, transaction_keys, transaction_kinds, transaction_resources, transaction_reverses, transaction_times)
    AS t (id, key, kind, resource, reverses, effective_at)
  WHERE t.id IS NOT NULL
  ORDER BY t.key;

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
    FROM unnest(event_ids, event_types, event_resources, event_documents, event_times) AS e (id, type, resource, document, created_at);
  END IF;

  IF cardinality(messages) > 0 THEN
    INSERT INTO outbox (organisation_id, environment, topic, message)
    SELECT organisation, book, x.topic, x.message::jsonb FROM unnest(message_topics, messages) AS x (topic, message);
  END IF;

  IF cardinality(claim_keys) > 0 THEN
    -- In key order, so that two batches that meet here do not wait for each other in a circle.
    INSERT INTO idempotency_keys AS i (organisation_id, environment, key, fingerprint, claim, claimed_until, status_code, response)
    SELECT organisation, book, k.key, decode(k.fingerprint, 'base64'), k.claim, now(), k.status_code, k.response
    FROM unnest(claim_keys, claims, claim_fingerprints, claim_status_codes, claim_responses) AS k (key, claim, fingerprint, status_code, response)
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
    FROM unnest(account_codes, account_kinds) AS a (code, kind)
    WHERE a.kind <> 'wallet'
      AND NOT EXISTS (SELECT FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.environment = book AND x.code = a.code)
    ORDER BY a.code
    ON CONFLICT DO NOTHING;
  END IF;

  -- 3. Lock the accounts whose balance is kept, in the order in which they come. One that is not open takes postings up to 0.
  SELECT array_agg(l.id), array_agg(l.balance), array_agg(l.balance_max), array_agg(l.posting_max)
  INTO account_ids, balances, balance_maxes, posting_maxes
  FROM (
    SELECT x.id, x.balance, coalesce(x.balance_max, no_limit) AS balance_max,
           CASE WHEN x.status = 'active' AND x.verified THEN coalesce(x.posting_max, no_limit) ELSE 0 END AS posting_max
    FROM unnest(account_codes, account_kinds) WITH ORDINALITY AS w (code, kind, slot)
    JOIN ledger.accounts x ON x.organisation_id = organisation AND x.environment = book AND x.code = w.code
    WHERE w.kind <> 'shared'
    ORDER BY w.slot
    FOR NO KEY UPDATE OF x
  ) l;
  IF cardinality(account_codes) > coalesce(cardinality(account_ids), 0) THEN
    -- A shared account has no balance. A wallet that does not exist takes no posting.
    SELECT array_agg(x.id ORDER BY w.slot), array_agg(x.balance ORDER BY w.slot),
           array_agg(coalesce(x.balance_max, no_limit) ORDER BY w.slot),
           array_agg(CASE WHEN x.status = 'active' AND x.verified THEN coalesce(x.posting_max, no_limit) ELSE 0 END ORDER BY w.slot)
    INTO account_ids, balances, balance_maxes, posting_maxes
    FROM unnest(account_codes, account_kinds) WITH ORDINALITY AS w (code, kind, slot)
    LEFT JOIN ledger.accounts x ON x.organisation_id = organisation AND x.environment = book AND x.code = w.code;
  END IF;
  balances_first := balances;

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

  -- 5. The postings and the balances they leave.
  INSERT INTO ledger.postings (organisation_id, environment, transaction_id, debit_account_id, credit_account_id, amount,
                               debit_balance_after, credit_balance_after)
  SELECT organisation, book, transaction_ids[p.movement], account_ids[p.debit], account_ids[p.credit], p.amount, p.debit_after,
         p.credit_after
  FROM unnest(posting_movements, debits, credits, amounts, debit_afters, credit_afters)
    WITH ORDINALITY AS p (movement, debit, credit, amount, debit_after, credit_after, slot)
  ORDER BY p.slot;

  UPDATE ledger.accounts a SET balance = n.balance
  FROM unnest(account_ids, balances, balances_first) AS n (id, balance, first)
  WHERE a.organisation_id = organisation AND a.id = n.id AND n.balance <> n.first;
END
$$;
COMMENT ON FUNCTION ledger.post_all IS 'Posts a batch of movements of one book, all or nothing. See src/ledger/journal.ts.';
REVOKE ALL ON FUNCTION ledger.post_all FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.post_all TO manilla_app;

-- A code is checked when its account is opened, by the type of its column, and no longer with each change of a balance:
-- Postgres evaluates all CHECKs of a row that is updated.
CREATE DOMAIN ledger.account_code AS text CHECK (VALUE ~ '^[a-z_]+(:[a-z0-9_]+)+$');
ALTER TABLE ledger.accounts DROP CONSTRAINT accounts_code_check;
ALTER TABLE ledger.accounts ALTER COLUMN code TYPE ledger.account_code;
