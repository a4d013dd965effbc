-- Seals. The digest of a posting covers its columns and those of its transaction, that of an audit entry its columns.

-- SHA-256 over the columns, one a line, with NULL as an empty line and times in milliseconds since 1970: the same in
-- every session. No column that the service wrote contains a line break, so no other columns have the same text.
CREATE OR REPLACE FUNCTION ledger.posting_digest(p ledger.postings, t ledger.transactions) RETURNS bytea LANGUAGE sql STABLE AS $$
  SELECT sha256(convert_to(concat_ws(E'\n',
    p.organisation_id, p.environment, p.id, p.transaction_id, p.debit_account_id, p.credit_account_id, p.amount,
    coalesce(p.debit_balance_after::text, ''), coalesce(p.credit_balance_after::text, ''),
    (date_part('epoch', p.created_at) * 1000)::bigint, t.environment, t.key, t.kind, t.resource,
    coalesce(t.resolves::text, ''), coalesce(t.reverses::text, ''), (date_part('epoch', t.effective_at) * 1000)::bigint,
    (date_part('epoch', t.moved_at) * 1000)::bigint, (date_part('epoch', t.created_at) * 1000)::bigint, coalesce(p.debit_number::text, ''),
    coalesce(p.credit_number::text, '')
  ), 'UTF8'))
$$;

-- An audit entry of no environment is sealed with those of live. As JSON, which separates the operators' texts, and
-- like a posting the same in every session.
CREATE OR REPLACE FUNCTION ledger.audit_digest(a public.audit_log) RETURNS bytea LANGUAGE sql STABLE SET bytea_output = hex AS $$
  SELECT sha256(convert_to(
    (to_jsonb(a) || jsonb_build_object('created_at', (date_part('epoch', a.created_at) * 1000)::bigint))::text, 'UTF8'))
$$;

-- Seals the postings and audit entries of all books that are dated before a time, which must be longer ago than a
-- statement of the service can take: then all of them are committed. Seals at most about `postings_max` at a time, to
-- limit memory, and returns the number of seals, and whether there is more to seal. A concurrent call seals nothing.
-- The transaction of each posting is found by its id (LATERAL with OFFSET 0 allows no other plan): a hash join would
-- read every transaction of the ledger. The index of times is brought up to date first: the database does so about once
-- a minute, and each seal would read all postings since. It does not wait for the lock of a vacuum, because a wait of a
-- second would cancel the vacuum.
CREATE OR REPLACE FUNCTION ledger.seal(closed_before timestamptz, postings_max integer, OUT seals integer, OUT is_behind boolean)
LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ledger, pg_temp
SET enable_seqscan = off
SET work_mem = '64MB'
SET lock_timeout = '100ms'
AS $$
DECLARE
  sealed_before timestamptz;
  new_until     timestamptz := date_trunc('milliseconds', closed_before); -- the columns round
  limited_until timestamptz;
BEGIN
  seals := 0;
  is_behind := false;
  IF closed_before > now() - interval '10 s' THEN
    RAISE EXCEPTION 'postings of the last ten seconds may be uncommitted' USING ERRCODE = 'invalid_parameter_value';
  END IF;
  IF NOT pg_try_advisory_xact_lock(7164500002) THEN RETURN; END IF;
  -- Where the clock was set forward, statements in progress may be dated before it.
  PERFORM ledger.last_final_posting('00000000-0000-0000-0000-000000000000');
  PERFORM ledger.await_writers('public.audit_log', interval '15 s');
  BEGIN
    PERFORM brin_summarize_new_values('ledger.postings_by_time');
  EXCEPTION WHEN lock_not_available THEN NULL;
  END;
  SELECT coalesce(max(s.sealed_until), '-infinity') INTO sealed_before FROM ledger.seals s;
  SELECT p.created_at INTO limited_until FROM ledger.postings p
  WHERE p.created_at > sealed_before AND p.created_at < closed_before ORDER BY p.created_at OFFSET postings_max LIMIT 1;
  is_behind := limited_until IS NOT NULL;
  new_until := coalesce(limited_until, new_until);
  INSERT INTO ledger.seals (organisation_id, environment, number, sealed_until, posting_count, amount, audit_count, digest)
  SELECT b.organisation_id, b.environment, coalesce(previous.number, 0) + 1, new_until, b.posting_count, b.amount,
         b.audit_count, sha256(coalesce(previous.digest, '') || b.digests)
  FROM (
    SELECT r.organisation_id, r.environment, count(r.amount) AS posting_count, coalesce(sum(r.amount), 0) AS amount,
           count(*) - count(r.amount) AS audit_count, string_agg(r.digest, '' ORDER BY r.digest) AS digests
    FROM (
      SELECT p.organisation_id, p.environment, p.amount, d.digest
      FROM ledger.postings p
      CROSS JOIN LATERAL (
        SELECT ledger.posting_digest(ROW(p.*)::ledger.postings, ROW(t.*)::ledger.transactions) AS digest FROM ledger.transactions t
        WHERE t.organisation_id = p.organisation_id AND t.id = p.transaction_id OFFSET 0
      ) d
      WHERE p.created_at > sealed_before AND p.created_at <= new_until
      UNION ALL
      SELECT a.organisation_id, coalesce(a.environment, 'live'), NULL, ledger.audit_digest(a) FROM public.audit_log a
      WHERE a.created_at > sealed_before AND a.created_at <= new_until
    ) r
    GROUP BY r.organisation_id, r.environment
  ) b
  LEFT JOIN LATERAL (
    SELECT s.number, s.digest FROM ledger.seals s
    WHERE s.organisation_id = b.organisation_id AND s.environment = b.environment ORDER BY s.number DESC LIMIT 1
  ) previous ON true;
  GET DIAGNOSTICS seals = ROW_COUNT;
END $$;

-- The seals of an organisation behind the one of this environment and number, each with what it covers now. IS TRUE:
-- only the index of times, which is small, fits; the others would be read from end to end for each seal.
CREATE OR REPLACE FUNCTION ledger.compare_seals(organisation uuid, after_environment text, after_number integer, seals_max integer)
RETURNS TABLE (
  organisation_id uuid, environment text, number integer, sealed_until timestamptz, posting_count bigint, amount text,
  audit_count bigint, digest bytea, found_postings bigint, found_amount text, found_audit bigint, is_intact boolean
)
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT s.organisation_id, s.environment, s.number, s.sealed_until::timestamptz, s.posting_count::bigint, s.amount::text,
           s.audit_count::bigint, s.digest, f.found_postings, f.found_amount, f.found_audit,
           sha256(coalesce(previous.digest, '') || coalesce(f.digests, '')) = s.digest
    FROM (
      SELECT * FROM ledger.seals
      WHERE organisation_id = organisation
        AND (after_number IS NULL OR (environment, number) > (after_environment, after_number))
      ORDER BY environment, number LIMIT seals_max
    ) s
    LEFT JOIN ledger.seals previous ON previous.organisation_id = organisation
      AND previous.environment = s.environment AND previous.number = s.number - 1
    CROSS JOIN LATERAL (
      SELECT count(r.amount) AS found_postings, coalesce(sum(r.amount), 0)::text AS found_amount,
             count(*) - count(r.amount) AS found_audit, string_agg(r.digest, '' ORDER BY r.digest) AS digests
      FROM (
        SELECT p.amount, d.digest
        FROM ledger.postings p
        JOIN ledger.transactions t ON t.organisation_id = p.organisation_id AND t.id = p.transaction_id
        CROSS JOIN LATERAL (
          SELECT ledger.posting_digest(ROW(p.*)::ledger.postings, ROW(t.*)::ledger.transactions) AS digest OFFSET 0
        ) d
        WHERE (p.organisation_id = organisation) IS TRUE AND (p.environment = s.environment) IS TRUE
          AND p.created_at > coalesce(previous.sealed_until, '-infinity') AND p.created_at <= s.sealed_until
        UNION ALL
        SELECT NULL, ledger.audit_digest(a) FROM public.audit_log a
        WHERE a.organisation_id = organisation AND coalesce(a.environment, 'live') = s.environment
          AND a.created_at > coalesce(previous.sealed_until, '-infinity') AND a.created_at <= s.sealed_until
      ) r
    ) f
    ORDER BY s.environment, s.number;
END $$;
GRANT EXECUTE ON FUNCTION ledger.posting_digest, ledger.audit_digest, ledger.seal, ledger.compare_seals TO manilla_app;
