-- Parts of ledger.post: decides which movements of a batch can be posted, and says why one cannot.

-- Checks each posting in turn against the balances that the postings before it leave. A derived balance is NULL, which
-- passes every check. When a posting is refused, the earlier postings of its movement are undone. A movement that
-- exists already is left out; one that the pass before refused is decided again. `uses`, `attempts`: as of
-- ledger.find_uses; `falls`, `headroom`: as of ledger.guard_own_money.
--
-- A posting of the receivable of a wallet changes what the wallet owes, and a credit to a wallet that owes repays it at
-- once, as far as it goes: the next posting finds what is left. Not where operators recover debts (decision_limits): there
-- a refund still leaves the wallet what it owes.
CREATE OR REPLACE FUNCTION ledger.decide(
  organisation uuid, accounts text[], transactions ledger.batch_transaction[], postings ledger.batch_posting[],
  states ledger.account_states, rejections ledger.rejection[], uses jsonb[], attempts bigint[], falls bigint[], headroom bigint
) RETURNS ledger.decision LANGUAGE plpgsql AS $$
DECLARE
  written         CONSTANT ledger.rejection[] := rejections;
  has_limits      CONSTANT boolean := attempts IS NOT NULL;
  is_as_written   boolean;
  -- By account.
  balances        bigint[] := states.balances;
  numbers         bigint[] := states.last_numbers;
  balance_maxes   bigint[] := states.balance_maxes;
  posting_maxes   bigint[] := states.posting_maxes;
  owed            bigint[] := states.owed;
  sent_amounts    bigint[]; -- of what limits count, in this batch
  sent_numbers    bigint[];
  debtors         CONSTANT integer[] := states.debtors;
  has_debts       CONSTANT boolean := (0 < ANY (owed) OR 0 < ANY (debtors)) IS TRUE;
  are_recovered   CONSTANT boolean := CASE WHEN has_debts THEN (
    SELECT l.recovers_debts FROM public.decision_limits l WHERE l.organisation_id = '00000000-0000-0000-0000-000000000000') END;
  -- By posting.
  debit_balances  bigint[] := array_fill(NULL::bigint, ARRAY[cardinality(postings)]);
  credit_balances bigint[] := debit_balances;
  debit_numbers   bigint[] := debit_balances;
  credit_numbers  bigint[] := debit_balances;
  repaid          bigint[] := debit_balances;
  -- The posting, and the first one of its movement.
  position        integer := 0;
  first           integer := 1;
  movement        integer;
  debit           integer;
  credit          integer;
  amount          bigint;
  last_movement   integer := 0;
  owed_before     bigint[] := owed; -- the movement
  amounts_before  bigint[];
  numbers_before  bigint[];
  is_rejected     boolean;
  refusal         ledger.rejection;
  undone          ledger.batch_posting;
BEGIN
  IF rejections IS NOT NULL THEN
    SELECT array_agg(CASE WHEN r.is_repeat THEN r END) INTO rejections FROM unnest(rejections) AS r;
  END IF;
  FOREACH movement, debit, credit, amount IN ARRAY postings LOOP
    position := position + 1;
    IF movement <> last_movement THEN
      IF movement < last_movement THEN
        RAISE EXCEPTION 'the postings of a batch must come in the order of their movements' USING ERRCODE = 'ML004';
      END IF;
      IF headroom IS NOT NULL AND is_rejected IS NOT TRUE THEN
        headroom := headroom - coalesce(falls[last_movement], 0);
      END IF;
      last_movement := movement;
      first := position;
      IF has_debts THEN owed_before := owed; END IF;
      IF has_limits THEN
        amounts_before := sent_amounts;
        numbers_before := sent_numbers;
      END IF;
      is_rejected := rejections[movement].is_repeat;
    END IF;
    CONTINUE WHEN is_rejected;
    IF amount > posting_maxes[debit] OR amount > posting_maxes[credit] OR amount > balances[debit]
       OR balances[credit] + amount > balance_maxes[credit] OR falls[movement] > greatest(headroom, 0)
       OR has_limits AND attempts[position] IS NOT NULL
       OR has_debts AND (amount > owed[debtors[credit]] OR balances[debtors[debit]] > 0
                         OR transactions[movement].kind ~ '^refund_(hold|completion)$' AND amount > balances[debit] - owed[debit]) THEN
      refusal := ledger.refusal(
        organisation, accounts, states, transactions[movement], debit, credit, amount, balances[debit], balances[credit],
        (SELECT coalesce(sum(p.kobo), 0) FROM unnest(postings[first:position - 1]) AS p (m, d, payee, kobo) WHERE p.payee = credit)::bigint,
        falls[movement], headroom, balances[debtors[debit]], owed[debit], owed[debtors[credit]],
        transactions[movement].kind = 'payout_reserve' AND (postings[position + 1]).movement IS DISTINCT FROM movement,
        CASE WHEN has_limits AND attempts[position] IS NOT NULL THEN ledger.find_excess(
          accounts[debit], uses[debit], attempts[position], coalesce(sent_amounts[debit], 0), coalesce(sent_numbers[debit], 0)) END);
      IF refusal.outcome IS NOT NULL THEN
        FOR earlier IN first .. position - 1 LOOP -- a movement is atomic
          undone := postings[earlier];
          balances[undone.debit] := balances[undone.debit] + undone.amount;
          balances[undone.credit] := balances[undone.credit] - undone.amount;
          numbers[undone.debit] := numbers[undone.debit] - 1;
          numbers[undone.credit] := numbers[undone.credit] - 1;
          IF repaid[earlier] > 0 THEN
            balances[undone.credit] := balances[undone.credit] + repaid[earlier];
            numbers[undone.credit] := numbers[undone.credit] - 1;
            repaid[earlier] := NULL;
          END IF;
        END LOOP;
        owed := owed_before;
        sent_amounts := amounts_before;
        sent_numbers := numbers_before;
        is_rejected := true;
        rejections := coalesce(rejections, array_fill(NULL::ledger.rejection, ARRAY[cardinality(transactions)]));
        rejections[movement] := refusal;
        CONTINUE;
      END IF;
    END IF;
    balances[debit] := balances[debit] - amount;
    balances[credit] := balances[credit] + amount;
    numbers[debit] := numbers[debit] + 1;
    numbers[credit] := numbers[credit] + 1;
    debit_balances[position] := balances[debit];
    credit_balances[position] := balances[credit];
    debit_numbers[position] := numbers[debit];
    credit_numbers[position] := numbers[credit];
    IF has_limits AND attempts[position] IS NOT NULL THEN
      sent_amounts[debit] := coalesce(sent_amounts[debit], 0) + attempts[position];
      sent_numbers[debit] := coalesce(sent_numbers[debit], 0) + 1;
    END IF;
    IF has_debts THEN
      IF debtors[debit] > 0 THEN owed[debtors[debit]] := owed[debtors[debit]] + amount; END IF;
      IF debtors[credit] > 0 THEN owed[debtors[credit]] := owed[debtors[credit]] - amount; END IF;
      IF are_recovered AND owed[credit] > 0 THEN
        repaid[position] := least(amount, owed[credit]);
        balances[credit] := balances[credit] - repaid[position];
        numbers[credit] := numbers[credit] + 1;
        owed[credit] := owed[credit] - repaid[position];
      END IF;
    END IF;
  END LOOP;
  -- By their codes: what is returned was decided on the locked balances.
  is_as_written := rejections IS NULL OR NOT EXISTS (
    SELECT FROM generate_series(1, cardinality(transactions)) AS m WHERE (rejections[m]).code IS DISTINCT FROM (written[m]).code
  );
  RETURN ROW(debit_balances, credit_balances, debit_numbers, credit_numbers, repaid, CASE WHEN has_debts THEN owed END, rejections,
             is_as_written);
END $$;

-- Why a posting is refused, in the order of precedence of the codes; NULL if the rules of its transaction allow it.
-- Under `credit_exempt` the credited account may be frozen or unverified, and exceed a limit by what comes back, if it was
-- not over its limit before the movement, which has credited `came_before` to it; under `exempt` the debited one too, but
-- then a debt is only what the wallet, with `debtor_balance`, does not have. `creditor_owed`: of a receivable. Own money
-- that is spent by a decision is refused beyond the headroom; what a bank has taken is not.
CREATE OR REPLACE FUNCTION ledger.refusal(
  organisation uuid, accounts text[], states ledger.account_states, transaction ledger.batch_transaction, debit integer,
  credit integer, amount bigint, debit_balance bigint, credit_balance bigint, came_before bigint, fall bigint, headroom bigint,
  debtor_balance bigint, debit_owed bigint, creditor_owed bigint, is_fee boolean, excess ledger.rejection
) RETURNS ledger.rejection LANGUAGE plpgsql AS $$
DECLARE
  checks_payer CONSTANT boolean := transaction.rules <> 'exempt';
  checks_payee CONSTANT boolean := transaction.rules = 'enforced';
  payer_code   CONSTANT text    := accounts[debit];
  payee_code   CONSTANT text    := accounts[credit];
  own_max      CONSTANT bigint  := states.balance_maxes[credit];
  balance_max  CONSTANT bigint  := CASE WHEN checks_payee OR credit_balance - came_before > own_max THEN own_max ELSE ledger.balance_max() END;
  room         CONSTANT bigint  := least(states.posting_maxes[credit], own_max - credit_balance);
  payer        ledger.accounts;
  payee        ledger.accounts;
BEGIN
  SELECT * INTO payer FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.id = states.ids[debit];
  SELECT * INTO payee FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.id = states.ids[credit];
  RETURN CASE
    WHEN payer.id IS NULL THEN ledger.refused('WALLET_NOT_FOUND', payer_code)
    WHEN payee.id IS NULL THEN ledger.refused('WALLET_NOT_FOUND', payee_code)
    WHEN payer.status = 'closed' OR (checks_payer AND payer.status <> 'active') THEN ledger.refused('WALLET_' || upper(payer.status), payer_code)
    WHEN checks_payer AND NOT payer.verified THEN ledger.refused('WALLET_KYC_REQUIRED', payer_code)
    WHEN checks_payer AND NOT is_fee AND amount > payer.posting_max THEN ledger.over_limit('transaction', payer_code, payer.posting_max, amount, payer.posting_max)
    WHEN checks_payer AND excess.code IS NOT NULL THEN excess
    WHEN payee.status = 'closed' OR (checks_payee AND payee.status <> 'active') THEN ledger.refused('WALLET_' || upper(payee.status), payee_code)
    WHEN checks_payee AND NOT payee.verified THEN ledger.refused('WALLET_KYC_REQUIRED', payee_code)
    WHEN checks_payee AND amount > payee.posting_max THEN ledger.over_limit('transaction', payee_code, payee.posting_max, amount, room)
    WHEN credit_balance + amount > balance_max THEN
      ledger.over_limit('balance', payee_code, own_max, credit_balance + amount, room)
    WHEN debit_balance - CASE WHEN transaction.kind ~ '^refund_(hold|completion)$' THEN debit_owed ELSE 0 END < amount THEN ledger.refused(
      'WALLET_INSUFFICIENT_FUNDS', payer_code,
      jsonb_strip_nulls(jsonb_build_object('attemptedAmount', amount, 'amountOwed', nullif(debit_owed, 0))))
    WHEN fall > greatest(headroom, 0) AND checks_payer AND payer.class = 'own'
         AND (payer_code ~ '^(wallet|own):' OR (transaction.kind = 'adjustment' AND payee.class = 'customer')) THEN
      ledger.refused('WALLET_INSUFFICIENT_FUNDS', payer_code, jsonb_build_object(
        'attemptedAmount', amount, 'reason', 'safeguarding',
        'availableAmount', greatest(least(headroom, debit_balance), 0)))
    WHEN transaction.rules = 'exempt' AND debtor_balance > 0 THEN ledger.refused('WALLET_HAS_FUNDS', payer_code)
    WHEN amount > creditor_owed THEN ledger.refused(
      'DEBT_EXCEEDED', payee_code, jsonb_build_object('amountOwed', creditor_owed, 'attemptedAmount', amount))
  END;
END $$;

CREATE OR REPLACE FUNCTION ledger.refused(code text, account_code text, detail jsonb DEFAULT NULL) RETURNS ledger.rejection
LANGUAGE sql IMMUTABLE AS $$ SELECT ROW('refused', code, account_code, detail, false)::ledger.rejection $$;

CREATE OR REPLACE FUNCTION ledger.over_limit(which text, account_code text, limit_amount bigint, attempted bigint, available bigint)
RETURNS ledger.rejection LANGUAGE sql IMMUTABLE AS $$
  SELECT ledger.refused('WALLET_TIER1_LIMIT_EXCEEDED', account_code,
                        jsonb_build_object('limit', which, 'limitAmount', limit_amount, 'attemptedAmount', attempted,
                                           'availableAmount', greatest(available, 0)))
$$;
