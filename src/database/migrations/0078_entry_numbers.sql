-- Entries of an account are ordered by a number that its lock gives, no longer by the id of a sequence: an id comes from
-- the node that wrote it, and goes down when a book moves to another one (docs/decisions/0055-numbers-of-entries.md).
--
-- No posting is rewritten. What was posted before has no number: its number is its id, which came from the one sequence of
-- this database. Accounts that exist go on after the last of these ids, so that all numbers have one order; new accounts
-- begin at 1.
LOCK TABLE ledger.accounts, ledger.postings IN ACCESS EXCLUSIVE MODE; -- in the order of ledger.post
DO $$
DECLARE
  last_id CONSTANT bigint := (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM ledger.postings_id_seq);
BEGIN
  EXECUTE format('ALTER TABLE ledger.accounts ADD COLUMN last_number bigint NOT NULL DEFAULT %1$s,
                                              ADD COLUMN numbered_after bigint NOT NULL DEFAULT %1$s', last_id);
END
$$;
ALTER TABLE ledger.accounts ALTER COLUMN last_number SET DEFAULT 0, ALTER COLUMN numbered_after SET DEFAULT 0;
COMMENT ON COLUMN ledger.accounts.last_number IS
  'The number of the newest entry. Without meaning for an account with a derived balance.';
COMMENT ON COLUMN ledger.accounts.numbered_after IS
  'Entries above this number are numbered without a gap. 0, unless the account is older than the numbers.';

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
COMMENT ON COLUMN ledger.closed_days.settled_posting_id IS
  'Every posting with an id up to this one had been committed or rolled back when the day was settled; NULL: not yet.';
COMMENT ON COLUMN ledger.closed_days.last_posting_id IS 'Not used since decision 55.';
COMMENT ON COLUMN ledger.closing_balances.last_posting_id IS
  'Every entry of the account that is dated after the day has a greater number.';
COMMENT ON COLUMN ledger.closing_balances.read_posting_id IS
  'The number of the last entry that was read: no entry that is dated up to the end of the day has a greater one.';

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

-- What the digest of a seal covers: 1: the postings in the order of their ids; 2: with the numbers, in the order of their
-- own digests, which needs no other order.
ALTER TABLE ledger.seals ADD COLUMN version smallint NOT NULL DEFAULT 1 CHECK (version IN (1, 2));
COMMENT ON COLUMN ledger.seals.digest IS
  'SHA-256 over the digest of the seal before it (nothing for the first) and the digest of each posting. The version says '
  'in which order, and what they cover.';
