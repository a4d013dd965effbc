-- Number of open resources that will move money to or from a wallet, by kind. Zero counts are left out.
CREATE OR REPLACE FUNCTION ledger.wallet_in_flight(organisation uuid, env text, wallet uuid) RETURNS jsonb
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE
  counts CONSTANT jsonb := jsonb_build_object(
    'payments', (SELECT count(*) FROM payments WHERE organisation_id = organisation AND environment = env
                 AND target_wallet_id = wallet AND status IN ('pending', 'partial')),
    'inboundCredits', (SELECT count(*) FROM inbound_credits
                       WHERE organisation_id = organisation AND owner_id = wallet AND status = 'received'),
    'withdrawals', (SELECT count(*) FROM withdrawals WHERE organisation_id = organisation AND environment = env
                    AND source_wallet_id = wallet AND status = 'processing'),
    'refunds', (SELECT count(*) FROM refunds r JOIN payments p ON p.organisation_id = r.organisation_id AND p.id = r.payment_id
                WHERE r.organisation_id = organisation AND r.environment = env AND r.status = 'processing'
                AND (p.target_wallet_id = wallet OR r.sources @> jsonb_build_array(jsonb_build_object('walletId', wallet)))),
    'holds', (SELECT count(*) FROM holds WHERE organisation_id = organisation AND environment = env
              AND wallet IN (wallet_id, source_wallet_id) AND status = 'held'),
    'payouts', (SELECT count(*) FROM payouts WHERE organisation_id = organisation AND environment = env
                AND source_wallet_id = wallet AND status = 'processing'),
    'payoutItems', (SELECT count(*) FROM payout_items WHERE organisation_id = organisation AND environment = env
                    AND destination_wallet_id = wallet AND status IN ('pending', 'processing')),
    'adjustments', (SELECT count(*) FROM adjustments WHERE organisation_id = organisation AND environment = env AND status = 'requested'
                    AND jsonb_path_exists(postings, '$[*] ? (@.debit == $account || @.credit == $account)',
                                          jsonb_build_object('account', 'wallet:' || ledger.public_id(wallet, 'wlt')))));
BEGIN
  RETURN (SELECT coalesce(jsonb_object_agg(key, value) FILTER (WHERE value <> '0'), '{}') FROM jsonb_each(counts));
END $$;

-- Freezes, unfreezes ('active') or closes a wallet for an operator. It takes the row lock under which money moves, so
-- the new status applies to every movement after it returns. The audit entry and the event, with the id that the caller
-- gives, are written in the same statement; it raises an error when `proof` does not prove an operator (decisions.sql).
-- Outcomes: changed; unchanged (it had this status before); not_found; closed (a closed wallet cannot be changed);
-- settlement, debt, balance or in_flight (the reason why it cannot be closed).
CREATE OR REPLACE FUNCTION ledger.set_wallet_status(
  organisation uuid, wallet uuid, wanted text, proof text, why text, event uuid,
  OUT outcome text, OUT env text, OUT status_before text, OUT held bigint, OUT owed bigint, OUT in_flight jsonb
) LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
DECLARE
  account text;
  wallet_kind text;
BEGIN
  SELECT w.environment, w.account_code, w.kind INTO env, account, wallet_kind FROM wallets w
  WHERE w.organisation_id = organisation AND w.id = wallet;
  IF NOT FOUND THEN
    outcome := 'not_found';
    RETURN;
  END IF;
  SELECT a.status, a.balance, a.owed INTO status_before, held, owed FROM ledger.accounts a
  WHERE a.organisation_id = organisation AND a.environment = env AND a.code = account FOR NO KEY UPDATE;
  IF wanted = 'closed' THEN
    -- What is held for the wallet is closed with it: a hold that is being created is seen now, or is refused later.
    INSERT INTO ledger.accounts (organisation_id, environment, code, class, balance)
    VALUES (organisation, env, 'held:' || account, ledger.class_of('held:' || account), 0)
    ON CONFLICT ON CONSTRAINT account_code_unique DO UPDATE SET class = excluded.class;
    in_flight := ledger.wallet_in_flight(organisation, env, wallet);
  END IF;

  outcome := CASE
    WHEN status_before = wanted THEN 'unchanged'
    WHEN status_before = 'closed' THEN 'closed'
    WHEN wanted = 'closed' AND wallet_kind = 'settlement' THEN 'settlement'
    WHEN wanted = 'closed' AND owed > 0 THEN 'debt'
    WHEN wanted = 'closed' AND held > 0 THEN 'balance'
    WHEN wanted = 'closed' AND in_flight <> '{}' THEN 'in_flight'
    ELSE 'changed'
  END;
  IF outcome = 'changed' THEN
    UPDATE ledger.accounts a SET status = wanted
    WHERE a.organisation_id = organisation AND a.environment = env
      AND a.code IN (account, CASE wanted WHEN 'closed' THEN 'held:' || account END);
    -- The time under the lock: entries have the order of the changes.
    PERFORM ledger.audit(
      organisation, env, proof, 'wallet.' || CASE wanted WHEN 'frozen' THEN 'freeze' WHEN 'active' THEN 'unfreeze' ELSE 'close' END,
      wallet::text, why);
    PERFORM ledger.insert_event(
      organisation, env, event, 'wallet.' || CASE wanted WHEN 'active' THEN 'unfrozen' ELSE wanted END,
      ledger.public_id(wallet, 'wlt'),
      json_build_object('walletId', ledger.public_id(wallet, 'wlt'), 'status', wanted), clock_timestamp());
  END IF;
END $$;

GRANT EXECUTE ON FUNCTION ledger.wallet_in_flight, ledger.set_wallet_status TO manilla_app;
