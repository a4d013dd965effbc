-- version 2
-- Opening and verifying the account of a wallet.

-- Opens the account of a wallet. An unverified one cannot move money until ledger.verify_account is called, after KYC.
CREATE OR REPLACE FUNCTION ledger.open_account(organisation uuid, env text, account_code text, is_verified boolean)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE account bigint;
BEGIN
  IF env NOT IN ('test', 'live') THEN RAISE EXCEPTION 'unknown environment: %', env USING ERRCODE = 'check_violation'; END IF;
  INSERT INTO ledger.accounts (organisation_id, environment, code, balance, verified)
  VALUES (organisation, env, account_code, 0, is_verified)
  RETURNING id INTO account;
  RETURN account;
END $$;
REVOKE ALL ON FUNCTION ledger.open_account FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.open_account TO manilla_app;

-- Verifies an account and sets its limits. NULL: no limit.
CREATE OR REPLACE FUNCTION ledger.verify_account(organisation uuid, account bigint, new_balance_max bigint, new_posting_max bigint)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  UPDATE ledger.accounts SET verified = true, balance_max = new_balance_max, posting_max = new_posting_max
  WHERE organisation_id = organisation AND id = account
$$;;
REVOKE ALL ON FUNCTION ledger.verify_account FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.verify_account TO manilla_app;
