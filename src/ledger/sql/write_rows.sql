-- Part of ledger.post: writes the rows that are committed with the money. Each table has a function
-- ledger.write_<table>, which takes a JSON array of complete rows of one book and returns whether it wrote all of them.
-- A row of version 1 is inserted; any other replaces exactly the version before it, and is not written if it is stale.

-- Most of them are generated from this list: the table, and the columns that a new version of a row changes. A column
-- with a default that a process does not send, because it is of the release before, has its default. The functions are
-- generated here and not when they are called: so their plans are cached.
DO $generate$
DECLARE
  listed  record;
  present record;
  calls   text := '';
BEGIN
  FOR listed IN
    SELECT l.name, string_to_array(l.changed, ' ') AS changed FROM (VALUES
      ('adjustments', 'version status decided_by decided_at'),
      ('holds', 'version status amount_released amount_cancelled ended_at'),
      ('inbound_credits', 'version account_number account_reference amount sender_name sender_account_number sender_bank_code '
       'sender_session_id owner_kind owner_id status received_at recall recalled_from recalled_taken recalled_held'),
      ('payments', 'version status amount_received amount_credited amount_refunding amount_refunded amount_in_review '
       'amount_recalled fee_charged splits payer_wallet_id settled_at reference_is_free'),
      ('payout_items', 'version status account_name failure_reason failure_code failure_detail session_id returned_at clawed_back '
       'unreported'),
      ('payouts', 'version status'),
      ('reconciliation_breaks', 'version ledger_amount statement_amount cleared_at'),
      ('refunds', 'version status failure_reason failure_code failure_detail session_id completed_at returned_at clawed_back '
       'sources'),
      ('review_cases', 'version status amount wallet_id rail attempts failure failure_code failure_reason resolved_at fee '
       'with_held splits recalled_unclaimed'),
      ('fee_sweeps', NULL), ('statement_entries', NULL), ('transfers', NULL), ('virtual_accounts', NULL),
      ('withdrawals', 'version status failure_reason failure_code failure_detail session_id completed_at clawed_back')
    ) AS l (name, changed)
  LOOP
    SELECT string_agg(a.attname, ', ' ORDER BY a.attnum) AS columns,
           string_agg(CASE WHEN d.oid IS NULL THEN 'r.' || a.attname
                      ELSE format('coalesce(r.%s, %s)', a.attname, pg_get_expr(d.adbin, d.adrelid)) END, ', ' ORDER BY a.attnum) AS values
    INTO present
    FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = listed.name::regclass AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attname NOT IN ('organisation_id', 'environment');
    EXECUTE format($function$
      CREATE OR REPLACE FUNCTION ledger.write_%1$s(organisation uuid, environment text, table_rows json) RETURNS boolean
      LANGUAGE plpgsql AS $$
      #variable_conflict use_variable
      DECLARE written integer;
      BEGIN
        INSERT INTO public.%1$s (organisation_id, environment, %2$s)
        SELECT organisation, environment, %3$s
        FROM json_populate_recordset(NULL::public.%1$s, table_rows) AS r%4$s;
        GET DIAGNOSTICS written = ROW_COUNT;
        RETURN written = json_array_length(table_rows);
      END $$
      $function$,
      listed.name, present.columns, present.values,
      (SELECT format(' ON CONFLICT (organisation_id, id) DO UPDATE SET %s WHERE %s.version = excluded.version - 1',
                     string_agg(format('%1$s = excluded.%1$s', c), ', '), listed.name)
       FROM unnest(listed.changed) AS c HAVING count(*) > 0));
    calls := calls || format('WHEN %L THEN RETURN ledger.write_%s(organisation, environment, table_rows); ', listed.name, listed.name);
  END LOOP;
  -- The calls are written out: EXECUTE would plan each of them.
  EXECUTE format($function$
    CREATE OR REPLACE FUNCTION ledger.write_rows(organisation uuid, environment text, row_table text, table_rows json) RETURNS boolean
    LANGUAGE plpgsql AS $$
    BEGIN
      CASE row_table
        WHEN 'fee_sweeps' THEN
          RETURN ledger.sweeps_are_net(organisation, environment, table_rows)
                 AND ledger.write_fee_sweeps(organisation, environment, table_rows);
        WHEN 'refunds' THEN
          IF NOT ledger.write_refunds(organisation, environment, table_rows) THEN RETURN false; END IF;
          PERFORM ledger.require_refundable(organisation, environment, table_rows); -- payments are written before
          RETURN true;
        %s
      END CASE; -- any other name fails here
    END $$
    $function$, calls);
END
$generate$;

-- A sweep takes what is net: income less costs, losses, what was swept before and what is receivable. So the sweeps of
-- a book take turns, until they are committed, and that is added up under the lock: a sweep of more is not written.
CREATE OR REPLACE FUNCTION ledger.sweeps_are_net(organisation uuid, environment text, table_rows json) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE net bigint;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('fee_sweeps ' || organisation || environment, 0));
  net := ledger.own_platform_balance(organisation, environment);
  RETURN net >= (SELECT coalesce(sum(s.amount), 0) FROM json_populate_recordset(NULL::public.fee_sweeps, table_rows) AS s);
END $$;

-- A refund that begins is within what the wallet was credited and the bank has not taken back, by the rows of all
-- refunds that did not fail. A recall may make them exceed it later.
CREATE OR REPLACE FUNCTION ledger.require_refundable(organisation uuid, env text, table_rows json) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE payment uuid;
BEGIN
  SELECT p.id INTO payment
  FROM json_populate_recordset(NULL::public.refunds, table_rows) AS n
  JOIN public.payments p ON p.organisation_id = organisation AND p.id = n.payment_id
  WHERE n.version = 1 AND p.amount_credited - p.amount_recalled < (
    SELECT sum(r.amount) FROM public.refunds r
    WHERE r.organisation_id = organisation AND r.environment = env AND r.payment_id = n.payment_id AND r.status <> 'failed'
  ) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'the refunds of payment % exceed what it was credited and kept ("refunds_within_what_stayed")', payment
      USING ERRCODE = 'check_violation', CONSTRAINT = 'refunds_within_what_stayed';
  END IF;
END $$;
