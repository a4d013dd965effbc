-- The books: accounts, transactions and postings. Nothing here knows of wallets, payments or banks.
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

CREATE TABLE ledger.accounts (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              bigint GENERATED ALWAYS AS IDENTITY,
  code            text NOT NULL CHECK (code ~ '^[a-z_]+(:[a-z0-9_]+)+$'),
  balance         bigint CONSTRAINT balance_not_negative CHECK (balance >= 0),
  status          text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'frozen', 'closed')),
  verified        boolean NOT NULL DEFAULT true,
  balance_max     bigint CHECK (balance_max > 0),
  posting_max     bigint CHECK (posting_max > 0),
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT account_code_unique UNIQUE (organisation_id, environment, code),
  CONSTRAINT closed_is_empty CHECK (status <> 'closed' OR balance = 0)
) WITH (fillfactor = 70); -- room for balance updates on the same page, so that they touch no index
COMMENT ON TABLE ledger.accounts IS 'Where money stands. A code has segments: wallet:<id>, clearing:<rail>, suspense:payment:<id>, income:fees ...';
COMMENT ON COLUMN ledger.accounts.balance IS 'Kobo, credits less debits. NULL: a shared platform account, which is never locked; its balance is the sum of its postings.';
COMMENT ON COLUMN ledger.accounts.status IS 'active; frozen (nothing moves for now); closed (nothing moves ever again).';
COMMENT ON COLUMN ledger.accounts.verified IS 'False until the owner of a wallet gave KYC details; an unverified account takes no posting.';
COMMENT ON COLUMN ledger.accounts.balance_max IS 'The most the account may hold after a credit, in kobo. NULL: no limit.';
COMMENT ON COLUMN ledger.accounts.posting_max IS 'The most one posting may move in or out, in kobo. NULL: no limit.';

CREATE TABLE ledger.transactions (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  key             text NOT NULL,
  kind            text NOT NULL,
  resource        text NOT NULL,
  reverses        uuid,
  effective_at    timestamptz(3) NOT NULL,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT transaction_key_unique UNIQUE (organisation_id, environment, key)
);
CREATE UNIQUE INDEX one_reversal_per_transaction ON ledger.transactions (organisation_id, reverses) WHERE reverses IS NOT NULL;
COMMENT ON TABLE ledger.transactions IS 'One business event, immutable. Its postings say what moved.';
COMMENT ON COLUMN ledger.transactions.key IS 'The business key: the same key posts once, whoever asks and however often.';
COMMENT ON COLUMN ledger.transactions.resource IS 'The public id of what caused it, for example a payment.';
COMMENT ON COLUMN ledger.transactions.effective_at IS 'When it happened; created_at is when it was written.';

CREATE TABLE ledger.postings (
  organisation_id      uuid NOT NULL,
  environment          text NOT NULL CHECK (environment IN ('test', 'live')),
  id                   bigint GENERATED ALWAYS AS IDENTITY,
  transaction_id       uuid NOT NULL,
  debit_account_id     bigint NOT NULL,
  credit_account_id    bigint NOT NULL,
  amount               bigint NOT NULL CHECK (amount > 0),
  debit_balance_after  bigint CHECK (debit_balance_after >= 0),
  credit_balance_after bigint CHECK (credit_balance_after >= 0),
  created_at           timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT two_accounts CHECK (debit_account_id <> credit_account_id)
);
CREATE INDEX postings_by_debit ON ledger.postings (organisation_id, debit_account_id, id);
CREATE INDEX postings_by_credit ON ledger.postings (organisation_id, credit_account_id, id);
CREATE INDEX postings_by_transaction ON ledger.postings (organisation_id, transaction_id);
COMMENT ON TABLE ledger.postings IS 'One amount from one account to another: balanced by construction, append-only.';
COMMENT ON COLUMN ledger.postings.debit_balance_after IS 'Balance of the debited account after this posting; NULL where no balance is kept.';

-- Nobody edits the past, the owner included: a correction is a new transaction that names the one it reverses.
CREATE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only: post a reversing transaction instead', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END
$$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.transactions FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger.postings FOR EACH STATEMENT EXECUTE FUNCTION ledger.refuse_change();

GRANT SELECT ON ledger.accounts, ledger.transactions, ledger.postings TO manilla_app;

-- Opens a wallet's account. A verified one moves money at once; any other waits for KYC.
CREATE FUNCTION ledger.open_account(organisation uuid, env text, account_code text, is_verified boolean)
RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  INSERT INTO ledger.accounts (organisation_id, environment, code, balance, verified)
  VALUES (organisation, env, account_code, 0, is_verified)
  RETURNING id
$$;

-- Verifies an account and sets what may move through it. Limits of NULL mean none.
CREATE FUNCTION ledger.verify_account(organisation uuid, account bigint, new_balance_max bigint, new_posting_max bigint)
RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
  UPDATE ledger.accounts SET verified = true, balance_max = new_balance_max, posting_max = new_posting_max
  WHERE organisation_id = organisation AND id = account
$$;
