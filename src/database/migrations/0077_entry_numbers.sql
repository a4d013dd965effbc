-- The numbers of entries, in the postings (0076). Ids no longer come from a sequence.
ALTER TABLE ledger.postings ADD COLUMN debit_number bigint, ADD COLUMN credit_number bigint, ALTER COLUMN id DROP IDENTITY;
COMMENT ON COLUMN ledger.postings.id IS
  'Tells the postings of a transaction apart and orders them: the microsecond since 1970 at which it was posted, counted on '
  'within a statement. Not unique. Before decision 55: a sequence.';
COMMENT ON COLUMN ledger.postings.debit_number IS
  'The number of the entry in the debited account: 1, 2, 3 … under its lock. NULL for an account with a derived balance, and '
  'for what was posted before decision 55: then the id orders it.';
COMMENT ON COLUMN ledger.postings.credit_number IS 'The number of the entry in the credited account, likewise.';
COMMENT ON COLUMN ledger.postings.created_at IS
  'When it was posted, read while its accounts were locked. So the entries of an account with a stored balance have the '
  'same order by time as by number.';

-- The id of a posting that is posted at this time.
CREATE FUNCTION ledger.posting_id(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (extract(epoch FROM at) * 1000000)::bigint;
REVOKE ALL ON FUNCTION ledger.posting_id FROM PUBLIC;

-- While a running installation is upgraded, the ledger.post of the version before still posts, and gives neither id nor
-- numbers. It has the locks of the accounts, so they are given here. The loop takes a microsecond: two postings of a
-- statement have different ids. A later migration drops the trigger; a new installation never has it.
CREATE FUNCTION ledger.number_posting() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  posted_at CONSTANT timestamptz := clock_timestamp();
BEGIN
  NEW.id := ledger.posting_id(posted_at);
  IF NEW.debit_balance_after IS NOT NULL THEN
    UPDATE ledger.accounts SET last_number = last_number + 1
    WHERE organisation_id = NEW.organisation_id AND id = NEW.debit_account_id RETURNING last_number INTO NEW.debit_number;
  END IF;
  IF NEW.credit_balance_after IS NOT NULL THEN
    UPDATE ledger.accounts SET last_number = last_number + 1
    WHERE organisation_id = NEW.organisation_id AND id = NEW.credit_account_id RETURNING last_number INTO NEW.credit_number;
  END IF;
  WHILE clock_timestamp() <= posted_at LOOP END LOOP;
  RETURN NEW;
END
$$;
REVOKE ALL ON FUNCTION ledger.number_posting FROM PUBLIC;
DO $$
BEGIN
  IF to_regproc('ledger.post') IS NOT NULL THEN
    CREATE TRIGGER numbered BEFORE INSERT ON ledger.postings FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION ledger.number_posting();
  ELSE
    DROP FUNCTION ledger.number_posting;
  END IF;
END
$$;
