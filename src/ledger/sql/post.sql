-- ledger.post: the only function that moves money. It takes a batch of movements of one book and returns a row, with
-- the reason, for each movement that was not posted. A movement is a transaction with its postings, and the rows that
-- are committed with it: resources, events, outbox messages and the outcome of its Idempotency-Key. A call is one
-- statement: after a lost connection either all of it was written or nothing.
--
-- Movements, accounts and postings are known by their position in the batch, counting from 1 (src/ledger/batch.ts).
--   accounts           codes of the accounts in the postings and of the wallets in the events, in the order in which
--                      every caller locks them
--   platform_accounts  those of them that the first posting creates; a wallet's account is opened with the wallet
--   transactions       one for each movement; NULL for a movement without money
--   links              the earlier transactions that they resolve or reverse
--   postings           in the order of their movements
--   row_tables         the tables of the resource rows, in alphabetical order; the document of a table is a JSON array of
--                      its rows, each with its movement
--   events, wallet_events, messages, outcomes
--                      each with its movement, and a document: the data of an event, a message, a stored response
--   decisions          who decided a movement, with the proof (decisions.sql)
--   document_lines     the documents, a line each, in JSON, which has no line breaks. Here they need no quotes
--
-- Most batches post completely. So what depends on no balance is written first, then each balance is updated by the
-- net change of the batch, which locks its account, and at last each posting is decided. If a movement is refused, or
-- was posted before, the pass is rolled back (the block is a subtransaction) and the batch is written again without
-- that movement. Each pass decides refusals again, so those that are returned were decided on locked balances.
--
-- Lock order, the same for all callers: business keys, rows by table, new accounts by code, accounts by position, own
-- money. The settings leave one plan to every look-up, by index: a plan is made once and kept, when a table may still
-- be small.
CREATE OR REPLACE FUNCTION ledger.post(
  organisation      uuid,
  environment       text,
  accounts          text[],
  platform_accounts ledger.batch_account[],
  transactions      ledger.batch_transaction[],
  links             ledger.batch_link[],
  postings          ledger.batch_posting[],
  row_tables        ledger.batch_table[],
  events            ledger.batch_event[],
  wallet_events     ledger.batch_event[],
  messages          ledger.batch_message[],
  outcomes          ledger.batch_outcome[],
  decisions         ledger.batch_decision[],
  document_lines    text
)
RETURNS TABLE (movement integer, outcome text, code text, account_code text, detail jsonb)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ledger, public, pg_temp
SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
AS $$
#variable_conflict use_variable
DECLARE
  documents     text[] := string_to_array(document_lines, E'\n');
  linked        ledger.linked; -- ids of the earlier transactions, by movement
  rejections    ledger.rejection[]; -- by movement; NULL: it is expected to post, and written in this pass
  repeats       ledger.rejection[];
  states        ledger.account_states; -- the accounts, before the postings
  decision      ledger.decision;
  falls         bigint[]; -- by movement: how much it lowers the headroom
  headroom      bigint; -- before the batch
  uses          jsonb[]; -- by account: its limits
  attempts      bigint[]; -- by posting: what its movement takes of them
  closed_until  timestamptz;
  -- not before the times of earlier movements, should the clock be
  begun_at      CONSTANT timestamptz := greatest(now(), 'epoch'::timestamptz + pg_sequence_last_value('ledger.clock') * interval '1 us');
  posted_at     timestamptz;
  first_id      bigint;
  passes        integer := 0;
  decides       boolean := false; -- it changes what only a decision changes
  row_table     text;
  document      integer;
  entries       ledger.audit_entry[]; -- of its decisions
  covered       integer[]; -- the movements that they cover
BEGIN
  IF environment NOT IN ('test', 'live') THEN
    RAISE EXCEPTION 'unknown environment: %', environment USING ERRCODE = 'check_violation';
  END IF;
  FOREACH row_table, document IN ARRAY row_tables LOOP
    decides := decides OR row_table IN ('adjustments', 'fee_sweeps', 'review_cases');
  END LOOP;
  IF decides OR decisions <> '{}' THEN
    SELECT * INTO documents, rejections, entries, covered FROM ledger.check_decisions(
      organisation, environment, accounts, transactions, postings, row_tables, outcomes, decisions, documents);
  END IF;
  -- A caller that leaves out platform_accounts must not get past the rules: all codes begin with `wallet:`.
  IF platform_accounts <> '{}' OR links <> '{}'
     OR NOT ('wallet:' COLLATE "C" <= ALL (accounts) AND 'wallet;' COLLATE "C" > ALL (accounts)) THEN
    linked := ledger.find_linked(organisation, environment, accounts, links, postings, covered);
  END IF;
  LOOP
    BEGIN
      INSERT INTO ledger.transactions (organisation_id, environment, id, key, kind, resource, resolves, reverses, effective_at,
                                       created_at, moved_at)
      SELECT organisation, environment, t.id, t.key, t.kind, t.resource, linked.resolves[t.movement], linked.reverses[t.movement],
             t.effective_at, begun_at,
             -- A time further from now is that of a clock that is wrong, or of a movement that waited for the database.
             CASE WHEN t.moved_at BETWEEN begun_at - interval '1 minute' AND begun_at + interval '1 minute' THEN t.moved_at ELSE begun_at END
      FROM unnest(transactions) WITH ORDINALITY AS t (id, key, kind, resource, effective_at, moved_at, rules, movement)
      WHERE t.id IS NOT NULL AND rejections[t.movement] IS NULL;
      IF documents <> '{}' THEN
        PERFORM ledger.write_records(organisation, environment, row_tables, events, messages, outcomes, documents, rejections);
      END IF;
      IF entries IS NOT NULL THEN
        PERFORM ledger.audit_decisions(organisation, environment, transactions, entries, rejections);
      END IF;
      EXIT WHEN accounts = '{}';

      IF platform_accounts <> '{}' THEN
        PERFORM ledger.create_accounts(organisation, environment, platform_accounts);
      END IF;
      states := ledger.lock_accounts(organisation, environment, accounts, ledger.net_changes(accounts, postings, rejections));
      -- Read while the accounts are locked: so the entries of an account have the order of their times, and a balance
      -- as of a time is the balance after the last entry up to then. No posting is dated into a closed day, whatever
      -- the clock says: the closing of a day waits for the lock on ledger.transactions, which is held by now
      -- (accounting.sql).
      SELECT x.ends_at INTO closed_until FROM ledger.closed_days x
      WHERE x.organisation_id = organisation AND x.environment = environment ORDER BY x.day DESC LIMIT 1;
      posted_at := greatest(ledger.next_time(), closed_until);
      IF cardinality(states.positions) IS DISTINCT FROM cardinality(accounts) THEN
        states := ledger.find_others(organisation, environment, accounts, states);
      END IF;

      IF states.limited IS NOT NULL THEN
        SELECT u.* INTO uses, attempts FROM ledger.find_uses(organisation, transactions, postings, states, posted_at) AS u;
      END IF;
      IF states.own IS NOT NULL THEN
        SELECT g.* INTO falls, headroom FROM ledger.guard_own_money(organisation, environment, postings, states, rejections) AS g;
      END IF;
      decision := ledger.decide(organisation, accounts, transactions, postings, states, rejections, uses, attempts, falls, headroom);
      IF NOT decision.is_as_written OR NOT states.are_locked THEN
        RAISE EXCEPTION 'the decisions differ from those that were written' USING ERRCODE = 'ML003';
      END IF;
      IF wallet_events <> '{}' THEN
        PERFORM ledger.insert_wallet_events(organisation, environment, wallet_events, documents, rejections);
      END IF;
      first_id := ledger.posting_id(posted_at);
      INSERT INTO ledger.postings (organisation_id, environment, id, transaction_id, debit_account_id, credit_account_id, amount,
                                   debit_balance_after, credit_balance_after, debit_number, credit_number, created_at)
      SELECT organisation, environment, first_id + p.position - 1, transactions[p.movement].id, states.ids[p.debit],
             states.ids[p.credit], p.amount, p.debit_balance, p.credit_balance, p.debit_number, p.credit_number, posted_at
      FROM unnest(postings, decision.debit_balances, decision.credit_balances, decision.debit_numbers, decision.credit_numbers)
        WITH ORDINALITY AS p (movement, debit, credit, amount, debit_balance, credit_balance, debit_number, credit_number, position)
      WHERE rejections[p.movement] IS NULL;
      IF decision.owed IS NOT NULL THEN
        PERFORM ledger.repay_debts(organisation, environment, transactions, postings, states, decision, posted_at,
                                   first_id + cardinality(postings));
      END IF;
      EXIT;
    EXCEPTION
      WHEN SQLSTATE 'ML003' THEN
        rejections := decision.rejections;
      WHEN unique_violation OR SQLSTATE 'ML001' THEN -- a key exists, or a row has another version
        repeats := ledger.find_repeats(organisation, environment, accounts, transactions, postings, outcomes, rejections);
        -- Any other cause fails the statement; the journal then splits the batch in halves to find it.
        IF repeats IS NULL THEN RAISE; END IF;
        rejections := repeats;
    END;
    -- Concurrent statements may change the balances in between, so that another pass decides otherwise. After ten
    -- passes the call fails, and the journal retries it.
    passes := passes + 1;
    IF passes > 10 THEN
      RAISE EXCEPTION 'the balances of a batch kept changing' USING ERRCODE = 'serialization_failure';
    END IF;
  END LOOP;
  IF rejections IS NOT NULL THEN
    RETURN QUERY
      SELECT r.movement::integer, r.outcome, r.code, r.account_code, r.detail
      FROM unnest(rejections) WITH ORDINALITY AS r (outcome, code, account_code, detail, is_repeat, movement)
      WHERE r.outcome IS NOT NULL;
  END IF;
END $$;
GRANT EXECUTE ON FUNCTION ledger.post TO manilla_app;
