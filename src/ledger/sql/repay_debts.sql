-- Part of ledger.post, while it holds the locks of the accounts: writes what wallets owe, and what credits have repaid
-- (ledger.decide). A repayment is a transaction of its own, after the credit, with its row and its event.
CREATE OR REPLACE FUNCTION ledger.repay_debts(
  organisation uuid, environment text, transactions ledger.batch_transaction[], postings ledger.batch_posting[],
  states ledger.account_states, decision ledger.decision, posted_at timestamptz, first_id bigint
) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  repayment  record;
  recovery   uuid;
  receivable bigint;
  wallet     ledger.accounts;
BEGIN
  UPDATE ledger.accounts x SET owed = w.owed, balance = x.balance - w.repaid, last_number = x.last_number + w.repayments
  FROM (
    SELECT s.id, s.owed, coalesce(sum(r.repaid), 0) AS repaid, count(r.repaid) AS repayments
    FROM unnest(states.ids, decision.owed, states.owed) WITH ORDINALITY AS s (id, owed, owed_before, position)
    LEFT JOIN unnest(postings, decision.repaid) AS r (movement, debit, credit, amount, repaid) ON r.credit = s.position AND r.repaid > 0
    GROUP BY s.id, s.owed, s.owed_before HAVING s.owed <> s.owed_before OR count(r.repaid) > 0
  ) w
  WHERE x.organisation_id = organisation AND x.id = w.id;
  FOR repayment IN
    SELECT p.*, states.ids[p.credit] AS account_id FROM unnest(postings, decision.repaid, decision.credit_balances, decision.credit_numbers)
      WITH ORDINALITY AS p (movement, debit, credit, amount, repaid, balance, number, position)
    WHERE p.repaid > 0 ORDER BY p.position
  LOOP
    SELECT * INTO STRICT wallet FROM ledger.accounts x WHERE x.organisation_id = organisation AND x.id = repayment.account_id;
    SELECT x.id INTO STRICT receivable FROM ledger.accounts x
    WHERE x.organisation_id = organisation AND x.environment = environment AND x.code = ('receivable:' || wallet.code) COLLATE "C";
    recovery := uuidv7();
    INSERT INTO public.debt_recoveries (organisation_id, environment, id, account_code, repaid_with, amount, created_at)
    VALUES (organisation, environment, recovery, wallet.code, transactions[repayment.movement].id, repayment.repaid, posted_at);
    INSERT INTO ledger.transactions (organisation_id, environment, id, key, kind, resource, effective_at)
    VALUES (organisation, environment, recovery, ledger.public_id(recovery, 'dbr') || '/recovery', 'debt_recovery',
            ledger.public_id(recovery, 'dbr'), posted_at);
    INSERT INTO ledger.postings (organisation_id, environment, id, transaction_id, debit_account_id, credit_account_id, amount,
                                 debit_balance_after, debit_number, created_at)
    VALUES (organisation, environment, first_id + repayment.position, recovery, wallet.id, receivable, repayment.repaid,
            repayment.balance - repayment.repaid, repayment.number + 1, posted_at);
    PERFORM ledger.insert_event(
      organisation, environment, uuidv7(), 'wallet.debited', split_part(wallet.code, ':', 2),
      json_build_object(
        'walletId', split_part(wallet.code, ':', 2), 'debtRecoveryId', ledger.public_id(recovery, 'dbr'), 'reason', 'debt_recovery',
        'amount', repayment.repaid, 'missing', wallet.owed, 'currency', 'NGN', 'status', wallet.status),
      posted_at);
  END LOOP;
END $$;
