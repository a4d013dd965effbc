-- version 1
-- Opens the account of a wallet. An unverified one cannot move money until ledger.record_kyc verifies it.
CREATE OR REPLACE FUNCTION ledger.open_account(organisation uuid, env text, account_code text, is_verified boolean)
RETURNS bigint LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE account bigint;
BEGIN
  IF env NOT IN ('test', 'live') THEN RAISE EXCEPTION 'unknown environment: %', env USING ERRCODE = 'check_violation'; END IF;
  INSERT INTO ledger.accounts (organisation_id, environment, code, balance, verified)
  VALUES (organisation, env, account_code, 0, is_verified)
  RETURNING id INTO account;
  RETURN account;
END $$;
