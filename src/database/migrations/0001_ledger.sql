-- The ledger: accounts, transactions and postings. It has no notion of wallets, payments or banks. The functions that
-- write these tables are in src/ledger/sql/.
--
-- `environment` has no CHECK in these tables, because a CHECK is evaluated for each row: ledger.post
-- checks it once per call, and a wallet, with which its account is opened, has one.
CREATE SCHEMA ledger;

-- The role of every running process, and that of accountants. Migrations run as the owner of the database.
DO $$
DECLARE step text;
BEGIN
  FOREACH step IN ARRAY ARRAY['CREATE ROLE manilla_app', 'CREATE ROLE manilla_accountant', 'GRANT manilla_app TO CURRENT_USER'] LOOP
    BEGIN
      EXECUTE step;
    EXCEPTION
      -- Roles are shared by the whole cluster: another database created it.
      WHEN duplicate_object OR unique_violation THEN NULL;
      -- Ignored if the role is granted: by a concurrent migration of another database, or by an administrator.
      WHEN OTHERS THEN
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'manilla_app' AND pg_has_role(oid, 'MEMBER')) THEN RAISE; END IF;
    END;
  END LOOP;
END $$;
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
GRANT EXECUTE ON FUNCTION ledger.public_id TO manilla_app;

CREATE FUNCTION ledger.posting_id(at timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN (extract(epoch FROM at) * 1000000)::bigint;

-- The last time of the books, as the id of a posting (src/ledger/sql/last_final_posting.sql).
CREATE SEQUENCE ledger.clock;

-- Transactions and postings are append-only, for the owner too: a correction is a new transaction that reverses the
-- wrong one. The function is here and not in src/ledger/sql/, because the triggers in the numbered files need it.
CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: post a reversing transaction instead', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE TABLE organisations (
  organisation_id uuid PRIMARY KEY,
  name            text NOT NULL,
  public_id       text NOT NULL GENERATED ALWAYS AS (ledger.public_id(organisation_id, 'org')) STORED,
  created_at      timestamptz(3) NOT NULL DEFAULT now()
);
COMMENT ON TABLE organisations IS 'Owners of wallets, keys and endpoints. Their ids distribute every table.';

-- What many tables begin with. They copy it, with its key, checks and index: LIKE … INCLUDING ALL. It has no rows.
CREATE SCHEMA template;
CREATE TABLE template.book_row (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live'))
);
CREATE TABLE template.id_row (
  LIKE template.book_row INCLUDING ALL,
  id uuid NOT NULL,
  PRIMARY KEY (organisation_id, id)
);
CREATE TABLE template.listed_row (
  LIKE template.id_row INCLUDING ALL,
  created_at timestamptz(3) NOT NULL
);
-- Lists are read newest first by a backward scan of an ascending index, to which new rows are appended.
CREATE INDEX ON template.listed_row (organisation_id, environment, created_at, id);
CREATE TABLE template.resource_row (
  LIKE template.listed_row INCLUDING ALL,
  version integer NOT NULL, -- rises with every change by ledger.post; a write with a stale version changes nothing
  status  text NOT NULL
);
CREATE INDEX ON template.resource_row (organisation_id, environment, status, created_at, id);

-- A domain checks the format of a code when an account is opened. A CHECK of the table would also be evaluated at every
-- change of a balance.
CREATE DOMAIN ledger.account_code AS text CHECK (VALUE ~ '^[a-z_]+(:[a-z0-9_]+)+$');

-- Whose money an account has (src/ledger/chart.ts).
CREATE TYPE ledger.account_class AS ENUM ('bank', 'customer', 'own', 'statutory', 'receivable');

CREATE TABLE ledger.accounts (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL,
  id              bigint GENERATED ALWAYS AS IDENTITY,
  code            ledger.account_code NOT NULL,
  class           ledger.account_class NOT NULL,
  balance         bigint, -- kobo, credits less debits; NULL: the sum of its postings, and the row is never locked
  owed            bigint NOT NULL DEFAULT 0, -- of a wallet: kobo, always the balance of receivable:wallet:<id>
  last_number     bigint NOT NULL DEFAULT 0, -- of its newest entry; no meaning with a derived balance
  -- frozen: exempt credits only, such as refunds; closed: no postings ever again
  status          text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'frozen', 'closed')),
  -- KYC details were submitted; until then it accepts exempt credits only
  verified        boolean NOT NULL DEFAULT true,
  balance_max     bigint CHECK (balance_max > 0),
  posting_max     bigint CHECK (posting_max > 0),
  period_maxima   bigint[], -- what may leave it: kobo and transactions a day, the same a month; NULL: no limit
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT account_code_unique UNIQUE (code, organisation_id, environment),
  -- One CHECK for both bounds, because every change of a balance evaluates each CHECK. A balance above 2^53 - 1 is not
  -- exact in JSON. ledger.post refuses such a credit before this CHECK fails.
  CONSTRAINT balance_in_range CHECK (balance BETWEEN 0 AND 9007199254740991 AND owed >= 0),
  CONSTRAINT closed_is_empty CHECK (status <> 'closed' OR balance = 0)
) WITH (fillfactor = 70); -- space on each page for HOT updates of balances, which touch no index
-- A hash index reads the page directly. By its collation it is the only index that ledger.lock_accounts can use, which
-- fixes the order in which accounts are locked.
CREATE INDEX accounts_by_code ON ledger.accounts USING hash (code COLLATE "C");
-- The few accounts of a book from which its classes are added up: what is left is customers' money.
CREATE INDEX accounts_of_platform ON ledger.accounts (organisation_id, environment) WHERE class <> 'customer';
-- Of wallets, which are few. An account has the creation time of its wallet.
CREATE INDEX accounts_by_status ON ledger.accounts (organisation_id, environment, status, created_at) WHERE status <> 'active';
COMMENT ON TABLE ledger.accounts IS 'Codes: wallet:<id>, clearing:<rail>, suspense:payment:<id>, income:fees …';

CREATE TABLE ledger.transactions (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL,
  id              uuid NOT NULL,
  key             text NOT NULL, -- the business key: a repeated posting with it changes nothing
  kind            text NOT NULL,
  resource        text NOT NULL,
  -- the hold that it completes; a failure reverses the hold, and a late return reverses the completion
  resolves        uuid,
  reverses        uuid, -- its postings mirror those of this transaction
  effective_at    timestamptz(3) NOT NULL, -- when it happened; created_at is when it was written
  moved_at        timestamptz(3) NOT NULL DEFAULT now(), -- when it moved money, as its resource says; near created_at
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT transaction_key_unique UNIQUE (key, organisation_id, environment)
);
-- Enforces that a hold is resolved once, and that a transaction is reversed once.
CREATE UNIQUE INDEX resolved_or_reversed_once
  ON ledger.transactions (organisation_id, coalesce(resolves, reverses)) WHERE coalesce(resolves, reverses) IS NOT NULL;
COMMENT ON TABLE ledger.transactions IS 'One business event, immutable. Its postings are the amounts that it moved.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.transactions FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TABLE ledger.postings (
  organisation_id      uuid NOT NULL,
  environment          text NOT NULL,
  -- orders the postings of a transaction: the microsecond since 1970, counted on within a statement; not unique
  id                   bigint NOT NULL,
  transaction_id       uuid NOT NULL,
  debit_account_id     bigint NOT NULL,
  credit_account_id    bigint NOT NULL,
  amount               bigint NOT NULL CHECK (amount > 0),
  -- of the entry in the account, 1, 2, 3 … under its lock; NULL: a derived balance, ordered by id
  debit_number         bigint,
  credit_number        bigint,
  debit_balance_after  bigint CHECK (debit_balance_after >= 0),
  credit_balance_after bigint CHECK (credit_balance_after >= 0),
  -- read while its accounts were locked: the same order as by number, where the balance is stored
  created_at           timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, transaction_id, id),
  CONSTRAINT two_accounts CHECK (debit_account_id <> credit_account_id)
);
-- For seals, which read the newest postings of all books. A BRIN index: postings are appended in the order of their
-- times.
CREATE INDEX postings_by_time
  ON ledger.postings USING brin (created_at) WITH (pages_per_range = 32, autosummarize = on);
-- The entries of an account in their order. Statements, balances as of a time and `ledger verify` read them. An
-- account belongs to one organisation, so these need no organisation_id.
CREATE INDEX entries_by_debit ON ledger.postings (debit_account_id, coalesce(debit_number, id));
CREATE INDEX entries_by_credit ON ledger.postings (credit_account_id, coalesce(credit_number, id));
COMMENT ON TABLE ledger.postings IS 'One amount from a debited to a credited account, append-only.';
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.postings FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

CREATE TABLE ledger.own_funds (
  LIKE template.book_row INCLUDING ALL,
  -- own accounts of the platform less receivables: at least this, because most credits are left out
  platform_balance bigint NOT NULL,
  shortfall        bigint NOT NULL, -- by how much the banks held less than was owed, after the last debit
  PRIMARY KEY (organisation_id, environment)
);
COMMENT ON TABLE ledger.own_funds IS 'The lowest that own money of a book can be, so that most debits need no sum.';

-- Every few minutes, a digest over the new postings of each book, chained to the one before it. Copies are outside of
-- the database, out of an intruder's reach.
CREATE TABLE ledger.seals (
  LIKE template.book_row INCLUDING ALL,
  number          integer NOT NULL CHECK (number > 0),
  sealed_until    timestamptz(3) NOT NULL,
  posting_count   bigint NOT NULL,
  amount          numeric NOT NULL,
  audit_count     bigint NOT NULL CHECK (posting_count + audit_count > 0),
  -- SHA-256 over the digest of the seal before it (nothing for the first) and the sorted digests of what it covers
  digest          bytea NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  published_at    timestamptz(3),
  PRIMARY KEY (organisation_id, environment, number)
);
CREATE INDEX seals_latest ON ledger.seals (sealed_until);
CREATE INDEX seals_unpublished ON ledger.seals (organisation_id, environment, number) WHERE published_at IS NULL;
COMMENT ON TABLE ledger.seals IS 'Each covers what a book has that is dated after its last seal, up to sealed_until.';
CREATE TRIGGER append_only BEFORE DELETE OR TRUNCATE ON ledger.seals FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER published_once BEFORE UPDATE ON ledger.seals FOR EACH ROW
  WHEN (OLD.published_at IS NOT NULL OR to_jsonb(OLD) - 'published_at' <> to_jsonb(NEW) - 'published_at')
  EXECUTE FUNCTION ledger.refuse_change();

GRANT SELECT ON organisations, ledger.accounts, ledger.transactions, ledger.postings, ledger.own_funds, ledger.seals TO manilla_app;
GRANT UPDATE (published_at) ON ledger.seals TO manilla_app;

-- What ledger.post takes, and what its parts pass to each other: src/ledger/sql/post.sql describes each. An attribute is
-- never added to a batch_… type, because a process of the release before sends none: it becomes an argument of
-- ledger.post, with a default. Fingerprints are in base64; a document is known by its position in the batch.
CREATE TYPE ledger.batch_account AS (code text, stores_balance boolean);
CREATE TYPE ledger.batch_transaction AS (id uuid, key text, kind text, resource text, effective_at timestamptz, moved_at timestamptz, rules text);
CREATE TYPE ledger.batch_link AS (movement integer, resolves text, reverses text);
CREATE TYPE ledger.batch_posting AS (movement integer, debit integer, credit integer, amount bigint);
CREATE TYPE ledger.batch_table AS (name text, document integer);
CREATE TYPE ledger.batch_event AS (movement integer, id uuid, type text, resource text, created_at timestamptz, document integer);
CREATE TYPE ledger.batch_message AS (movement integer, topic text, available_at timestamptz, document integer);
CREATE TYPE ledger.batch_outcome AS (
  movement integer, key text, attempt uuid, fingerprint text, status_code integer, document integer
);
CREATE TYPE ledger.batch_decision AS (
  movement integer, proof text, subject text, action text, wallet text, about text, reason text
);

-- scopes and is_first_use: of the secret that proves it; refusal: why that proves nothing.
CREATE TYPE ledger.audit_entry AS (
  movement integer, operator_id uuid, operator text, action text, subject text, reason text, code bytea, scopes text[],
  is_first_use boolean, refusal text
);

-- Why a movement is not posted. A repeat exists already; any other rejection is decided again in each pass.
CREATE TYPE ledger.rejection AS (outcome text, code text, account_code text, detail jsonb, is_repeat boolean);

-- Ids of the transactions that those of a batch resolve and reverse, by movement.
CREATE TYPE ledger.linked AS (resolves uuid[], reverses uuid[]);

-- What the postings of a batch change in all, by account: its balance, and the number of its entries.
CREATE TYPE ledger.net_changes AS (amounts bigint[], entries integer[]);

-- Accounts of a batch before its postings: an array a column. NULL: a derived balance, which passes every check.
-- debtors: of the receivable of a wallet, the position of the wallet.
CREATE TYPE ledger.account_states AS (
  positions integer[], ids bigint[], balances bigint[], last_numbers bigint[], balance_maxes bigint[], posting_maxes bigint[],
  owed bigint[], debtors integer[], are_locked boolean, own integer[], limited integer[]
);

-- By posting: balances and numbers of entries after it, and what its credit repaid of a debt. By account: what is owed at
-- the end (NULL: as before). By movement: why it is not posted.
CREATE TYPE ledger.decision AS (
  debit_balances bigint[], credit_balances bigint[], debit_numbers bigint[], credit_numbers bigint[], repaid bigint[],
  owed bigint[], rejections ledger.rejection[], is_as_written boolean
);
