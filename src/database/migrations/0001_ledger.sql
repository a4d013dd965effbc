-- The books: accounts, transactions and postings. Nothing here knows of wallets, payments or banks. The functions that write them
-- are in src/ledger/sql/.
--
-- The environment of a row has no CHECK here, which would be read anew for each row: nobody may write these tables but ledger.post
-- and ledger.open_account, and they check it once a call.
CREATE SCHEMA ledger;

-- The role of every running process. Migrations run as the owner.
DO $$
BEGIN
  CREATE ROLE manilla_app NOLOGIN;
EXCEPTION
  WHEN duplicate_object OR unique_violation THEN NULL; -- roles belong to the whole cluster, so another database made it
END
$$;
DO $$
BEGIN
  EXECUTE format('GRANT manilla_app TO %I', current_user);
EXCEPTION
  WHEN OTHERS THEN
    IF NOT pg_has_role(current_user, 'manilla_app', 'MEMBER') THEN RAISE; END IF; -- raced by another database, or granted by an administrator
END
$$;
GRANT USAGE ON SCHEMA ledger TO manilla_app;

CREATE TABLE organisations (
  organisation_id uuid PRIMARY KEY,
  name            text NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now()
);
COMMENT ON TABLE organisations IS 'Who owns wallets, keys and webhook endpoints. Its id is the distribution column of every table.';

-- The form of a code is checked by its type when an account is opened. A CHECK of the table would be evaluated with each change of a
-- balance too.
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
  -- One CHECK for floor and ceiling: each CHECK of a row costs every statement that changes a balance. Above 2^53 - 1 a balance is
  -- not exact in JSON, and could be posted and not be read any more; ledger.post refuses the credit before.
  CONSTRAINT balance_in_range CHECK (balance BETWEEN 0 AND 9007199254740991),
  CONSTRAINT closed_is_empty CHECK (status <> 'closed' OR balance = 0)
) WITH (fillfactor = 70); -- room for balance updates on the same page, so that they touch no index
-- Each account that a batch posts to is found by its code: a hash leads to its page at once, where the tree of the unique key is
-- walked from its root. Its collation is its own, so that the order in which ledger.post locks accounts has one way to find them.
CREATE INDEX accounts_by_code ON ledger.accounts USING hash (code COLLATE "C");
COMMENT ON TABLE ledger.accounts IS 'Where money stands. A code has segments: wallet:<id>, clearing:<rail>, suspense:payment:<id>, income:fees ...';
COMMENT ON COLUMN ledger.accounts.balance IS 'Kobo, credits less debits, at most 2^53 - 1. NULL: a shared platform account, which is never locked; its balance is the sum of its postings.';
COMMENT ON COLUMN ledger.accounts.status IS 'active; frozen (nothing moves for now); closed (nothing moves ever again).';
COMMENT ON COLUMN ledger.accounts.verified IS 'False until the owner of a wallet gave KYC details; an unverified account takes no posting.';
COMMENT ON COLUMN ledger.accounts.balance_max IS 'The most the account may hold after a credit, in kobo. NULL: no limit.';
COMMENT ON COLUMN ledger.accounts.posting_max IS 'The most one posting may move in or out, in kobo. NULL: no limit.';

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
COMMENT ON TABLE ledger.transactions IS 'One business event, immutable. Its postings say what moved.';
COMMENT ON COLUMN ledger.transactions.key IS 'The business key: the same key posts once, whoever asks and however often.';
COMMENT ON COLUMN ledger.transactions.resource IS 'The public id of what caused it, for example a payment.';
COMMENT ON COLUMN ledger.transactions.effective_at IS 'When it happened; created_at is when it was written.';

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
-- An account has one organisation, so these need none. The statement and `ledger verify` follow an account along them.
CREATE INDEX postings_by_debit ON ledger.postings (debit_account_id, id);
CREATE INDEX postings_by_credit ON ledger.postings (credit_account_id, id);
COMMENT ON TABLE ledger.postings IS 'One amount from one account to another: balanced by construction, append-only.';
COMMENT ON COLUMN ledger.postings.debit_balance_after IS 'Balance of the debited account after this posting; NULL where no balance is kept.';

-- Nobody edits the past, the owner included: a correction is a new transaction that names the one it reverses. The function is here
-- and not in src/ledger/sql/, because the triggers of the numbered files need it.
CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: post a reversing transaction instead', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END
$$;
REVOKE ALL ON FUNCTION ledger.refuse_change FROM PUBLIC;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.transactions FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.postings FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

GRANT SELECT ON ledger.accounts, ledger.transactions, ledger.postings TO manilla_app;
