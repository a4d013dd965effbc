-- version 1
-- The class of an account by its code, as in src/ledger/chart.ts. A settlement wallet is the exception: it is own.
CREATE OR REPLACE FUNCTION ledger.class_of(code text) RETURNS ledger.account_class LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN code ~ '^(clearing|float|settlement):' THEN 'bank'
    WHEN code ~ '^(income|expense|loss|own):' THEN 'own'
    WHEN code ~ '^liability:' THEN 'statutory'
    WHEN code ~ '^receivable:' THEN 'receivable'
    ELSE 'customer'
  END::ledger.account_class
$$;

-- Opens the account of a wallet. An unverified one cannot move money until ledger.record_kyc verifies it.
CREATE OR REPLACE FUNCTION ledger.open_account(
  organisation uuid, env text, account_code text, is_verified boolean, is_own boolean DEFAULT false, created timestamptz DEFAULT now()
) RETURNS bigint LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE account bigint;
BEGIN
  IF env NOT IN ('test', 'live') THEN RAISE EXCEPTION 'unknown environment: %', env USING ERRCODE = 'check_violation'; END IF;
  INSERT INTO ledger.accounts (organisation_id, environment, code, class, balance, verified, created_at)
  VALUES (organisation, env, account_code, CASE WHEN is_own THEN 'own' ELSE ledger.class_of(account_code) END, 0, is_verified, least(created, now()))
  RETURNING id INTO account;
  RETURN account;
END $$;
