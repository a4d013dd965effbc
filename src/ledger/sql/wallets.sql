-- Wallets and organisations: what is written of them together with accounts of the ledger.

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

-- Creates a wallet and its ledger account, which cannot move money until ledger.record_kyc verifies it. A settlement
-- wallet belongs to the platform: its account is own money, and verified from the beginning. Violates
-- wallet_external_reference_unique when the reference is taken.
CREATE OR REPLACE FUNCTION ledger.create_wallet(
  organisation uuid, env text, wallet uuid, wallet_kind text, mail text, name text, phone_number text, reference text,
  created timestamptz, attached jsonb DEFAULT NULL
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
DECLARE wallet_account text;
BEGIN
  INSERT INTO wallets (organisation_id, environment, id, kind, email, full_name, phone, external_reference, created_at, metadata)
  VALUES (organisation, env, wallet, wallet_kind, mail, name, phone_number, reference, created, attached)
  RETURNING account_code INTO wallet_account;
  INSERT INTO ledger.accounts (organisation_id, environment, code, class, balance, verified, created_at)
  VALUES (organisation, env, wallet_account, CASE wallet_kind WHEN 'settlement' THEN 'own' ELSE ledger.class_of(wallet_account) END, 0,
          wallet_kind = 'settlement', least(created, now()));
END $$;

-- Stores encrypted KYC details (NULL: they stay), sets the tier of the wallet, verifies its account and sets the limits
-- of that tier: of the policy of the book, else these. NULL: no limit. `proof`: of the caller, or of an operator.
-- `bvn_indexes`: of the BVN, by every key that may have made the index of another wallet; the first is stored. Violates
-- wallets_per_bvn when `per_bvn_max` other wallets, which are not closed, have the BVN.
CREATE OR REPLACE FUNCTION ledger.record_kyc(
  organisation uuid, env text, proof text, wallet uuid, sealed_details text, bvn_indexes text[], per_bvn_max integer,
  tier_now text, default_balance_max bigint, default_posting_max bigint, why text DEFAULT NULL
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
DECLARE wallet_account text;
BEGIN
  PERFORM ledger.audit(organisation, env, proof, 'wallet.verify', wallet::text, why);
  IF per_bvn_max IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(hashtextextended(b.index, 0)) FROM (SELECT unnest(bvn_indexes) AS index ORDER BY 1) b;
    IF per_bvn_max <= (
      SELECT count(*) FROM wallet_kyc k
      JOIN wallets w ON w.organisation_id = organisation AND w.id = k.wallet_id
      JOIN ledger.accounts a ON a.organisation_id = organisation AND a.environment = env AND a.code = w.account_code
      WHERE k.organisation_id = organisation AND k.bvn_index = ANY (bvn_indexes) AND k.wallet_id <> wallet AND a.status <> 'closed'
    ) THEN RAISE EXCEPTION 'the BVN has as many wallets as it may have' USING ERRCODE = '23514', CONSTRAINT = 'wallets_per_bvn'; END IF;
  END IF;
  UPDATE wallets w SET kyc_status = tier_now
  WHERE w.organisation_id = organisation AND w.environment = env AND w.id = wallet RETURNING w.account_code INTO STRICT wallet_account;
  PERFORM pg_advisory_xact_lock_shared(hashtextextended('limits ' || organisation || env, 0));
  UPDATE ledger.accounts a
  SET verified = true, balance_max = l.balance_max, posting_max = l.posting_max, period_maxima = l.period_maxima
  FROM (SELECT p.balance_max, p.posting_max, p.period_maxima FROM limit_policies p
        WHERE p.organisation_id = organisation AND p.environment = env AND p.tier = tier_now
        UNION ALL SELECT default_balance_max, default_posting_max, NULL LIMIT 1) l
  WHERE a.organisation_id = organisation AND a.environment = env AND a.code = wallet_account;
  INSERT INTO wallet_kyc (organisation_id, environment, wallet_id, sealed, bvn_index)
  SELECT organisation, env, wallet, sealed_details, bvn_indexes[1] WHERE sealed_details IS NOT NULL
  ON CONFLICT (organisation_id, wallet_id) DO UPDATE
  SET sealed = excluded.sealed, bvn_index = excluded.bvn_index;
END $$;

-- Creates an organisation, its settlement wallet in each environment, and the audit entry.
CREATE OR REPLACE FUNCTION ledger.create_organisation(
  organisation uuid, organisation_name text, mail text, test_wallet uuid, live_wallet uuid, created timestamptz,
  proof text
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
BEGIN
  INSERT INTO organisations (organisation_id, name, created_at) VALUES (organisation, organisation_name, created);
  PERFORM ledger.create_wallet(organisation, 'test', test_wallet, 'settlement', mail, organisation_name, NULL, NULL, created);
  PERFORM ledger.create_wallet(organisation, 'live', live_wallet, 'settlement', mail, organisation_name, NULL, NULL, created);
  PERFORM ledger.audit(organisation, NULL, proof, 'organisation.create', organisation::text, NULL);
END $$;

GRANT EXECUTE ON FUNCTION ledger.create_wallet, ledger.record_kyc, ledger.create_organisation TO manilla_app;
