-- The ledger: accounts, transactions and postings. It has no notion of wallets, payments or banks. The functions that
-- write these tables are in src/ledger/sql/.
--
-- `environment` has no CHECK in these tables, because a CHECK is evaluated for each row. Only ledger.post and
-- ledger.open_account may write them, and both check it once per call.
CREATE SCHEMA ledger;

-- The role of every running process. Migrations run as the owner of the database.
DO $$
BEGIN
  CREATE ROLE manilla_app NOLOGIN;
EXCEPTION
  -- Roles are shared by the whole cluster: another database created it.
  WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;
DO $$
BEGIN
  EXECUTE format('GRANT manilla_app TO %I', current_user);
EXCEPTION
  WHEN OTHERS THEN
    -- Ignored if the role is granted: by a concurrent migration of another database, or by an administrator.
    IF NOT pg_has_role(current_user, 'manilla_app', 'MEMBER') THEN RAISE; END IF;
END
$$;
GRANT USAGE ON SCHEMA ledger TO manilla_app;

-- The public form of an id, as publicId in src/ids.ts makes it: 26 digits of five bits, after two zero bits. It is part
-- of stored account codes, so it never changes.
CREATE FUNCTION ledger.public_id(id uuid, suffix text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT 'svc_' || string_agg(substr('0123456789abcdefghjkmnpqrstvwxyz', digit::int + 1, 1), '' ORDER BY place) || '_' || suffix
  FROM (
    SELECT place, substr('00' || ('x' || replace(id::text, '-', ''))::bit(128)::text, place * 5 + 1, 5)::bit(5) AS digit
    FROM generate_series(0, 25) AS place
  ) digits
$$;
REVOKE ALL ON FUNCTION ledger.public_id FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ledger.public_id TO manilla_app;

CREATE TABLE organisations (
  organisation_id uuid PRIMARY KEY,
  name            text NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now()
);
COMMENT ON TABLE organisations IS
  'Owners of wallets, keys and webhook endpoints. organisation_id is the distribution column of every table.';

-- A domain checks the format of a code when an account is opened. A CHECK of the table would also be evaluated at every
-- change of a balance.
CREATE DOMAIN ledger.account_code AS text CHECK (VALUE ~ '^[a-z_]+(:[a-z0-9_]+)+$');

CREATE TABLE ledger.accounts (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL,
  id              bigint GENERATED ALWAYS AS IDENTITY,
  code            ledger.account_code NOT NULL,
  balance         bigint,
  status          text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'frozen', 'closed')),
  verified        boolean NOT NULL DEFAULT true,
  balance_max     bigint CHECK (balance_max > 0),
  posting_max     bigint CHECK (posting_max > 0),
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT account_code_unique UNIQUE (code, organisation_id, environment),
  -- One CHECK for both bounds: every statement that changes a balance evaluates each CHECK. A balance above 2^53 - 1 is
  -- not exact in JSON: it could be posted but no longer read. ledger.post refuses such a credit before this CHECK
  -- fails.
  CONSTRAINT balance_in_range CHECK (balance BETWEEN 0 AND 9007199254740991),
  CONSTRAINT closed_is_empty CHECK (status <> 'closed' OR balance = 0)
) WITH (fillfactor = 70); -- space on each page for HOT updates of balances, which touch no index
-- ledger.post finds the accounts of a batch by code. A hash index reads the page directly; the B-tree of the unique key
-- would be searched from its root. Its collation differs from that of the unique key, so that it is the only index that
-- the query in ledger.post can use: this fixes the order in which accounts are locked.
CREATE INDEX accounts_by_code ON ledger.accounts USING hash (code COLLATE "C");
COMMENT ON TABLE ledger.accounts IS
  'Ledger accounts. A code has segments: wallet:<id>, clearing:<rail>, suspense:payment:<id>, income:fees ...';
COMMENT ON COLUMN ledger.accounts.balance IS
  'Kobo, credits less debits, at most 2^53 - 1. NULL: a platform account with a derived balance, the sum of its '
  'postings; its row is never locked.';
COMMENT ON COLUMN ledger.accounts.status IS
  'active; frozen (no postings except exempt credits, such as refunds); closed (no postings ever again).';
COMMENT ON COLUMN ledger.accounts.verified IS
  'False until KYC details of the wallet were submitted. Like a frozen account, an unverified one accepts exempt '
  'credits only.';
COMMENT ON COLUMN ledger.accounts.balance_max IS 'Maximum balance after a credit, in kobo. NULL: no limit.';
COMMENT ON COLUMN ledger.accounts.posting_max IS
  'Maximum amount of one posting, debit or credit, in kobo. NULL: no limit.';

CREATE TABLE ledger.transactions (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL,
  id              uuid NOT NULL,
  key             text NOT NULL,
  kind            text NOT NULL,
  resource        text NOT NULL,
  reverses        uuid,
  effective_at    timestamptz(3) NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT transaction_key_unique UNIQUE (key, organisation_id, environment)
);
CREATE UNIQUE INDEX one_reversal_per_transaction ON ledger.transactions (organisation_id, reverses) WHERE reverses IS NOT NULL;
COMMENT ON TABLE ledger.transactions IS 'One business event, immutable. Its postings are the amounts that it moved.';
COMMENT ON COLUMN ledger.transactions.key IS
  'The business key, unique in a book: a repeated posting with the same key changes nothing.';
COMMENT ON COLUMN ledger.transactions.resource IS 'Public id of the resource that caused it, for example a payment.';
COMMENT ON COLUMN ledger.transactions.effective_at IS
  'When the business event happened; created_at is when the row was written.';

CREATE TABLE ledger.postings (
  organisation_id      uuid NOT NULL,
  environment          text NOT NULL,
  id                   bigint GENERATED ALWAYS AS IDENTITY,
  transaction_id       uuid NOT NULL,
  debit_account_id     bigint NOT NULL,
  credit_account_id    bigint NOT NULL,
  amount               bigint NOT NULL CHECK (amount > 0),
  debit_balance_after  bigint CHECK (debit_balance_after >= 0),
  credit_balance_after bigint CHECK (credit_balance_after >= 0),
  created_at           timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, transaction_id, id),
  CONSTRAINT two_accounts CHECK (debit_account_id <> credit_account_id)
);
-- An account belongs to one organisation, so these need no organisation_id. Account statements and `ledger verify` read
-- the postings of an account in this order.
CREATE INDEX postings_by_debit ON ledger.postings (debit_account_id, id);
CREATE INDEX postings_by_credit ON ledger.postings (credit_account_id, id);
COMMENT ON TABLE ledger.postings IS
  'One amount from a debited to a credited account: balanced by construction, append-only.';
COMMENT ON COLUMN ledger.postings.debit_balance_after IS
  'Balance of the debited account after this posting; NULL for an account with a derived balance.';

-- Transactions and postings are append-only, for the owner too: a correction is a new transaction that reverses the
-- wrong one. The function is here and not in src/ledger/sql/, because the triggers in the numbered files need it.
CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: post a reversing transaction instead', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END
$$;
REVOKE ALL ON FUNCTION ledger.refuse_change FROM PUBLIC;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.transactions FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.postings FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

GRANT SELECT ON ledger.accounts, ledger.transactions, ledger.postings TO manilla_app;
