-- To be deleted with the code that uses it: archives of closed months.
-- Archives: the postings of a closed month of a book are moved to a file, seal by seal, and leave the balance of each
-- of their accounts behind. The functions are in src/ledger/sql/archive.sql.

CREATE TABLE ledger.archives (
  organisation_id   uuid NOT NULL,
  environment       text NOT NULL CHECK (environment IN ('test', 'live')),
  period            date NOT NULL CHECK (extract(day FROM period) = 1),
  first_seal        integer NOT NULL,
  last_seal         integer NOT NULL,
  sealed_until      timestamptz(3) NOT NULL,
  posting_count     bigint NOT NULL,
  manifest_digest   bytea NOT NULL,
  archived_seal     integer NOT NULL,
  archived_until    timestamptz(3) NOT NULL,
  moved_postings    bigint NOT NULL DEFAULT 0,
  moved_transactions bigint NOT NULL DEFAULT 0,
  balances_digest   bytea,
  created_at        timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, environment, period),
  CONSTRAINT moved_in_range CHECK (archived_seal BETWEEN first_seal - 1 AND last_seal)
);
COMMENT ON TABLE ledger.archives IS
  'Months whose postings are in a file, or on their way to it or back: each begins after the last seal of the one before.';
COMMENT ON COLUMN ledger.archives.sealed_until IS 'The time of its last seal.';
COMMENT ON COLUMN ledger.archives.manifest_digest IS 'SHA-256 of the manifest, which has that of the file.';
COMMENT ON COLUMN ledger.archives.archived_seal IS
  'The postings of the seals from first_seal up to this one were moved; first_seal - 1: none yet.';
COMMENT ON COLUMN ledger.archives.archived_until IS
  'The time of that seal: no posting of the book that is dated up to it is in ledger.postings.';
COMMENT ON COLUMN ledger.archives.balances_digest IS
  'SHA-256 of the archived balances of the book when all was moved (ledger.archived_balances_digest); NULL: not yet.';

CREATE TABLE ledger.archived_balances (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL,
  account_id      bigint NOT NULL,
  balance         bigint NOT NULL,
  entries         bigint NOT NULL CHECK (entries >= 0),
  last_number     bigint NOT NULL,
  PRIMARY KEY (organisation_id, account_id)
);
COMMENT ON TABLE ledger.archived_balances IS
  'The sum of the archived postings of each account, credits less debits, and the number of its entries in them: what '
  'the postings that are left begin from.';
COMMENT ON COLUMN ledger.archived_balances.last_number IS
  'The number of the last archived entry; 0 for an account with a derived balance, whose entries have none.';
GRANT SELECT ON ledger.archives, ledger.archived_balances TO manilla_app;

-- Postings leave the table by way of an archive only, also for the owner: ledger.move_to_archive.
CREATE FUNCTION ledger.refuse_unarchived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT FROM removed r WHERE NOT EXISTS (
      SELECT FROM ledger.archives a
      WHERE a.organisation_id = r.organisation_id AND a.environment = r.environment AND r.created_at <= a.sealed_until)
  ) THEN
    RAISE EXCEPTION 'postings is append-only: post a reversing transaction instead' USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN NULL;
END
$$;
REVOKE ALL ON FUNCTION ledger.refuse_unarchived FROM PUBLIC;
DROP TRIGGER append_only ON ledger.postings;
CREATE TRIGGER append_only BEFORE UPDATE OR TRUNCATE ON ledger.postings FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER archived_only AFTER DELETE ON ledger.postings REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_unarchived();
