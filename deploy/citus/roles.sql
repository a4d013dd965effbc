-- The roles of Manilla on a Citus cluster (docs/citus.md). Run by a superuser on the coordinator, in the
-- database of the service, once every node is registered and before the first `migrate`: Citus makes a role on the nodes
-- that it knows, and only in a database with its extension. Can be repeated. Passwords are set afterwards, for example by
-- `\password manilla_service`.
--
-- Unlike on a single server, `manilla_app` may log in: Citus connects from node to node as the role that is acting, which
-- for the service is this one. It needs no password of its own where pg_hba.conf lets nodes connect to each other by
-- certificate or by address; else it gets one in pg_dist_authinfo.
DO $roles$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'manilla') THEN
    CREATE ROLE manilla LOGIN CREATEROLE;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'manilla_app') THEN
    CREATE ROLE manilla_app LOGIN ROLE manilla;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'manilla_accountant') THEN
    CREATE ROLE manilla_accountant NOLOGIN;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'manilla_service') THEN
    CREATE ROLE manilla_service LOGIN IN ROLE manilla_app;
  END IF;
END
$roles$;
-- Citus keeps a list of the roles in each database, by which it lets others than a superuser name them. It takes in one that
-- was made in another database with a table of that role.
CREATE TABLE public.roles_of_manilla ();
ALTER TABLE public.roles_of_manilla OWNER TO manilla;
GRANT SELECT ON public.roles_of_manilla TO manilla_app, manilla_accountant, manilla_service;
SELECT create_reference_table('public.roles_of_manilla');
DROP TABLE public.roles_of_manilla;
-- Migrations put triggers on tables that are distributed: those that keep the ledger append-only. Each checks one row or
-- one statement, so it may run on the node of the row.
ALTER ROLE manilla SET citus.enable_unsafe_triggers = on;
-- Citus 14.0 keeps a plan for every execution of a statement whose plan is kept, and never frees it (its pull request 8824
-- mends that): 70 kB a call of ledger.post, until the connection between the nodes ends. These are the connections between
-- the nodes; the plans of each call cost no more there.
ALTER ROLE manilla_app SET plan_cache_mode = force_custom_plan;
-- What is answered survives the loss of a node and the move of a shard. The nodes must be set so too (docs/citus.md).
ALTER ROLE manilla_app SET synchronous_commit = on;
