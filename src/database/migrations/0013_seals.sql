-- Seals: every few minutes, a digest over the new postings of each book, chained to the digest before it. History that is
-- rewritten no longer has the digests of its seals, and the seals are also written outside of the database, where whoever
-- rewrites them too cannot reach.
CREATE TABLE ledger.seals (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  number          integer NOT NULL CHECK (number > 0),
  sealed_until    timestamptz(3) NOT NULL,
  posting_count   bigint NOT NULL CHECK (posting_count > 0),
  amount          numeric NOT NULL,
  digest          bytea NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  published_at    timestamptz(3),
  PRIMARY KEY (organisation_id, environment, number)
);
CREATE INDEX seals_latest ON ledger.seals (sealed_until);
CREATE INDEX seals_unpublished ON ledger.seals (organisation_id, environment, number) WHERE published_at IS NULL;
COMMENT ON TABLE ledger.seals IS
  'A seal covers the postings of a book that are dated after the seal before it and up to sealed_until.';
COMMENT ON COLUMN ledger.seals.amount IS 'The sum of the amounts of its postings, in kobo.';
COMMENT ON COLUMN ledger.seals.digest IS
  'SHA-256 over the digest of the seal before it (nothing for the first) and the digest of each posting, by id.';
COMMENT ON COLUMN ledger.seals.published_at IS 'When it was written outside of the database; NULL: not yet.';

CREATE FUNCTION ledger.refuse_seal_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND OLD.published_at IS NULL AND to_jsonb(OLD) - 'published_at' = to_jsonb(NEW) - 'published_at' THEN
    RETURN NEW;
  END IF;
  RAISE EXCEPTION 'seals are append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
REVOKE ALL ON FUNCTION ledger.refuse_seal_change FROM PUBLIC;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON ledger.seals FOR EACH ROW EXECUTE FUNCTION ledger.refuse_seal_change();
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON ledger.seals FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

GRANT SELECT ON ledger.seals TO manilla_app;
GRANT UPDATE (published_at) ON ledger.seals TO manilla_app;
