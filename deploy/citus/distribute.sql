-- Distributes the tables and functions of Manilla on a Citus cluster by organisation (docs/citus.md). Run on the
-- coordinator as the owner of the database after every `migrate` and functions.sql, while the service is stopped or
-- before it is started: a new table and a new version of a function are local until then. Can be repeated: what is
-- distributed stays as it is.
--
-- `test/database/citusTables.test.ts` compares the lists with the tables of the migrations.
SET citus.enable_unsafe_triggers = on; -- as in roles.sql
-- One connection to each node: the tables of a transaction are then created one after the other.
SET citus.multi_shard_modify_mode = 'sequential';

DO $distribute$
DECLARE
  -- Small tables of the whole installation, which statements of a node read: a copy on each node.
  on_each_node CONSTANT text[] := ARRAY[
    'public.decision_limits',
    'public.operator_codes',
    'public.operators',
    'public.rail_pauses'
  ];
  -- One colocation group: all rows of an organisation are on one node. Rows of the whole installation have the nil UUID
  -- and are on one node too. The first table founds the group.
  by_organisation CONSTANT text[] := ARRAY[
    'public.organisations',
    'ledger.accounts',
    'ledger.closed_days',
    'ledger.closed_periods',
    'ledger.closing_balances',
    'ledger.own_funds',
    'ledger.postings',
    'ledger.seals',
    'ledger.transactions',
    'public.adjustments',
    'public.api_keys',
    'public.audit_log',
    'public.bank_balances',
    'public.day_proofs',
    'public.debt_recoveries',
    'public.events',
    'public.failing_flows',
    'public.fee_schedules',
    'public.fee_sweeps',
    'public.idempotency_keys',
    'public.inbound_credits',
    'public.limit_policies',
    'public.operator_proposals',
    'public.outbox',
    'public.payments',
    'public.payout_items',
    'public.payouts',
    'public.rail_progress',
    'public.rail_checks',
    'public.rail_contracts',
    'public.provider_messages',
    'public.rate_counters',
    'public.reconciliation_breaks',
    'public.refunds',
    'public.request_logs',
    'public.review_cases',
    'public.split_templates',
    'public.statement_entries',
    'public.transfer_sends',
    'public.transfers',
    'public.virtual_accounts',
    'public.wallet_kyc',
    'public.wallets',
    'public.webhook_attempts',
    'public.webhook_deliveries',
    'public.webhook_endpoints',
    'public.holds',
    'public.withdrawals'
  ];
  next  record;
  group_of CONSTANT text := by_organisation[1];
BEGIN
  -- An unlogged table is in no publication, by which a shard is moved without stopping writes.
  IF (SELECT relpersistence = 'u' FROM pg_class WHERE oid = 'public.rate_counters'::regclass) THEN
    ALTER TABLE public.rate_counters SET LOGGED;
  END IF;

  FOR next IN
    SELECT name FROM unnest(on_each_node) AS name
    WHERE NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = name::regclass)
  LOOP
    PERFORM create_reference_table(next.name::regclass);
  END LOOP;
  FOR next IN
    SELECT name FROM unnest(by_organisation) WITH ORDINALITY AS listed (name, place)
    WHERE NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = name::regclass)
    ORDER BY place
  LOOP
    PERFORM create_distributed_table(next.name::regclass, 'organisation_id',
                                     colocate_with := CASE next.name WHEN group_of THEN 'none' ELSE group_of END);
  END LOOP;
  FOR next IN
    SELECT c.oid::regclass AS name
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE n.nspname IN ('ledger', 'public') AND c.relkind IN ('r', 'p') AND a.attname = 'organisation_id'
      AND NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = c.oid)
  LOOP
    RAISE EXCEPTION 'the table % is in no list of distribute.sql', next.name;
  END LOOP;

  -- Where all rows of a time are read, by the index of times, the book is compared in a form that no other index fits
  -- (`IS TRUE`). Citus needs the plain form to choose a node.
  FOR next IN
    SELECT pg_get_functiondef(p.oid) AS definition FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'ledger' AND p.prosrc LIKE '%(p.organisation_id = organisation) IS TRUE%'
  LOOP
    EXECUTE replace(replace(next.definition, '(p.organisation_id = organisation) IS TRUE', 'p.organisation_id = organisation'),
                    '(p.environment = env) IS TRUE', 'p.environment = env');
  END LOOP;

  -- Citus counts the rows that INSERT … SELECT … ON CONFLICT has read, also those that it has not written: a stale
  -- version of a row would count as written. What RETURNING gives is right.
  FOR next IN
    SELECT pg_get_functiondef(p.oid) AS definition FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'ledger'
      AND p.prosrc ~ '\mINSERT INTO\M[^;]*\mSELECT\M[^;]*\mON CONFLICT\M[^;]*;\s*GET DIAGNOSTICS written = ROW_COUNT;'
  LOOP
    EXECUTE regexp_replace(
      next.definition, '(\mINSERT INTO\M[^;]*\mON CONFLICT\M[^;]*);\s*GET DIAGNOSTICS written = ROW_COUNT;',
      'WITH counted AS (\1 RETURNING organisation_id) SELECT count(*) INTO written FROM counted;');
  END LOOP;

  -- Each node has its own clock.
  PERFORM run_command_on_workers('CREATE SEQUENCE IF NOT EXISTS ledger.clock');

  -- A call of a function whose first argument is the organisation runs as a whole on the node of the organisation.
  FOR next IN
    SELECT p.oid::regprocedure::text AS signature FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'ledger' AND p.proargnames[1] = 'organisation' AND p.proargtypes[0] = 'uuid'::regtype
      AND NOT EXISTS (
        SELECT FROM pg_dist_object o
        WHERE o.classid = 'pg_proc'::regclass AND o.objid = p.oid AND o.distribution_argument_index IS NOT NULL)
  LOOP
    PERFORM create_distributed_function(next.signature::regprocedure, 'organisation', colocate_with := group_of);
  END LOOP;

  -- Citus creates a function on the other nodes as soon as it is created, unless it takes a row of a table that is not
  -- distributed yet, as those of digests do.
  FOR next IN
    SELECT p.oid::regprocedure::text AS signature FROM pg_proc p
    WHERE p.pronamespace = 'ledger'::regnamespace AND p.prokind = 'f'
      AND NOT EXISTS (SELECT FROM pg_dist_object o WHERE o.classid = 'pg_proc'::regclass AND o.objid = p.oid)
  LOOP
    PERFORM create_distributed_function(next.signature::regprocedure);
  END LOOP;

  -- Citus asks the nodes as the reader of a view, not as its owner: accountants may read the columns that their views
  -- read, and no others.
  GRANT USAGE ON SCHEMA ledger TO manilla_accountant;
  FOR next IN
    WITH RECURSIVE reads AS (
      SELECT r.ev_class AS view, d.refobjid AS relation, d.refobjsubid AS number
      FROM pg_rewrite r JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
      WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid <> r.ev_class
    ), views AS (
      SELECT oid FROM pg_class WHERE relnamespace = 'accounting'::regnamespace AND relkind = 'v'
      UNION
      SELECT reads.relation FROM views JOIN reads ON reads.view = views.oid JOIN pg_class c ON c.oid = reads.relation AND c.relkind = 'v'
    )
    SELECT a.attrelid::regclass AS name, string_agg(DISTINCT quote_ident(a.attname), ', ') AS columns
    FROM views JOIN reads ON reads.view = views.oid
    JOIN pg_class c ON c.oid = reads.relation AND c.relkind IN ('r', 'p')
    JOIN pg_attribute a ON a.attrelid = reads.relation AND a.attnum = reads.number AND a.attnum > 0
    GROUP BY a.attrelid
  LOOP
    EXECUTE format('GRANT SELECT (%s) ON %s TO manilla_accountant', next.columns, next.name);
  END LOOP;

  -- A plan without the values of a call cannot be routed: Citus refuses it.
  FOR next IN
    SELECT p.oid::regprocedure AS signature FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE n.nspname = 'ledger' AND 'plan_cache_mode=force_generic_plan' = ANY (p.proconfig)
  LOOP
    EXECUTE format('ALTER FUNCTION %s RESET plan_cache_mode', next.signature);
  END LOOP;
END
$distribute$;

-- Citus creates a function on the other nodes with the right of everyone to call it, which was taken away before.
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA ledger FROM PUBLIC;
-- The node that receives an INSERT takes the number of the row for the node that stores it, with the rights of the
-- service.
GRANT USAGE ON ALL SEQUENCES IN SCHEMA ledger, public TO manilla_app;
