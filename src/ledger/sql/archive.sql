-- version 5
-- Archives (migration 0082): the postings of a month go to a file and come back, some seals at a time. After each step
-- archived_balances has the sum of what is in files, so that the ledger is whole at any moment, and a step that was
-- interrupted is repeated. Nothing here but the reading functions is granted to the service.

-- Up to when the postings of a book are archived; '-infinity': none are.
CREATE OR REPLACE FUNCTION ledger.archived_until(organisation uuid, env text) RETURNS timestamptz
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
BEGIN
  RETURN (
    SELECT coalesce(max(archived_until), '-infinity') FROM ledger.archives
    WHERE organisation_id = organisation AND environment = env
  );
END
$$;

-- What the archive of a month would hold: the seals of the book that end in it and are in no archive. Outcomes: ready;
-- begun (it is on its way to a file, or back); archived; not_closed; too_recent (fewer than `months_kept` months have
-- ended since); unsealed (postings of the month are in no seal yet); not_next (`next_period` comes first); empty.
CREATE OR REPLACE FUNCTION ledger.plan_archive(organisation uuid, env text, month date, months_kept integer)
RETURNS TABLE (outcome text, next_period date, first_seal integer, last_seal integer, sealed_until timestamptz, posting_count bigint,
               amount numeric, digest_before bytea, digest bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  ends_at CONSTANT timestamptz := ledger.day_end((month + interval '1 month')::date - 1);
  known   ledger.archives;
BEGIN
  SELECT * INTO known FROM ledger.archives a WHERE a.organisation_id = organisation AND a.environment = env AND a.period = month;
  IF FOUND THEN
    first_seal := known.first_seal;
  ELSE
    SELECT coalesce(max(a.last_seal), 0) + 1 INTO first_seal FROM ledger.archives a
    WHERE a.organisation_id = organisation AND a.environment = env;
  END IF;
  SELECT max(s.number), sum(s.posting_count)::bigint, sum(s.amount), max(s.sealed_until)
  INTO last_seal, posting_count, amount, sealed_until
  FROM ledger.seals s
  WHERE s.organisation_id = organisation AND s.environment = env AND s.number >= first_seal
    AND (s.number <= known.last_seal OR known.last_seal IS NULL AND s.sealed_until < ends_at);
  SELECT s.digest INTO digest FROM ledger.seals s WHERE s.organisation_id = organisation AND s.environment = env AND s.number = last_seal;
  SELECT s.digest INTO digest_before FROM ledger.seals s
  WHERE s.organisation_id = organisation AND s.environment = env AND s.number = first_seal - 1;
  SELECT date_trunc('month', ledger.accounting_day(s.sealed_until))::date INTO next_period FROM ledger.seals s
  WHERE s.organisation_id = organisation AND s.environment = env AND s.number = first_seal;
  SELECT coalesce(min(a.period), next_period) INTO next_period FROM ledger.archives a
  WHERE a.organisation_id = organisation AND a.environment = env AND a.archived_seal < a.last_seal;
  outcome := CASE
    WHEN known.archived_seal = known.last_seal THEN 'archived'
    WHEN known.archived_seal IS NOT NULL THEN 'begun'
    WHEN NOT EXISTS (
      SELECT FROM ledger.closed_periods p WHERE p.organisation_id = organisation AND p.environment = env AND p.period = month) THEN 'not_closed'
    WHEN ends_at + make_interval(months => months_kept) > clock_timestamp() THEN 'too_recent'
    WHEN next_period < month THEN 'not_next'
    WHEN EXISTS (
      -- IS TRUE: as in src/verification/seals.ts.
      SELECT FROM ledger.postings p
      WHERE (p.organisation_id = organisation) IS TRUE AND (p.environment = env) IS TRUE AND p.created_at < ends_at
        AND p.created_at > coalesce((
          SELECT max(s.sealed_until) FROM ledger.seals s WHERE s.organisation_id = organisation AND s.environment = env
        ), '-infinity')) THEN 'unsealed'
    WHEN last_seal IS NULL THEN 'empty'
    ELSE 'ready'
  END;
  RETURN NEXT;
END
$$;

-- What the postings that a seal covers make together now: the digest that it has, if none was changed.
CREATE OR REPLACE FUNCTION ledger.sealed_digest(organisation uuid, env text, seal integer) RETURNS bytea
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp SET enable_seqscan = off AS $$
DECLARE
  sealed  ledger.seals;
  since   timestamptz;
  before  bytea;
  digests bytea;
BEGIN
  SELECT * INTO STRICT sealed FROM ledger.seals s WHERE s.organisation_id = organisation AND s.environment = env AND s.number = seal;
  SELECT s.sealed_until, s.digest INTO since, before FROM ledger.seals s
  WHERE s.organisation_id = organisation AND s.environment = env AND s.number = seal - 1;
  SELECT string_agg(d.digest, '' ORDER BY d.digest) INTO digests
  FROM ledger.postings p
  JOIN ledger.transactions t ON t.organisation_id = p.organisation_id AND t.id = p.transaction_id
  CROSS JOIN LATERAL (
    SELECT ledger.posting_digest(ROW(p.*)::ledger.postings, ROW(t.*)::ledger.transactions) AS digest OFFSET 0
  ) d
  -- IS TRUE: as in src/verification/seals.ts.
  WHERE (p.organisation_id = organisation) IS TRUE AND (p.environment = env) IS TRUE
    AND p.created_at > coalesce(since, '-infinity') AND p.created_at <= sealed.sealed_until;
  RETURN sha256(coalesce(before, '') || coalesce(digests, ''));
END
$$;

-- The postings that a seal covers, each with its transaction and the codes of its accounts as a line of JSON, by id;
-- and whether they still have the digest of the seal. The zone is fixed, because the same postings must make the same
-- file.
CREATE OR REPLACE FUNCTION ledger.archive_lines(organisation uuid, env text, seal integer, OUT lines text, OUT is_intact boolean)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = ledger, pg_temp SET timezone = 'UTC' SET enable_seqscan = off AS $$
DECLARE
  sealed ledger.seals;
  since  timestamptz;
BEGIN
  SELECT * INTO STRICT sealed FROM ledger.seals s WHERE s.organisation_id = organisation AND s.environment = env AND s.number = seal;
  SELECT s.sealed_until INTO since FROM ledger.seals s
  WHERE s.organisation_id = organisation AND s.environment = env AND s.number = seal - 1;
  is_intact := ledger.sealed_digest(organisation, env, seal) = sealed.digest;
  SELECT string_agg(
    json_build_object('seal', seal, 'debit', debit.code, 'credit', credit.code, 'posting', p, 'transaction', t)::text,
    E'\n' ORDER BY p.id, p.transaction_id
  ) INTO lines
  FROM ledger.postings p
  JOIN ledger.transactions t ON t.organisation_id = p.organisation_id AND t.id = p.transaction_id
  JOIN ledger.accounts debit ON debit.organisation_id = p.organisation_id AND debit.id = p.debit_account_id
  JOIN ledger.accounts credit ON credit.organisation_id = p.organisation_id AND credit.id = p.credit_account_id
  -- IS TRUE: as in src/verification/seals.ts.
  WHERE (p.organisation_id = organisation) IS TRUE AND (p.environment = env) IS TRUE
    AND p.created_at > coalesce(since, '-infinity') AND p.created_at <= sealed.sealed_until;
END
$$;

-- Records the file of a month, with the audit entry, before anything is moved. Repeated while nothing was moved, it
-- records the file that was written last.
CREATE OR REPLACE FUNCTION ledger.begin_archive(
  organisation uuid, env text, month date, months_kept integer, manifest bytea, deciding_operator uuid, operator_name text
) RETURNS void
LANGUAGE plpgsql SET search_path = ledger, public, pg_temp AS $$
DECLARE
  plan           record;
  archived_until timestamptz;
BEGIN
  SELECT * INTO plan FROM ledger.plan_archive(organisation, env, month, months_kept);
  IF plan.outcome = 'begun' THEN
    UPDATE ledger.archives a SET manifest_digest = manifest
    WHERE a.organisation_id = organisation AND a.environment = env AND a.period = month AND a.archived_seal < a.first_seal;
    RETURN;
  ELSIF plan.outcome <> 'ready' THEN
    RAISE EXCEPTION 'the month % cannot be archived: %', month, plan.outcome;
  END IF;
  archived_until := ledger.archived_until(organisation, env);
  INSERT INTO ledger.archives (organisation_id, environment, period, first_seal, last_seal, sealed_until, posting_count,
                               manifest_digest, archived_seal, archived_until)
  VALUES (organisation, env, month, plan.first_seal, plan.last_seal, plan.sealed_until, plan.posting_count, manifest, plan.first_seal - 1,
          archived_until);
  INSERT INTO audit_log (organisation_id, environment, operator_id, operator, action, subject)
  VALUES (organisation, env, deciding_operator, operator_name, 'ledger.archive', to_char(month, 'YYYY-MM'));
END
$$;

-- The archived balances of a book as one digest: what `ledger verify` compares them with.
CREATE OR REPLACE FUNCTION ledger.archived_balances_digest(organisation uuid, env text) RETURNS bytea
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
BEGIN
  RETURN (
    SELECT sha256(convert_to(
      coalesce(string_agg(concat_ws(' ', account_id, balance, entries), E'\n' ORDER BY account_id), ''), 'UTF8'
    ))
    FROM ledger.archived_balances WHERE organisation_id = organisation AND environment = env
  );
END
$$;

-- Moves the next seals of a month out of the table, as many as have about `postings_max` postings, at least one.
-- Returns whether there are more. Its file must have been checked before.
CREATE OR REPLACE FUNCTION ledger.move_to_archive(organisation uuid, env text, month date, postings_max integer) RETURNS boolean
LANGUAGE plpgsql SET search_path = ledger, pg_temp SET enable_seqscan = off AS $$
DECLARE
  archive   ledger.archives;
  next_seal ledger.seals;
  expected  bigint;
  moved     record;
  balances  bytea;
BEGIN
  SELECT * INTO STRICT archive FROM ledger.archives a
  WHERE a.organisation_id = organisation AND a.environment = env AND a.period = month FOR NO KEY UPDATE;
  IF archive.archived_seal = archive.last_seal THEN RETURN false; END IF;
  SELECT max(s.number), sum(s.posting_count) INTO next_seal.number, expected
  FROM (
    SELECT number, posting_count, sum(posting_count) OVER (ORDER BY number) - posting_count AS before
    FROM ledger.seals
    WHERE organisation_id = organisation AND environment = env AND number > archive.archived_seal AND number <= archive.last_seal
  ) s
  WHERE s.before < postings_max;
  SELECT * INTO STRICT next_seal FROM ledger.seals s
  WHERE s.organisation_id = organisation AND s.environment = env AND s.number = next_seal.number;

  WITH removed AS (
    DELETE FROM ledger.postings p
    WHERE (p.organisation_id = organisation) IS TRUE AND (p.environment = env) IS TRUE
      AND p.created_at > archive.archived_until AND p.created_at <= next_seal.sealed_until
    RETURNING p.*
  ), written AS (
    INSERT INTO ledger.archived_balances AS b (organisation_id, environment, account_id, balance, entries, last_number)
    SELECT organisation, env, e.account_id, sum(e.change), count(*), coalesce(max(e.number), 0)
    FROM (
      SELECT debit_account_id AS account_id, -amount AS change, CASE WHEN debit_balance_after IS NOT NULL THEN coalesce(debit_number, id) END AS number
      FROM removed
      UNION ALL
      SELECT credit_account_id, amount, CASE WHEN credit_balance_after IS NOT NULL THEN coalesce(credit_number, id) END FROM removed
    ) e
    GROUP BY e.account_id
    ON CONFLICT (organisation_id, account_id) DO UPDATE
    SET balance = b.balance + excluded.balance, entries = b.entries + excluded.entries, last_number = excluded.last_number
  )
  SELECT count(*) AS postings, count(DISTINCT transaction_id) AS transactions INTO moved FROM removed;
  IF moved.postings <> expected THEN
    RAISE EXCEPTION 'the seals % to % of the archive cover % postings, and % were found', archive.archived_seal + 1, next_seal.number, expected, moved.postings;
  END IF;
  UPDATE ledger.archives a
  SET archived_seal = next_seal.number, archived_until = next_seal.sealed_until,
      moved_postings = a.moved_postings + moved.postings, moved_transactions = a.moved_transactions + moved.transactions
  WHERE a.organisation_id = organisation AND a.environment = env AND a.period = month;
  IF next_seal.number < archive.last_seal THEN RETURN true; END IF;
  balances := ledger.archived_balances_digest(organisation, env);
  UPDATE ledger.archives a SET balances_digest = balances
  WHERE a.organisation_id = organisation AND a.environment = env AND a.period = month;
  RETURN false;
END
$$;

-- Begins to restore a month, with the audit entry; it must be the last one that was archived. Repeated, it changes
-- nothing.
CREATE OR REPLACE FUNCTION ledger.begin_restore(organisation uuid, env text, month date, deciding_operator uuid, operator_name text)
RETURNS void
LANGUAGE plpgsql SET search_path = ledger, public, pg_temp AS $$
BEGIN
  UPDATE ledger.archives a SET balances_digest = NULL
  WHERE a.organisation_id = organisation AND a.environment = env AND a.period = month AND a.balances_digest IS NOT NULL;
  IF NOT FOUND THEN RETURN; END IF;
  INSERT INTO audit_log (organisation_id, environment, operator_id, operator, action, subject)
  VALUES (organisation, env, deciding_operator, operator_name, 'ledger.restore', to_char(month, 'YYYY-MM'));
END
$$;

-- Puts postings back: those of the seals from `first` up to the last one that is archived, as lines of the file. Fails
-- unless they have exactly the digests of these seals. Returns whether there are more seals to restore; after the last
-- one the month is no longer archived.
CREATE OR REPLACE FUNCTION ledger.move_from_archive(organisation uuid, env text, month date, first integer, lines jsonb) RETURNS boolean
LANGUAGE plpgsql SET search_path = ledger, pg_temp SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  archive    ledger.archives;
  since      timestamptz;
  expected   bigint;
  restored   record;
  sealed     ledger.seals;
  are_intact boolean;
BEGIN
  SELECT * INTO STRICT archive FROM ledger.archives a
  WHERE a.organisation_id = organisation AND a.environment = env AND a.period = month FOR NO KEY UPDATE;
  IF first NOT BETWEEN archive.first_seal AND archive.archived_seal OR EXISTS (
    SELECT FROM ledger.archives a WHERE a.organisation_id = organisation AND a.environment = env AND a.period > month
  ) THEN
    RAISE EXCEPTION 'the seals from % on are not the last ones that are archived', first;
  END IF;
  SELECT coalesce(max(s.sealed_until), '-infinity') INTO since FROM ledger.seals s
  WHERE s.organisation_id = organisation AND s.environment = env AND s.number < first;
  SELECT sum(s.posting_count) INTO expected FROM ledger.seals s
  WHERE s.organisation_id = organisation AND s.environment = env AND s.number BETWEEN first AND archive.archived_seal;

  WITH added AS (
    INSERT INTO ledger.postings
    SELECT p.* FROM jsonb_array_elements(lines) AS l (line), jsonb_populate_record(NULL::ledger.postings, l.line -> 'posting') p
    RETURNING *
  ), written AS (
    UPDATE ledger.archived_balances b
    SET balance = b.balance - e.change, entries = b.entries - e.entries, last_number = coalesce(e.first_number - 1, 0)
    FROM (
      SELECT s.account_id, sum(s.change) AS change, count(*) AS entries, min(s.number) AS first_number
      FROM (
        SELECT debit_account_id AS account_id, -amount AS change, CASE WHEN debit_balance_after IS NOT NULL THEN coalesce(debit_number, id) END AS number
        FROM added
        UNION ALL
        SELECT credit_account_id, amount, CASE WHEN credit_balance_after IS NOT NULL THEN coalesce(credit_number, id) END FROM added
      ) s
      GROUP BY s.account_id
    ) e
    WHERE b.organisation_id = organisation AND b.account_id = e.account_id
  )
  SELECT count(*) AS postings, count(DISTINCT transaction_id) AS transactions INTO restored FROM added;

  are_intact := restored.postings = expected;
  FOR sealed IN
    SELECT * FROM ledger.seals s
    WHERE s.organisation_id = organisation AND s.environment = env AND s.number BETWEEN first AND archive.archived_seal
  LOOP
    are_intact := are_intact AND ledger.sealed_digest(organisation, env, sealed.number) = sealed.digest;
  END LOOP;
  IF NOT are_intact THEN
    RAISE EXCEPTION 'the postings of the file are not those of the seals % to % ("archive_has_its_seals")', first, archive.archived_seal
      USING ERRCODE = 'check_violation', CONSTRAINT = 'archive_has_its_seals';
  END IF;
  DELETE FROM ledger.archived_balances b WHERE b.organisation_id = organisation AND b.environment = env AND b.entries = 0;
  IF first = archive.first_seal THEN
    DELETE FROM ledger.archives a WHERE a.organisation_id = organisation AND a.environment = env AND a.period = month;
    RETURN false;
  END IF;
  UPDATE ledger.archives a
  SET archived_seal = first - 1, archived_until = since, moved_postings = a.moved_postings - restored.postings,
      moved_transactions = a.moved_transactions - restored.transactions
  WHERE a.organisation_id = organisation AND a.environment = env AND a.period = month;
  RETURN true;
END
$$;

REVOKE ALL ON FUNCTION
  ledger.archived_until, ledger.plan_archive, ledger.sealed_digest, ledger.archive_lines, ledger.begin_archive, ledger.archived_balances_digest,
  ledger.move_to_archive, ledger.begin_restore, ledger.move_from_archive
FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.archived_until, ledger.archived_balances_digest TO manilla_app;

-- Postings leave the table by way of an archive only. (The trigger of migration 0082; here each book is looked up on
-- its own, which Citus can do too.)
CREATE OR REPLACE FUNCTION ledger.refuse_unarchived() RETURNS trigger LANGUAGE plpgsql SET search_path = ledger, pg_temp AS $$
DECLARE
  book           record;
  archived_until timestamptz;
BEGIN
  FOR book IN
    SELECT r.organisation_id, r.environment, max(r.created_at) AS last_posted FROM removed r GROUP BY r.organisation_id, r.environment
  LOOP
    SELECT max(a.sealed_until) INTO archived_until FROM ledger.archives a
    WHERE a.organisation_id = book.organisation_id AND a.environment = book.environment;
    IF archived_until IS NULL OR book.last_posted > archived_until THEN
      RAISE EXCEPTION 'postings is append-only: post a reversing transaction instead' USING ERRCODE = 'insufficient_privilege';
    END IF;
  END LOOP;
  RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION ledger.refuse_unarchived FROM PUBLIC;
