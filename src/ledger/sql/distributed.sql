-- version 1
-- Whether the tables are distributed by Citus, which is installed before `migrate` runs: a constant, so that asking
-- costs nothing.
DO $$
BEGIN
  EXECUTE format('CREATE OR REPLACE FUNCTION ledger.is_distributed() RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN %L::boolean',
                 EXISTS (SELECT FROM pg_extension WHERE extname = 'citus'));
END
$$;
REVOKE ALL ON FUNCTION ledger.is_distributed FROM PUBLIC;
