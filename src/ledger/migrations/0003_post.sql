-- ledger.post: the one way money moves. A batch of movements goes in and comes back with one outcome each; a movement is
-- a transaction with its postings and everything that must be true together with it (resource rows, events, outbox
-- messages, the idempotency outcome). It is one statement, so a lost connection leaves all of it or nothing.
--
-- A batch is of one book: every table that is read or written here is met by its organisation, so that a distributed
-- database can run the whole of it where the organisation lives.
--
-- It comes as columns: arrays of one length, one slot each, positions counting from 1. An array is read several times
-- faster than the same values in a JSON document, and this function is what a hot account waits for. src/ledger/journal.ts
-- makes them.
--   accounts     what the postings name, by code and kind ('wallet', 'kept', 'shared'); those whose balance is kept come
--                first, in the order in which everybody locks them
--   movements    the transaction of each (null where it has none) and its claim to an Idempotency-Key (the same). One of the
--                rules `credit_exempt` is taken by the credited side though it is frozen or over a limit. The arrays of the
--                claims are empty when no movement has one
--   postings, events, messages
--                each names its movement; postings name their accounts by position
--   resources    rows by table, each with `m`, its movement; written by `ledger.write_<table>`
--
-- It answers the movements that were not posted, and why. No answer: all of them were.
--
-- The plans are made once a connection and look everything up by index: made while a table was small, a plan that reads the
-- whole of it would stay in use while the table grows.
CREATE FUNCTION ledger.post(
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
RETURNS TABLE (movement integer, outcome text, code text, account_code text, detail jsonb)
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
  movement_count integer := cardinality(transaction_ids);
  posting_count  integer := cardinality(amounts);
  -- One slot an account. Without nulls: Postgres then finds an element without walking over those before it.
  account_ids    bigint[];
  balances       bigint[];
  balances_first bigint[];
  statuses       text[];
  verifieds      boolean[];
  balance_maxes  bigint[];
  posting_maxes  bigint[];
  open           boolean[];
  -- One slot a posting.
  debit_afters  bigint[] := array_fill(NULL::bigint, ARRAY[posting_count]);
  credit_afters bigint[] := array_fill(NULL::bigint, ARRAY[posting_count]);
  -- One slot a movement.
  accepted boolean[] := array_fill(true, ARRAY[movement_count]);
  outcomes text[] := array_fill(NULL::text, ARRAY[movement_count]);
  codes    text[] := outcomes;
  culprits text[] := outcomes;
  details  jsonb[] := array_fill(NULL::jsonb, ARRAY[movement_count]);
  all_accepted boolean := true;
  position integer;
  first    integer;
  undo     integer;
  d integer;
  c integer;
  amount bigint;
  refusal text;
  culprit integer;
  why jsonb;
  seen record;
  row_table  text;
  table_rows jsonb;
  written    integer;
BEGIN
  -- 1. Platform accounts come into being with their first posting; a wallet's account is opened with the wallet.
  IF 'kept' = ANY (account_kinds) OR 'shared' = ANY (account_kinds) THEN
    INSERT INTO ledger.accounts (organisation_id, environment, code, balance)
    SELECT organisation, book, a.code, CASE a.kind WHEN 'kept' THEN 0 END
    FROM unnest(account_codes, account_kinds) AS a (code, kind)
    WHERE a.kind <> 'wallet'
      AND NOT EXISTS (SELECT FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.environment = book AND x.code = a.code)
    ORDER BY a.code
    ON CONFLICT DO NOTHING;
  END IF;

  -- 2. Lock the accounts whose balance is kept, in the order in which they come.
  SELECT array_agg(l.id), array_agg(l.balance), array_agg(l.status), array_agg(l.verified), array_agg(l.balance_max),
         array_agg(l.posting_max), array_agg(l.status = 'active' AND l.verified)
  INTO account_ids, balances, statuses, verifieds, balance_maxes, posting_maxes, open
  FROM (
    SELECT x.id, x.balance, x.status, x.verified, coalesce(x.balance_max, no_limit) AS balance_max,
           coalesce(x.posting_max, no_limit) AS posting_max
    FROM unnest(account_codes, account_kinds) WITH ORDINALITY AS w (code, kind, slot)
    JOIN ledger.accounts x ON x.organisation_id = organisation AND x.environment = book AND x.code = w.code
    WHERE w.kind <> 'shared'
    ORDER BY w.slot
    FOR NO KEY UPDATE OF x
  ) l;
  IF cardinality(account_codes) > coalesce(cardinality(account_ids), 0) THEN
    -- Shared accounts are read without a lock and have no balance; a wallet that does not exist has no id. They are not
    -- `open`: step 4 looks at them closely.
    SELECT array_agg(x.id ORDER BY w.slot), array_agg(x.balance ORDER BY w.slot), array_agg(x.status ORDER BY w.slot),
           array_agg(x.verified ORDER BY w.slot), array_agg(coalesce(x.balance_max, no_limit) ORDER BY w.slot),
           array_agg(coalesce(x.posting_max, no_limit) ORDER BY w.slot),
           array_agg(w.kind <> 'shared' AND coalesce(x.status = 'active' AND x.verified, false) ORDER BY w.slot)
    INTO account_ids, balances, statuses, verifieds, balance_maxes, posting_maxes, open
    FROM unnest(account_codes, account_kinds) WITH ORDINALITY AS w (code, kind, slot)
    LEFT JOIN ledger.accounts x ON x.organisation_id = organisation AND x.environment = book AND x.code = w.code;
  END IF;
  balances_first := balances;

  -- 3. What is already there: a business key that was posted, a claim that was lost or has committed.
  FOR seen IN
    SELECT k.slot FROM unnest(transaction_keys) WITH ORDINALITY AS k (key, slot)
    JOIN ledger.transactions t ON t.organisation_id = organisation AND t.environment = book AND t.key = k.key
  LOOP
    accepted[seen.slot] := false;
    outcomes[seen.slot] := 'duplicate';
    all_accepted := false;
  END LOOP;
  IF cardinality(claim_keys) > 0 THEN
    FOR seen IN
      SELECT k.slot, i.claim = k.claim AS ours FROM unnest(claim_keys, claims) WITH ORDINALITY AS k (key, claim, slot)
      JOIN idempotency_keys i ON i.organisation_id = organisation AND i.environment = book AND i.key = k.key
      WHERE i.claim <> k.claim OR i.status_code IS NOT NULL
    LOOP
      IF accepted[seen.slot] THEN
        accepted[seen.slot] := false;
        outcomes[seen.slot] := CASE WHEN seen.ours THEN 'duplicate' ELSE 'refused' END;
        codes[seen.slot] := CASE WHEN NOT seen.ours THEN 'IDEMPOTENCY_IN_PROGRESS' END;
        all_accepted := false;
      END IF;
    END LOOP;
  END IF;

  -- 4. Decide each movement in turn against the balances that the ones before it left.
  position := 1;
  FOR m IN 1..movement_count LOOP
    first := position;
    refusal := NULL;
    WHILE position <= posting_count AND posting_movements[position] = m LOOP
      IF accepted[m] AND refusal IS NULL THEN
        d := debits[position];
        c := credits[position];
        amount := amounts[position];
        IF (open[d] AND open[c] AND amount <= posting_maxes[d] AND amount <= posting_maxes[c]
            AND balances[d] >= amount AND balances[c] + amount <= balance_maxes[c]) IS NOT TRUE THEN
          -- Not two open wallets with nothing in the way: see what it is, in the order in which a caller is told.
          IF account_ids[d] IS NULL THEN refusal := 'WALLET_NOT_FOUND'; culprit := d;
          ELSIF account_ids[c] IS NULL THEN refusal := 'WALLET_NOT_FOUND'; culprit := c;
          ELSE
            IF statuses[d] <> 'active' THEN refusal := 'WALLET_' || upper(statuses[d]); culprit := d;
            ELSIF NOT verifieds[d] THEN refusal := 'WALLET_KYC_REQUIRED'; culprit := d;
            ELSIF amount > posting_maxes[d] THEN
              refusal := 'WALLET_TIER1_LIMIT_EXCEEDED'; culprit := d;
              why := jsonb_build_object('limit', 'transaction', 'limitAmount', posting_maxes[d], 'attemptedAmount', amount);
            ELSIF statuses[c] = 'closed' THEN refusal := 'WALLET_CLOSED'; culprit := c;
            ELSIF transaction_rules[m] = 'enforced' THEN
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
    IF refusal IS NOT NULL THEN
      WHILE undo > first LOOP -- all of a movement or nothing of it
        undo := undo - 1;
        balances[debits[undo]] := balances[debits[undo]] + amounts[undo];
        balances[credits[undo]] := balances[credits[undo]] - amounts[undo];
      END LOOP;
      accepted[m] := false;
      outcomes[m] := 'refused';
      codes[m] := refusal;
      culprits[m] := account_codes[culprit];
      details[m] := why;
      why := NULL;
      all_accepted := false;
    END IF;
  END LOOP;

  -- 5. Write what was accepted, each table once.
  INSERT INTO ledger.transactions (organisation_id, environment, id, key, kind, resource, reverses, effective_at)
  SELECT organisation, book, t.id, t.key, t.kind, t.resource, t.reverses, t.effective_at
  FROM unnest(transaction_ids, transaction_keys, transaction_kinds, transaction_resources, transaction_reverses, transaction_times)
    WITH ORDINALITY AS t (id, key, kind, resource, reverses, effective_at, slot)
  WHERE accepted[t.slot] AND t.id IS NOT NULL
  ORDER BY t.key;

  IF posting_count > 0 THEN
    INSERT INTO ledger.postings (organisation_id, environment, transaction_id, debit_account_id, credit_account_id, amount,
                                 debit_balance_after, credit_balance_after)
    SELECT organisation, book, transaction_ids[p.movement], account_ids[p.debit], account_ids[p.credit], p.amount, p.debit_after,
           p.credit_after
    FROM unnest(posting_movements, debits, credits, amounts, debit_afters, credit_afters)
      WITH ORDINALITY AS p (movement, debit, credit, amount, debit_after, credit_after, slot)
    WHERE accepted[p.movement]
    ORDER BY p.slot;

    UPDATE ledger.accounts a SET balance = n.balance
    FROM unnest(account_ids, balances, balances_first) AS n (id, balance, first)
    WHERE a.organisation_id = organisation AND a.id = n.id AND n.balance <> n.first;
  END IF;

  -- Resource rows, each table by its own `ledger.write_<table>`, which answers how many rows it wrote. A row that was
  -- overtaken is not written: the batch is refused, and the journal tries its halves.
  FOR row_table, table_rows IN SELECT r.key, r.value FROM jsonb_each(resources) AS r LOOP
    IF NOT all_accepted THEN
      SELECT coalesce(jsonb_agg(r), '[]') INTO table_rows FROM jsonb_array_elements(table_rows) AS r WHERE accepted[(r ->> 'm')::integer];
      CONTINUE WHEN table_rows = '[]';
    END IF;
    EXECUTE format('SELECT ledger.%I($1)', 'write_' || row_table) INTO written USING table_rows;
    IF written <> jsonb_array_length(table_rows) THEN
      RAISE EXCEPTION 'a row of % was changed by somebody else', row_table USING ERRCODE = 'ML001';
    END IF;
  END LOOP;

  IF cardinality(event_ids) > 0 THEN
    INSERT INTO events (organisation_id, environment, id, type, resource, data, created_at)
    SELECT organisation, book, e.id, e.type, e.resource, e.document::json, e.created_at
    FROM unnest(event_movements, event_ids, event_types, event_resources, event_documents, event_times)
      AS e (movement, id, type, resource, document, created_at)
    WHERE accepted[e.movement];
  END IF;

  IF cardinality(messages) > 0 THEN
    INSERT INTO outbox (organisation_id, environment, topic, message)
    SELECT organisation, book, x.topic, x.message::jsonb
    FROM unnest(message_movements, message_topics, messages) AS x (movement, topic, message)
    WHERE accepted[x.movement];
  END IF;

  IF cardinality(claim_keys) > 0 THEN
    -- In key order, so that two batches that meet here do not wait for each other in a circle.
    INSERT INTO idempotency_keys AS i (organisation_id, environment, key, fingerprint, claim, claimed_until, status_code, response)
    SELECT organisation, book, k.key, decode(k.fingerprint, 'base64'), k.claim, now(), k.status_code, k.response
    FROM unnest(claim_keys, claims, claim_fingerprints, claim_status_codes, claim_responses)
      WITH ORDINALITY AS k (key, claim, fingerprint, status_code, response, slot)
    WHERE accepted[k.slot] AND k.key IS NOT NULL
    ORDER BY k.key
    ON CONFLICT (organisation_id, environment, key) DO UPDATE SET status_code = excluded.status_code, response = excluded.response
    WHERE i.claim = excluded.claim AND i.status_code IS NULL;
    GET DIAGNOSTICS written = ROW_COUNT;
    IF written <> (SELECT count(*) FROM unnest(claim_keys) WITH ORDINALITY AS k (key, slot) WHERE accepted[k.slot] AND k.key IS NOT NULL) THEN
      RAISE EXCEPTION 'a claim was taken over' USING ERRCODE = 'ML001';
    END IF;
  END IF;

  IF NOT all_accepted THEN
    RETURN QUERY
    SELECT o.slot::integer, o.outcome, o.code, o.culprit, o.detail
    FROM unnest(outcomes, codes, culprits, details) WITH ORDINALITY AS o (outcome, code, culprit, detail, slot)
    WHERE o.outcome IS NOT NULL;
  END IF;
END
$$;
COMMENT ON FUNCTION ledger.post IS 'Posts a batch of movements of one book, each whole or not at all. See src/ledger/journal.ts.';
REVOKE ALL ON FUNCTION ledger.post FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.post TO manilla_app;
