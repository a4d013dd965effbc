-- API keys, and pauses of rails: changes by an operator, or by a caller whose key has the scope `keys`. Each writes the
-- audit entry (decisions.sql) before the change, because a caller may replace or revoke its own key.

-- Stores a key. A caller's key gives no scope that it has not; a scope includes its reads. `replaced`: the key whose
-- successor it is, with the same place: an operator's successor of a key is made by what made that key. Its requests
-- count against the limits that those of the maker count against, so keys that make keys get no higher rate by it.
CREATE OR REPLACE FUNCTION ledger.create_api_key(proof text, created api_keys, why text, replaced api_keys) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
DECLARE maker api_keys;
BEGIN
  PERFORM ledger.audit(created.organisation_id, created.environment, proof, 'api_key.create', created.id::text, why);
  IF starts_with(proof, 'api:') THEN
    -- The lock: a key that ends meanwhile ends what it makes.
    SELECT k.* INTO maker FROM api_keys k
    WHERE k.organisation_id = created.organisation_id AND k.hash = sha256(decode(substr(proof, 5), 'hex')) AND k.revoked_at IS NULL
    FOR SHARE;
    IF NOT FOUND OR EXISTS (
      SELECT FROM unnest(created.scopes) AS s WHERE s <> ALL (maker.scopes) AND replace(s, ':read', '') <> ALL (maker.scopes)
    ) THEN
      RAISE EXCEPTION 'a key gives a scope that it has not' USING ERRCODE = 'insufficient_privilege';
    END IF;
    created.expires_at := least(created.expires_at, maker.expires_at);
  END IF;
  created.created_by := coalesce(maker.id, replaced.created_by);
  created.budgets := CASE
    WHEN replaced.id IS NOT NULL THEN replaced.budgets
    WHEN maker.id IS NULL OR created.rate_limit < coalesce(maker.rate_limit, 2147483647) THEN ARRAY[created.id]
    ELSE '{}'
  END;
  created.budgets := created.budgets || ARRAY(SELECT b FROM unnest(maker.budgets) AS b WHERE b <> ALL (created.budgets));
  -- Not all columns: one of the next release has its default.
  INSERT INTO api_keys (organisation_id, environment, id, name, hash, hint, scopes, allowed_ips, rate_limit, created_by, budgets,
                        expires_at, created_at)
  VALUES (created.organisation_id, created.environment, created.id, created.name, created.hash, created.hint, created.scopes,
          created.allowed_ips, created.rate_limit, created.created_by, created.budgets, created.expires_at, created.created_at);
END $$;

-- Ends a key with what it made, and what that made: at `expiry`, or revoked now if that is NULL. Returns how many end;
-- 0: it is revoked, or does not exist. The rows are locked level by level, so that none makes another meanwhile.
CREATE OR REPLACE FUNCTION ledger.end_api_key(
  organisation uuid, proof text, key_id uuid, why text, expiry timestamptz DEFAULT NULL, successor uuid DEFAULT NULL
) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
#variable_conflict use_variable
DECLARE
  ended uuid[] := '{}';
  level uuid[] := ARRAY(
    SELECT k.id FROM public.api_keys k WHERE k.organisation_id = organisation AND k.id = key_id AND k.revoked_at IS NULL FOR UPDATE);
BEGIN
  WHILE level <> '{}' LOOP
    ended := ended || level;
    level := ARRAY(
      SELECT k.id FROM public.api_keys k
      WHERE k.organisation_id = organisation AND k.created_by = ANY (level) AND k.revoked_at IS NULL
        AND k.id IS DISTINCT FROM successor AND (expiry IS NULL OR k.expires_at IS NULL OR k.expires_at > expiry)
      FOR UPDATE);
  END LOOP;
  PERFORM ledger.audit(organisation, k.environment, proof,
                       CASE WHEN k.id = key_id AND expiry IS NOT NULL THEN 'api_key.rotate' ELSE 'api_key.revoke' END, k.id::text,
                       CASE k.id WHEN key_id THEN why ELSE 'made by ' || k.created_by END)
  FROM public.api_keys k WHERE k.organisation_id = organisation AND k.id = ANY (ended);
  UPDATE public.api_keys k
  SET revoked_at = CASE WHEN expiry IS NULL THEN now() END, expires_at = coalesce(expiry, k.expires_at)
  WHERE k.organisation_id = organisation AND k.id = ANY (ended);
  RETURN cardinality(ended);
END $$;

-- Stores the successor of a key, which ends then. False, without a change: it was revoked, or has another expiry.
CREATE OR REPLACE FUNCTION ledger.replace_api_key(
  proof text, old_id uuid, old_expiry timestamptz, old_expires_at timestamptz, successor api_keys
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
DECLARE old api_keys;
BEGIN
  SELECT k.* INTO old FROM api_keys k
  WHERE k.organisation_id = successor.organisation_id AND k.environment = successor.environment AND k.id = old_id
    AND k.revoked_at IS NULL AND k.expires_at IS NOT DISTINCT FROM old_expiry FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM ledger.create_api_key(proof, successor, 'replaces ' || old_id, old);
  PERFORM ledger.end_api_key(
    old.organisation_id, proof, old_id, 'replaced by ' || successor.id, old_expires_at, successor.id);
  RETURN true;
END $$;

-- Pauses or resumes the rail of an environment, for all organisations. False: it was so already.
CREATE OR REPLACE FUNCTION ledger.pause_rail(proof text, env text, pauses boolean, why text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
DECLARE
  all_organisations CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
  entry    ledger.audit_entry;
BEGIN
  IF pauses = EXISTS (SELECT FROM rail_pauses p WHERE p.organisation_id = all_organisations AND p.environment = env) THEN RETURN false; END IF;
  entry := ledger.audit(all_organisations, env, proof, CASE WHEN pauses THEN 'rail.pause' ELSE 'rail.resume' END, 'rail:' || env, why);
  DELETE FROM rail_pauses p WHERE p.organisation_id = all_organisations AND p.environment = env;
  INSERT INTO rail_pauses (organisation_id, environment, operator, reason) SELECT all_organisations, env, entry.operator, why WHERE pauses;
  RETURN true;
END $$;

GRANT EXECUTE ON FUNCTION ledger.create_api_key, ledger.replace_api_key, ledger.end_api_key, ledger.pause_rail TO manilla_app;
