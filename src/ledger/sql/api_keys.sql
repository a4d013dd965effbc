-- version 1
-- API keys, and pauses of rails: changes by an operator, or by a caller whose key has the scope `keys`. Each writes the
-- audit entry (decisions.sql) before the change, because a caller may replace or revoke its own key.

-- Stores a key. A caller's key gives no scope that it has not; a scope includes its reads.
CREATE OR REPLACE FUNCTION ledger.create_api_key(proof text, created api_keys, why text) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
DECLARE
  entry CONSTANT ledger.audit_entry := ledger.audit(
    created.organisation_id, created.environment, proof, 'api_key.create', created.id::text, why);
BEGIN
  IF starts_with(proof, 'api:') AND EXISTS (
    SELECT FROM unnest(created.scopes) AS s WHERE s <> ALL (entry.scopes) AND replace(s, ':read', '') <> ALL (entry.scopes)
  ) THEN
    RAISE EXCEPTION 'a key gives a scope that it has not' USING ERRCODE = 'insufficient_privilege';
  END IF;
  INSERT INTO api_keys SELECT created.*;
END
$$;

-- Stores the successor of a key, which expires then. False, without a change: it was revoked, or has another expiry.
CREATE OR REPLACE FUNCTION ledger.replace_api_key(
  proof text, old_id uuid, old_expiry timestamptz, old_expires_at timestamptz, successor api_keys
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
BEGIN
  PERFORM ledger.audit(k.organisation_id, k.environment, proof, 'api_key.rotate', old_id::text, 'replaced by ' || successor.id)
  FROM api_keys k
  WHERE k.organisation_id = successor.organisation_id AND k.environment = successor.environment AND k.id = old_id
    AND k.revoked_at IS NULL AND k.expires_at IS NOT DISTINCT FROM old_expiry FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  PERFORM ledger.create_api_key(proof, successor, 'replaces ' || old_id);
  UPDATE api_keys k SET expires_at = old_expires_at WHERE k.organisation_id = successor.organisation_id AND k.id = old_id;
  RETURN true;
END
$$;

-- Revokes a key. False: it was revoked already, or does not exist.
CREATE OR REPLACE FUNCTION ledger.revoke_api_key(organisation uuid, proof text, key_id uuid, why text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
BEGIN
  PERFORM ledger.audit(organisation, k.environment, proof, 'api_key.revoke', key_id::text, why) FROM api_keys k
  WHERE k.organisation_id = organisation AND k.id = key_id AND k.revoked_at IS NULL FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE api_keys k SET revoked_at = now() WHERE k.organisation_id = organisation AND k.id = key_id;
  RETURN true;
END
$$;

-- Pauses or resumes the rail of an environment, for all organisations. False: it was so already.
CREATE OR REPLACE FUNCTION ledger.pause_rail(proof text, env text, pauses boolean, why text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, public, pg_temp AS $$
DECLARE
  everyone CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
  entry    ledger.audit_entry;
BEGIN
  IF pauses = EXISTS (SELECT FROM rail_pauses p WHERE p.organisation_id = everyone AND p.environment = env) THEN RETURN false; END IF;
  entry := ledger.audit(everyone, env, proof, CASE WHEN pauses THEN 'rail.pause' ELSE 'rail.resume' END, 'rail:' || env, why);
  DELETE FROM rail_pauses p WHERE p.organisation_id = everyone AND p.environment = env;
  INSERT INTO rail_pauses (organisation_id, environment, operator, reason) SELECT everyone, env, entry.operator, why WHERE pauses;
  RETURN true;
END
$$;

GRANT EXECUTE ON FUNCTION ledger.create_api_key, ledger.replace_api_key, ledger.revoke_api_key, ledger.pause_rail TO manilla_app;
