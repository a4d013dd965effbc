-- version 13
-- ledger.post: the only function that moves money. It takes a batch of movements and returns a row, with the reason,
-- for each movement that was not posted; no rows mean that all were posted. A movement is a transaction with its
-- postings and everything that is committed with it (resource rows, events, outbox messages, the idempotency outcome).
-- A call is one statement: after a lost connection either all of it was written or nothing.
--
-- A batch belongs to one book: every table is accessed by organisation, so that a distributed database can run the
-- whole call on the node of the organisation. The batch is passed as columns: arrays of equal length, with positions
-- counting from 1 (built by src/ledger/batch.ts).
--   accounts     the accounts in the postings, by code, in the order in which every caller locks them. `account_kinds`
--                ('wallet', 'stored_balance', 'derived_balance') is read only for an account that does not exist yet;
--                whether an existing account has a stored balance, and so is locked, is decided by its row.
--                `account_changes` is the net change of each account in the batch (credits less debits), and
--                `account_entries` how many of its postings name it: they save adding up the postings here, and the
--                results are compared with them
--   movements    the transaction of each (null if it has none) and the outcome of its Idempotency-Key (likewise).
--                Under the rules `credit_exempt` the credited account may be frozen, unverified or over a limit, and
--                under `exempt` the debited one too. `resolved_keys` and `reversed_keys` are the business keys of the
--                hold that a transaction resolves and of the transaction that it reverses (step 0). These two, and the
--                arrays of the outcomes, are empty when no movement has one
--   postings     in the order of their movements; accounts are given by position
--   events, messages
--                each with the position of its movement
--   resources    rows by table, each with the position of its movement as `m`; written by ledger.write_rows
--
-- Algorithm: optimistic, because most batches post completely. Everything that does not depend on a balance is written
-- first. Then the balances are updated, which locks the accounts, and each posting is checked against the balances that
-- the postings before it leave. When a movement is refused, or was posted before, all writes are rolled back (the block
-- is a subtransaction) and the batch is written again without that movement. Each pass decides the refused movements
-- again, so the returned reasons are those of the committed pass: all of its decisions were made on locked balances.
-- Without concurrent changes the second pass is the last.
--
-- Numbers: the entries of an account with a stored balance are numbered 1, 2, 3 … under its lock, so their order is
-- that of the books, whichever node wrote them and whatever its clock said. The row of the account has the last number,
-- which a deleted entry no longer has (`ledger verify`). Accounts with a derived balance have no lock, and so no
-- numbers. The id of a posting is the microsecond at which it was posted, counted on within a statement: it tells the
-- postings of a transaction apart and orders them, and it orders the entries of accounts that have no numbers.
--
-- Lock order, the same for all callers: keys and rows, new accounts by code, existing accounts by slot. Two statements
-- that lock the same accounts in different orders deadlock, so the order must not depend on the query plan, which
-- depends on the statistics at planning time and stays cached. Step 3 therefore allows a single plan: a look-up in the
-- hash index of codes for each code of the list in turn. Sequential scans, hash joins and merge joins are disabled.
-- Organisation and environment are columns of the list and compared with IS TRUE, which no index supports: as constants
-- they would allow a plan that starts from ledger.accounts. The codes are compared under the collation of the hash
-- index: the unique index has another one, and could otherwise be scanned from end to end.
--
-- On Citus a statement is routed by the organisation, and planned anew for each call, unless it reads or writes one
-- table by the organisation and is neither joined nor nested: then its plan is kept. So there the accounts are locked
-- first, after a sort by their place in the list, whatever the plan, and the UPDATE may find them in any order. Here it
-- would cost a tenth of the statement.
DROP FUNCTION IF EXISTS ledger.post; -- its arguments differ between versions
CREATE FUNCTION ledger.post(
  organisation          uuid,
  book                  text,
  account_codes         text[],
  account_kinds         text[],
  transaction_ids       uuid[],
  transaction_keys      text[],
  transaction_kinds     text[],
  transaction_resources text[],
  resolved_keys         text[],
  reversed_keys         text[],
  transaction_times     timestamptz[],
  transaction_rules     text[],
  outcome_keys          text[],
  outcome_attempts      uuid[],
  outcome_fingerprints  text[],
  outcome_status_codes  integer[],
  outcome_responses     text[],
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
  resources             jsonb,
  account_changes       bigint[] DEFAULT NULL,
  account_entries       integer[] DEFAULT NULL,
  outcome_texts         text DEFAULT NULL,
  event_texts           text DEFAULT NULL,
  message_texts         text DEFAULT NULL,
  resource_text         text DEFAULT NULL
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
  balance_limit CONSTANT bigint := 9007199254740991; -- as the CHECK of ledger.accounts.balance
  no_limit      CONSTANT bigint := 9223372036854775807;
  account_count  integer := cardinality(account_codes);
  posting_count  integer := cardinality(amounts);
  changes        bigint[] := account_changes;
  entries        integer[] := account_entries;
  -- One element per account. Without nulls, Postgres accesses an array element without scanning those before it.
  slots          integer[];
  account_ids    bigint[];
  balances       bigint[];
  balances_first bigint[];
  balances_last  bigint[];
  balance_maxes  bigint[];
  posting_maxes  bigint[];
  numbers        bigint[]; -- of the last entry; NULL for a derived balance
  numbers_first  bigint[];
  numbers_last   bigint[];
  -- One element per posting.
  debit_afters   bigint[];
  credit_afters  bigint[];
  debit_numbers  bigint[];
  credit_numbers bigint[];
  -- One element per movement; NULL while no transaction resolves or reverses another.
  resolved_ids uuid[];
  reversed_ids uuid[];
  -- One element per movement. `written`: expected to post, so written in this pass; NULL while all are. `known`: found
  -- to exist already. `accepted`: the decisions of this pass.
  written  boolean[];
  known    boolean[];
  accepted boolean[];
  outcomes text[];
  codes    text[];
  failing_accounts text[];
  details  jsonb[];
  pass     integer;
  in_front integer;
  unlocked boolean;
  obstacle boolean;
  m        integer;
  first    integer;
  d        integer;
  c        integer;
  amount   bigint;
  refused  boolean;
  refusal  text;
  failing_account  integer;
  refusal_detail      jsonb;
  payer    record;
  payee    record;
  seen     record;
  named    record;
  new_outcomes     boolean;
  same_postings    boolean;
  posted_at        timestamptz;
  closed_until     timestamptz;
  first_id         bigint;
  existing         text[];
  creates_all      boolean := false;
  is_missing       boolean;
  delivers_events  boolean;
  row_table  text;
  table_rows jsonb;
  row_count  integer;
BEGIN
  -- The documents as they were sent: each list in one text, after the separator of src/ledger/batch.ts. Split here and
  -- not in the call: Citus sends the values of the arguments on to the node of the organisation, and in an array each
  -- of the many quotes of a document would be escaped twice.
  IF event_texts IS NOT NULL THEN
    outcome_responses := string_to_array(outcome_texts, E'\x1f', '');
    event_documents := string_to_array(event_texts, E'\x1f', '');
    messages := string_to_array(message_texts, E'\x1f', '');
    resources := resource_text::jsonb;
  END IF;
  IF book NOT IN ('test', 'live') THEN RAISE EXCEPTION 'unknown environment: %', book USING ERRCODE = 'check_violation'; END IF;

  -- 0. A hold is resolved once, and a transaction is reversed once: by debiting what the other one credited, account by
  -- account. A reversal credits what was debited: the accounts that the other transaction debited, or those of the hold
  -- that it resolves. Money of a reserve returns to the account that funded the reserve, and money whose account was
  -- closed goes to suspense. `once` is enforced by the unique index resolved_or_reversed_once.
  -- What is refused here is named at the end of its message: Citus forwards no CONSTRAINT.
  -- What leaves transit must name its hold: otherwise a hold could be returned after a completion that does not name
  -- it.
  IF strpos(array_to_string(account_codes, ' '), 'in_transit:') > 0 THEN
    IF EXISTS (
      SELECT FROM (SELECT unnest(posting_movements) AS movement, unnest(debits) AS debit) p
      WHERE p.debit = ANY (ARRAY(
        SELECT a.slot FROM (SELECT unnest(account_codes) AS code, generate_series(1, account_count) AS slot) a WHERE starts_with(a.code, 'in_transit:')
      )) AND coalesce(resolved_keys[p.movement], reversed_keys[p.movement]) IS NULL
    ) THEN
      RAISE EXCEPTION 'a movement takes money from transit and names no hold ("transit_names_hold")' USING ERRCODE = 'check_violation', CONSTRAINT = 'transit_names_hold';
    END IF;
  END IF;
  IF cardinality(resolved_keys) > 0 THEN
    resolved_ids := array_fill(NULL::uuid, ARRAY[cardinality(transaction_ids)]);
    reversed_ids := resolved_ids;
    FOR named IN
      SELECT k.slot, k.key, k.is_reversal, t.id, coalesce(t.resolves, t.id) AS origin
      FROM (
        SELECT generate_series(1, cardinality(resolved_keys)) AS slot, unnest(resolved_keys) AS key, false AS is_reversal
        UNION ALL
        SELECT generate_series(1, cardinality(reversed_keys)), unnest(reversed_keys), true
      ) k
      LEFT JOIN LATERAL (
        SELECT x.id, x.resolves FROM ledger.transactions x
        WHERE x.organisation_id = organisation AND x.environment = book AND x.key = k.key OFFSET 0
      ) t ON true
      WHERE k.key IS NOT NULL
    LOOP
      IF named.id IS NULL THEN
        RAISE EXCEPTION 'transaction % does not exist in this book ("named_transaction_exists")', named.key USING ERRCODE = 'check_violation', CONSTRAINT = 'named_transaction_exists';
      END IF;
      IF named.is_reversal THEN reversed_ids[named.slot] := named.id; ELSE resolved_ids[named.slot] := named.id; END IF;
      IF (
        SELECT jsonb_object_agg(a.code, a.amount) FROM (
          SELECT account_codes[p.debit] AS code, sum(p.amount) AS amount
          FROM (SELECT unnest(posting_movements) AS movement, unnest(debits) AS debit, unnest(amounts) AS amount) p
          WHERE p.movement = named.slot GROUP BY 1
        ) a
      ) IS DISTINCT FROM (
        SELECT jsonb_object_agg(a.code, a.amount) FROM (
          SELECT x.code, sum(p.amount) AS amount
          FROM ledger.postings p JOIN ledger.accounts x ON x.organisation_id = organisation AND x.id = p.credit_account_id
          WHERE p.organisation_id = organisation AND p.transaction_id = named.id GROUP BY 1
        ) a
      ) OR (named.is_reversal AND EXISTS (
        SELECT FROM (SELECT unnest(posting_movements) AS movement, unnest(credits) AS credit) p
        WHERE p.movement = named.slot AND account_codes[p.credit] NOT LIKE 'suspense:%' AND account_codes[p.credit] NOT IN (
          SELECT coalesce(funding.code, x.code)
          FROM ledger.postings o JOIN ledger.accounts x ON x.organisation_id = organisation AND x.id = o.debit_account_id
          LEFT JOIN LATERAL (
            SELECT y.code
            FROM (SELECT f.debit_account_id FROM ledger.postings f WHERE f.organisation_id = organisation AND f.credit_account_id BETWEEN x.id AND x.id ORDER BY f.credit_account_id, coalesce(f.credit_number, f.id) LIMIT 1) f
            JOIN ledger.accounts y ON y.organisation_id = organisation AND y.id = f.debit_account_id
          ) funding ON x.code LIKE 'reserve:%'
          WHERE o.organisation_id = organisation AND o.transaction_id = named.origin
        )
      )) THEN
        RAISE EXCEPTION 'the postings are not the mirror of those of % ("mirrors_named_transaction")', named.key USING ERRCODE = 'check_violation', CONSTRAINT = 'mirrors_named_transaction';
      END IF;
    END LOOP;
  END IF;

  <<passes>>
  LOOP
    BEGIN
      -- 1. Everything that does not depend on a balance, one INSERT per table. Parallel arrays are unnested in the
      -- SELECT list: in FROM each would be materialised first.
      INSERT INTO ledger.transactions (organisation_id, environment, id, key, kind, resource, resolves, reverses, effective_at)
      SELECT organisation, book, t.id, t.key, t.kind, t.resource, t.resolves, t.reverses, t.effective_at
      FROM (
        SELECT unnest(transaction_ids) AS id, unnest(transaction_keys) AS key, unnest(transaction_kinds) AS kind,
               unnest(transaction_resources) AS resource, unnest(resolved_ids) AS resolves, unnest(reversed_ids) AS reverses,
               unnest(transaction_times) AS effective_at, unnest(written) AS is_written
      ) t
      WHERE t.id IS NOT NULL AND t.is_written IS NOT FALSE;

      IF resources <> '{}' THEN
        FOR row_table, table_rows IN SELECT r.key, r.value FROM jsonb_each(resources) AS r LOOP
          IF written IS NOT NULL THEN
            SELECT coalesce(jsonb_agg(r), '[]') INTO table_rows FROM jsonb_array_elements(table_rows) AS r WHERE written[(r ->> 'm')::integer];
            CONTINUE WHEN table_rows = '[]';
          END IF;
          row_count := ledger.write_rows(row_table, table_rows);
          IF row_count <> jsonb_array_length(table_rows) THEN
            RAISE EXCEPTION 'a row of % was changed by another writer', row_table USING ERRCODE = 'ML001';
          END IF;
        END LOOP;
      END IF;

      IF cardinality(event_ids) > 0 THEN
        INSERT INTO events (organisation_id, environment, id, type, resource, data, created_at)
        SELECT organisation, book, e.id, e.type, e.resource, e.document::json, e.created_at
        FROM (
          SELECT unnest(event_movements) AS movement, unnest(event_ids) AS id, unnest(event_types) AS type,
                 unnest(event_resources) AS resource, unnest(event_documents) AS document, unnest(event_times) AS created_at
        ) e
        WHERE written[e.movement] IS NOT FALSE;
      END IF;

      IF cardinality(messages) > 0 THEN
        -- An event is delivered to the endpoints of its book: without one there is nothing to deliver.
        PERFORM FROM webhook_endpoints w
        WHERE w.organisation_id = organisation AND w.environment = book AND w.deleted_at IS NULL LIMIT 1;
        delivers_events := FOUND;
        INSERT INTO outbox (organisation_id, environment, topic, message)
        SELECT organisation, book, x.topic, x.message::jsonb
        FROM (SELECT unnest(message_movements) AS movement, unnest(message_topics) AS topic, unnest(messages) AS message) x
        WHERE written[x.movement] IS NOT FALSE AND (delivers_events OR x.topic <> 'event');
      END IF;

      IF cardinality(outcome_keys) > 0 THEN
        -- In key order, so that two batches with common keys do not deadlock.
        INSERT INTO idempotency_keys (organisation_id, environment, key, fingerprint, attempt, status_code, response)
        SELECT organisation, book, k.key, decode(k.fingerprint, 'base64'), k.attempt, k.status_code, k.response
        FROM (
          SELECT unnest(outcome_keys) AS key, unnest(outcome_attempts) AS attempt, unnest(outcome_fingerprints) AS fingerprint,
                 unnest(outcome_status_codes) AS status_code, unnest(outcome_responses) AS response, unnest(written) AS is_written
        ) k
        WHERE k.key IS NOT NULL AND k.is_written IS NOT FALSE
        ORDER BY k.key;
      END IF;

      EXIT passes WHEN posting_count = 0;

      -- 2. Accounts of the platform are created by their first posting; the account of a wallet is opened with the
      -- wallet. Those with a stored balance are often new, as a payout's reserve. Those with a derived balance nearly
      -- always exist: they are created in another pass, when step 3 misses one.
      IF 'stored_balance' = ANY (account_kinds) OR creates_all THEN
        SELECT array_agg(a.code) INTO existing
        FROM (SELECT unnest(account_codes) AS code, unnest(account_kinds) AS kind) a
        CROSS JOIN LATERAL (
          SELECT FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.environment = book AND x.code = a.code COLLATE "C" OFFSET 0
        ) x
        WHERE a.kind <> 'wallet';
        IF coalesce(cardinality(existing), 0) + cardinality(array_positions(account_kinds, 'wallet')) < account_count THEN
          INSERT INTO ledger.accounts (organisation_id, environment, code, balance)
          SELECT organisation, book, a.code, CASE a.kind WHEN 'stored_balance' THEN 0 END
          FROM (SELECT unnest(account_codes) AS code, unnest(account_kinds) AS kind) a
          WHERE a.kind <> 'wallet' AND a.code <> ALL (coalesce(existing, '{}'))
          ORDER BY a.code
          ON CONFLICT DO NOTHING;
        END IF;
      END IF;

      -- 3. Each account with a stored balance is updated by its net change, in the order of the list (see above). This
      -- finds, locks and writes it at once; step 4 checks the postings against the balance before the update. An
      -- account for which the net change is not allowed is not updated: step 4 finds the posting that causes it.
      IF changes IS NULL OR entries IS NULL THEN
        changes := array_fill(0::bigint, ARRAY[account_count]);
        entries := array_fill(0, ARRAY[account_count]);
        FOR position IN 1..posting_count LOOP
          IF written[posting_movements[position]] IS NOT FALSE THEN
            d := debits[position];
            c := credits[position];
            changes[d] := changes[d] - amounts[position];
            changes[c] := changes[c] + amounts[position];
            entries[d] := entries[d] + 1;
            entries[c] := entries[c] + 1;
          END IF;
        END LOOP;
      END IF;
      IF ledger.is_distributed() THEN
        slots := NULL; -- these are appended to
        account_ids := NULL;
        balances := NULL;
        balances_last := NULL;
        balance_maxes := NULL;
        posting_maxes := NULL;
        numbers := NULL;
        numbers_last := NULL;
        FOR named IN
          SELECT x.id, x.code, x.status, x.balance, x.last_number, least(x.balance_max, balance_limit) AS balance_max,
                 CASE WHEN x.status = 'active' AND x.verified THEN coalesce(x.posting_max, no_limit) ELSE 0 END AS posting_max
          FROM ledger.accounts x
          WHERE x.organisation_id = organisation AND x.environment = book AND x.code = ANY (account_codes) AND x.balance IS NOT NULL
          ORDER BY array_position(account_codes, x.code) FOR NO KEY UPDATE
        LOOP
          d := array_position(account_codes, named.code);
          CONTINUE WHEN named.balance + changes[d] NOT BETWEEN 0 AND balance_limit OR (changes[d] <> 0 AND named.status = 'closed') OR entries[d] < 0;
          slots := slots || d;
          account_ids := account_ids || named.id;
          balances := balances || named.balance;
          balances_last := balances_last || named.balance + changes[d];
          balance_maxes := balance_maxes || named.balance_max;
          posting_maxes := posting_maxes || named.posting_max;
          numbers := numbers || named.last_number;
          numbers_last := numbers_last || named.last_number + entries[d];
        END LOOP;
        UPDATE ledger.accounts x -- coalesce: Citus 14.0 crashes when an element of an array alone is assigned
        SET balance = coalesce(balances_last[array_position(account_ids, x.id)], x.balance),
            last_number = coalesce(numbers_last[array_position(account_ids, x.id)], x.last_number)
        WHERE x.organisation_id = organisation AND x.id = ANY (account_ids);
      ELSE
        WITH moved AS (
          UPDATE ledger.accounts x SET balance = x.balance + w.change, last_number = x.last_number + w.entries
          FROM (
            SELECT organisation AS organisation_id, book AS environment, unnest(account_codes) AS code, unnest(changes) AS change,
                   unnest(entries) AS entries, generate_series(1, account_count) AS slot
          ) w
          WHERE x.code = w.code COLLATE "C" AND (x.organisation_id = w.organisation_id) IS TRUE AND (x.environment = w.environment) IS TRUE
            AND x.balance + w.change BETWEEN 0 AND balance_limit AND (w.change = 0 OR x.status <> 'closed') AND w.entries >= 0
          RETURNING w.slot, x.id, x.balance - w.change AS balance_first, x.balance AS balance_last,
                    x.last_number - w.entries AS number_first, x.last_number AS number_last,
                    least(x.balance_max, balance_limit) AS balance_max,
                    CASE WHEN x.status = 'active' AND x.verified THEN coalesce(x.posting_max, no_limit) ELSE 0 END AS posting_max
        )
        SELECT array_agg(a.slot), array_agg(a.id), array_agg(a.balance_first), array_agg(a.balance_last), array_agg(a.balance_max),
               array_agg(a.posting_max), array_agg(a.number_first), array_agg(a.number_last)
        INTO slots, account_ids, balances, balances_last, balance_maxes, posting_maxes, numbers, numbers_last
        FROM (SELECT * FROM moved ORDER BY slot) a;
      END IF;
      -- Read while the accounts are locked: so the entries of an account have the order of their times, and a balance
      -- as of a time is the balance after the last entry up to then. No posting is dated into a closed day, whatever
      -- the clock says. The lock of step 1 on ledger.transactions is held by now: the closing of a day waits for it
      -- (settle_day in accounting.sql).
      SELECT x.ends_at INTO closed_until FROM ledger.closed_days x
      WHERE x.organisation_id = organisation AND x.environment = book ORDER BY x.day DESC LIMIT 1;
      posted_at := greatest(clock_timestamp(), closed_until);
      first_id := ledger.posting_id(posted_at);
      IF account_count > coalesce(cardinality(slots), 0) THEN
        -- Accounts that were not updated: those with a derived balance, whose balance is NULL and which are never
        -- locked; a wallet that does not exist, which has no id and accepts no posting; and accounts that cannot take
        -- the net change. They are usually the last ones of the list.
        in_front := coalesce(cardinality(slots), 0);
        IF in_front > 0 AND slots[in_front] <> in_front THEN in_front := 0; END IF;
        SELECT slots || array_agg(r.slot), account_ids || array_agg(r.id), balances || array_agg(r.balance),
               balances_last || array_agg(r.balance), balance_maxes || array_agg(r.balance_max), posting_maxes || array_agg(r.posting_max),
               numbers || array_agg(r.last_number), numbers_last || array_agg(r.last_number), bool_or(r.balance IS NOT NULL),
               bool_or(r.id IS NULL AND account_kinds[r.slot] <> 'wallet')
        INTO slots, account_ids, balances, balances_last, balance_maxes, posting_maxes, numbers, numbers_last, unlocked, is_missing
        FROM (
          SELECT w.slot, x.id, x.balance, CASE WHEN x.balance IS NOT NULL THEN x.last_number END AS last_number,
                 least(x.balance_max, balance_limit) AS balance_max,
                 CASE WHEN x.status = 'active' AND x.verified THEN coalesce(x.posting_max, no_limit) ELSE 0 END AS posting_max
          FROM (SELECT unnest(account_codes[in_front + 1:]) AS code, generate_series(in_front + 1, account_count) AS slot) w
          LEFT JOIN LATERAL (
            SELECT * FROM ledger.accounts a WHERE a.organisation_id = organisation AND a.environment = book AND a.code = w.code COLLATE "C" OFFSET 0
          ) x ON true
          WHERE in_front > 0 OR slots IS NULL OR w.slot <> ALL (slots)
          ORDER BY w.slot
        ) r;
        IF is_missing THEN RAISE EXCEPTION 'an account of the platform does not exist yet' USING ERRCODE = 'ML005'; END IF;
        IF in_front = 0 THEN
          SELECT array_agg(a.id ORDER BY a.slot), array_agg(a.balance ORDER BY a.slot), array_agg(a.balance_last ORDER BY a.slot),
                 array_agg(a.balance_max ORDER BY a.slot), array_agg(a.posting_max ORDER BY a.slot),
                 array_agg(a.number ORDER BY a.slot), array_agg(a.number_last ORDER BY a.slot)
          INTO account_ids, balances, balances_last, balance_maxes, posting_maxes, numbers, numbers_last
          FROM unnest(slots, account_ids, balances, balances_last, balance_maxes, posting_maxes, numbers, numbers_last)
            AS a (slot, id, balance, balance_last, balance_max, posting_max, number, number_last);
        END IF;
      END IF;

      -- 4. Each posting in turn is checked against the balances that the postings before it leave. A derived balance is
      -- NULL, which passes every check. The first loop assumes that everything that was written can be posted, the
      -- usual case.
      debit_afters := array_fill(NULL::bigint, ARRAY[posting_count]);
      credit_afters := debit_afters;
      debit_numbers := debit_afters;
      credit_numbers := debit_afters;
      obstacle := written IS NOT NULL;
      IF NOT obstacle THEN
        balances_first := balances;
        numbers_first := numbers;
        FOR position IN 1..posting_count LOOP
          d := debits[position];
          c := credits[position];
          amount := amounts[position];
          IF amount > posting_maxes[d] OR amount > posting_maxes[c] OR balances[d] < amount OR balances[c] + amount > balance_maxes[c]
             OR posting_movements[position] < posting_movements[position - 1] THEN
            obstacle := true;
            balances := balances_first;
            numbers := numbers_first;
            EXIT;
          END IF;
          balances[d] := balances[d] - amount;
          balances[c] := balances[c] + amount;
          debit_afters[position] := balances[d];
          credit_afters[position] := balances[c];
          numbers[d] := numbers[d] + 1;
          numbers[c] := numbers[c] + 1;
          debit_numbers[position] := numbers[d];
          credit_numbers[position] := numbers[c];
        END LOOP;
      END IF;
      IF obstacle THEN
        -- Otherwise movement by movement: when a posting is refused, the earlier postings of its movement are undone.
        IF known IS NULL THEN
          known := array_fill(false, ARRAY[cardinality(transaction_ids)]);
          written := array_fill(true, ARRAY[cardinality(transaction_ids)]);
        END IF;
        accepted := written;
        m := 0;
        FOR position IN 1..posting_count LOOP
          IF posting_movements[position] <> m THEN
            IF posting_movements[position] < m THEN
              RAISE EXCEPTION 'the postings of a batch must come in the order of their movements' USING ERRCODE = 'ML004';
            END IF;
            m := posting_movements[position];
            first := position;
            refused := known[m];
            accepted[m] := NOT refused;
          END IF;
          CONTINUE WHEN refused;
          d := debits[position];
          c := credits[position];
          amount := amounts[position];
          IF amount > posting_maxes[d] OR amount > posting_maxes[c] OR balances[d] < amount OR balances[c] + amount > balance_maxes[c] THEN
            -- Find the reason, in the order of precedence of the refusal codes.
            refusal := NULL;
            refusal_detail := NULL;
            SELECT x.status, x.verified, coalesce(x.posting_max, no_limit) AS posting_max INTO payer
            FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.id = account_ids[d];
            SELECT x.status, x.verified, coalesce(x.posting_max, no_limit) AS posting_max INTO payee
            FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.id = account_ids[c];
            IF account_ids[d] IS NULL THEN refusal := 'WALLET_NOT_FOUND'; failing_account := d;
            ELSIF account_ids[c] IS NULL THEN refusal := 'WALLET_NOT_FOUND'; failing_account := c;
            ELSIF payer.status = 'closed' OR (payer.status <> 'active' AND transaction_rules[m] <> 'exempt') THEN refusal := 'WALLET_' || upper(payer.status); failing_account := d;
            ELSIF NOT payer.verified AND transaction_rules[m] <> 'exempt' THEN refusal := 'WALLET_KYC_REQUIRED'; failing_account := d;
            ELSIF amount > payer.posting_max AND transaction_rules[m] <> 'exempt' THEN
              refusal := 'WALLET_TIER1_LIMIT_EXCEEDED'; failing_account := d;
              refusal_detail := jsonb_build_object('limit', 'transaction', 'limitAmount', payer.posting_max, 'attemptedAmount', amount);
            ELSIF payee.status = 'closed' THEN refusal := 'WALLET_CLOSED'; failing_account := c;
            ELSIF transaction_rules[m] = 'enforced' AND payee.status <> 'active' THEN refusal := 'WALLET_' || upper(payee.status); failing_account := c;
            ELSIF transaction_rules[m] = 'enforced' AND NOT payee.verified THEN refusal := 'WALLET_KYC_REQUIRED'; failing_account := c;
            ELSIF transaction_rules[m] = 'enforced' AND amount > payee.posting_max THEN
              refusal := 'WALLET_TIER1_LIMIT_EXCEEDED'; failing_account := c;
              refusal_detail := jsonb_build_object('limit', 'transaction', 'limitAmount', payee.posting_max, 'attemptedAmount', amount);
            ELSIF balances[c] + amount > (CASE transaction_rules[m] WHEN 'enforced' THEN balance_maxes[c] ELSE balance_limit END) THEN
              refusal := 'WALLET_TIER1_LIMIT_EXCEEDED'; failing_account := c;
              refusal_detail := jsonb_build_object('limit', 'balance', 'limitAmount', least(balance_maxes[c], balance_limit), 'attemptedAmount', balances[c] + amount);
            ELSIF balances[d] < amount THEN
              refusal := 'WALLET_INSUFFICIENT_FUNDS'; failing_account := d;
              refusal_detail := jsonb_build_object('attemptedAmount', amount);
            END IF;
            IF refusal IS NOT NULL THEN
              FOR undone IN REVERSE position - 1..first LOOP -- a movement is atomic
                balances[debits[undone]] := balances[debits[undone]] + amounts[undone];
                balances[credits[undone]] := balances[credits[undone]] - amounts[undone];
                numbers[debits[undone]] := numbers[debits[undone]] - 1;
                numbers[credits[undone]] := numbers[credits[undone]] - 1;
              END LOOP;
              refused := true;
              accepted[m] := false;
              outcomes[m] := 'refused';
              codes[m] := refusal;
              failing_accounts[m] := account_codes[failing_account];
              details[m] := refusal_detail;
              CONTINUE;
            END IF;
          END IF;
          balances[d] := balances[d] - amount;
          balances[c] := balances[c] + amount;
          debit_afters[position] := balances[d];
          credit_afters[position] := balances[c];
          numbers[d] := numbers[d] + 1;
          numbers[c] := numbers[c] + 1;
          debit_numbers[position] := numbers[d];
          credit_numbers[position] := numbers[c];
        END LOOP;
      END IF;
      IF accepted <> written OR unlocked OR balances <> balances_last OR numbers <> numbers_last THEN
        RAISE EXCEPTION 'the decisions differ from those that were written' USING ERRCODE = 'ML003';
      END IF;

      -- 5. The postings, in their order, which is that of their ids.
      INSERT INTO ledger.postings (organisation_id, environment, id, transaction_id, debit_account_id, credit_account_id, amount,
                                   debit_balance_after, credit_balance_after, debit_number, credit_number, created_at)
      SELECT organisation, book, p.id, transaction_ids[p.movement], account_ids[p.debit], account_ids[p.credit], p.amount,
             p.debit_after, p.credit_after, p.debit_number, p.credit_number, posted_at
      FROM (
        SELECT generate_series(first_id, first_id + posting_count - 1) AS id, unnest(posting_movements) AS movement,
               unnest(debits) AS debit, unnest(credits) AS credit, unnest(amounts) AS amount, unnest(debit_afters) AS debit_after,
               unnest(credit_afters) AS credit_after, unnest(debit_numbers) AS debit_number, unnest(credit_numbers) AS credit_number
      ) p
      WHERE written[p.movement] IS NOT FALSE;
      EXIT passes;
    EXCEPTION
      WHEN SQLSTATE 'ML003' THEN
        written := coalesce(accepted, written);
      WHEN SQLSTATE 'ML005' THEN
        creates_all := true;
      WHEN unique_violation OR SQLSTATE 'ML001' THEN
        IF known IS NULL THEN
          known := array_fill(false, ARRAY[cardinality(transaction_ids)]);
          written := array_fill(true, ARRAY[cardinality(transaction_ids)]);
        END IF;
        -- Find what exists already: a business key that was posted, an Idempotency-Key that an attempt has
        -- committed. LATERAL with OFFSET 0 forces one look-up per key.
        new_outcomes := false;
        FOR seen IN
          SELECT k.slot, t.id
          FROM (SELECT unnest(transaction_keys) AS key, generate_series(1, cardinality(transaction_ids)) AS slot) k
          CROSS JOIN LATERAL (
            SELECT x.id FROM ledger.transactions x WHERE x.organisation_id = organisation AND x.environment = book AND x.key = k.key OFFSET 0
          ) t
        LOOP
          CONTINUE WHEN known[seen.slot];
          new_outcomes := true;
          known[seen.slot] := true;
          codes[seen.slot] := NULL;
          failing_accounts[seen.slot] := NULL;
          details[seen.slot] := NULL;
          -- The same key must have the same postings, in any order. (A plain variable: Citus cannot run an assignment
          -- to an element that reads a table.)
          same_postings := (
            SELECT array_agg(concat_ws(' ', debit.code, credit.code, p.amount) ORDER BY concat_ws(' ', debit.code, credit.code, p.amount))
            FROM ledger.postings p
            CROSS JOIN LATERAL (SELECT x.code FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.id = p.debit_account_id OFFSET 0) debit
            CROSS JOIN LATERAL (SELECT x.code FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.id = p.credit_account_id OFFSET 0) credit
            WHERE p.organisation_id = organisation AND p.transaction_id = seen.id
          ) IS NOT DISTINCT FROM (
            SELECT array_agg(concat_ws(' ', account_codes[p.debit], account_codes[p.credit], p.amount)
                             ORDER BY concat_ws(' ', account_codes[p.debit], account_codes[p.credit], p.amount))
            FROM (
              SELECT unnest(posting_movements) AS movement, unnest(debits) AS debit, unnest(credits) AS credit, unnest(amounts) AS amount
            ) p
            WHERE p.movement = seen.slot
          );
          outcomes[seen.slot] := CASE WHEN same_postings THEN 'duplicate' ELSE 'duplicate_differs' END;
        END LOOP;
        IF cardinality(outcome_keys) > 0 THEN
          FOR seen IN
            SELECT k.slot, i.attempt = k.attempt AS ours
            FROM (SELECT unnest(outcome_keys) AS key, unnest(outcome_attempts) AS attempt, generate_series(1, cardinality(transaction_ids)) AS slot) k
            CROSS JOIN LATERAL (
              SELECT x.attempt FROM idempotency_keys x
              WHERE x.organisation_id = organisation AND x.environment = book AND x.key = k.key OFFSET 0
            ) i
          LOOP
            CONTINUE WHEN known[seen.slot];
            new_outcomes := true;
            known[seen.slot] := true;
            outcomes[seen.slot] := CASE WHEN seen.ours THEN 'duplicate' ELSE 'refused' END;
            codes[seen.slot] := CASE WHEN NOT seen.ours THEN 'IDEMPOTENCY_IN_PROGRESS' END;
            failing_accounts[seen.slot] := NULL;
            details[seen.slot] := NULL;
          END LOOP;
        END IF;
        -- Any other cause fails the statement; the journal then splits the batch in halves to find it.
        IF NOT new_outcomes THEN RAISE; END IF;
        FOR slot IN 1..cardinality(transaction_ids) LOOP
          written[slot] := written[slot] AND NOT known[slot];
        END LOOP;
    END;
    -- Write the batch again, without the movements that are not posted. When concurrent statements change the balances
    -- in between, another pass decides again; after ten passes the call fails, and the journal retries it.
    changes := NULL;
    entries := NULL;
    unlocked := false;
    pass := coalesce(pass, 0) + 1;
    IF pass > 10 THEN
      RAISE EXCEPTION 'the balances of a batch kept changing' USING ERRCODE = 'serialization_failure';
    END IF;
  END LOOP;

  IF written IS NOT NULL THEN
    RETURN QUERY
    SELECT o.slot, outcomes[o.slot], codes[o.slot], failing_accounts[o.slot], details[o.slot]
    FROM generate_series(1, cardinality(transaction_ids)) AS o (slot)
    WHERE NOT written[o.slot];
  END IF;
END
$$;
COMMENT ON FUNCTION ledger.post IS
  'Posts a batch of movements of one book, each atomically. See src/ledger/journal.ts.';
REVOKE ALL ON FUNCTION ledger.post FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.post TO manilla_app;

-- Citus routes by the values of a call, which a generic plan does not have.
DO $$
BEGIN
  IF ledger.is_distributed() THEN ALTER FUNCTION ledger.post RESET plan_cache_mode; END IF;
END
$$;
