-- version 1
-- The lowest number of the entries of one side of an account from a time on; above its last one when there is none. The
-- caller may know that the entries before `low` are before the time. A function for each side, from one text:
-- ledger.first_debit_since and ledger.first_credit_since.
--
-- Found by interpolation over the numbers, because entries come at a similar rate for long times: some five look-ups in
-- the index by account, in ten thousand entries as in millions. A look-up aims beyond what it looks for, so that the
-- next one, which aims before it, leaves a few entries, which are read. Where a look-up does not halve what is left,
-- the next one does: at most twice as many as bisection needs. Entries without a number have their id in its place.
--
-- It is exact for a stored balance: the lock of the account gives its entries the same order by number as by time.
-- Those of a derived balance are out of order by the seconds that a statement takes, so the caller asks for a time that
-- much earlier and still compares the times.
DO $generate$
DECLARE
  side text;
BEGIN
  FOREACH side IN ARRAY ARRAY['debit', 'credit'] LOOP
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION ledger.first_%1$s_since(organisation uuid, account bigint, since timestamptz, low bigint DEFAULT 0)
RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off AS $$
DECLARE
  READ_MAX CONSTANT integer := 8; -- numbers of which the entries are read
  BEYOND   CONSTANT integer := 2; -- how many numbers a look-up aims beyond, or before, its estimate
  earlier  timestamptz; -- the time of the entry before `low`; NULL before the first look-up
  high     bigint; -- the entries from it on are not before the time
  later    timestamptz; -- the time of the entry at `high`
  middle   bigint;
  size     bigint;
  aim      integer := BEYOND;
  halved   boolean := true;
  entry    record;
BEGIN
  -- The last entry is looked up first, because most times are recent. Without sorts only the index by account fits: the
  -- primary key would be read for the whole organisation.
  SELECT coalesce(p.%1$s_number, p.id) AS number, p.created_at INTO entry FROM ledger.postings p
  WHERE p.organisation_id = organisation AND p.%1$s_account_id = account AND coalesce(p.%1$s_number, p.id) >= low
  ORDER BY coalesce(p.%1$s_number, p.id) DESC LIMIT 1;
  IF entry.number IS NULL THEN RETURN low; END IF;
  IF entry.created_at < since THEN RETURN entry.number + 1; END IF;
  high := entry.number;
  later := entry.created_at;
  LOOP
    size := high - low;
    EXIT WHEN size <= READ_MAX;
    middle := CASE
      WHEN earlier IS NULL THEN low -- the first entry
      WHEN halved AND later > earlier THEN
        greatest(low, least(high - 1, low + aim + floor(size * extract(epoch FROM since - earlier)::double precision
                                                             / extract(epoch FROM later - earlier)::double precision)::bigint))
      ELSE low + size / 2
    END;
    SELECT coalesce(p.%1$s_number, p.id) AS number, p.created_at INTO entry FROM ledger.postings p
    WHERE p.organisation_id = organisation AND p.%1$s_account_id = account AND coalesce(p.%1$s_number, p.id) >= middle
    ORDER BY coalesce(p.%1$s_number, p.id) LIMIT 1;
    halved := earlier IS NULL; -- what the first entry leaves says nothing
    IF entry.created_at < since THEN
      low := entry.number + 1;
      earlier := entry.created_at;
      aim := BEYOND;
    ELSE
      high := middle;
      later := entry.created_at;
      aim := -BEYOND;
    END IF;
    halved := halved OR (high - low) * 2 <= size;
  END LOOP;
  SELECT coalesce(p.%1$s_number, p.id) AS number INTO entry FROM ledger.postings p
  WHERE p.organisation_id = organisation AND p.%1$s_account_id = account
    AND coalesce(p.%1$s_number, p.id) >= low AND coalesce(p.%1$s_number, p.id) < high AND p.created_at >= since
  ORDER BY coalesce(p.%1$s_number, p.id) LIMIT 1;
  RETURN coalesce(entry.number, high);
END $$
    $function$, side);
  END LOOP;
END
$generate$;

-- Where the entries of accounts in a period are, by number: on each side from `…_first` up to and not including
-- `…_next`, as the functions above find them. One call for all accounts of a list.
CREATE OR REPLACE FUNCTION ledger.entries_between(organisation uuid, env text, codes text[], starts timestamptz, ends timestamptz)
RETURNS TABLE (account_id bigint, debit_first bigint, debit_next bigint, credit_first bigint, credit_next bigint)
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
DECLARE
  account_ids CONSTANT bigint[] := ARRAY(
    SELECT a.id FROM ledger.accounts a WHERE a.organisation_id = organisation AND a.environment = env AND a.code = ANY (codes)
  );
BEGIN
  FOREACH account_id IN ARRAY account_ids LOOP
    debit_first := ledger.first_debit_since(organisation, account_id, starts);
    debit_next := ledger.first_debit_since(organisation, account_id, ends);
    credit_first := ledger.first_credit_since(organisation, account_id, starts);
    credit_next := ledger.first_credit_since(organisation, account_id, ends);
    RETURN NEXT;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ledger.first_debit_since, ledger.first_credit_since, ledger.entries_between TO manilla_app;
