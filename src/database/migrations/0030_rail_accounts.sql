-- Account numbers of providers: what the provider calls the account, its bank's code, and which amounts it accepts. A
-- provider may hand a number on to another customer later, so a number alone does not identify an account.
ALTER TABLE virtual_accounts
  ADD COLUMN bank_code text,
  ADD COLUMN rail_reference text,
  ADD COLUMN accepts_amount text NOT NULL DEFAULT 'any' CHECK (accepts_amount IN ('exact', 'any')),
  DROP CONSTRAINT virtual_accounts_pkey,
  DROP CONSTRAINT virtual_account_owner_unique,
  ADD CONSTRAINT virtual_account_owner_unique PRIMARY KEY (organisation_id, owner_id);
CREATE INDEX virtual_accounts_by_number
  ON virtual_accounts (organisation_id, environment, rail, account_number, created_at);
UPDATE virtual_accounts SET bank_code = '999' WHERE rail = 'sandbox';
COMMENT ON COLUMN virtual_accounts.bank_code IS 'As in the list of banks of the rail; NULL: it is not among them.';
COMMENT ON COLUMN virtual_accounts.rail_reference IS
  'What the rail calls the account; NULL: it goes by our reference, the public id of the owner.';
COMMENT ON COLUMN virtual_accounts.accepts_amount IS
  'exact: the rail accepts only the amount that the account was opened for.';

ALTER TABLE inbound_credits ADD COLUMN account_reference text, ALTER COLUMN account_number DROP NOT NULL,
  ADD CONSTRAINT inbound_credit_names_account CHECK (account_number IS NOT NULL OR account_reference IS NOT NULL);
COMMENT ON COLUMN inbound_credits.account_reference IS
  'Our reference of the credited account, as the rail told it; NULL: it told the number only.';
