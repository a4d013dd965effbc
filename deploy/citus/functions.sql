-- Functions of the ledger as Citus needs them, in place of those of src/ledger/sql/. Run on the coordinator as the
-- owner of the database after every `migrate`, before distribute.sql (docs/citus.md).

-- As ledger.lock_accounts of lock_accounts.sql. Citus plans a statement anew for each call, unless it reads or writes
-- one table by the organisation and is neither joined nor nested: then its plan is kept. So the accounts are locked
-- first, after a sort by their position, whatever the plan, and the UPDATE may find them in any order.
CREATE OR REPLACE FUNCTION ledger.lock_accounts(organisation uuid, environment text, accounts text[], changes ledger.net_changes)
RETURNS ledger.account_states LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  positions      integer[];
  ids            bigint[];
  balances       bigint[];
  last_numbers   bigint[];
  balance_maxes  bigint[];
  posting_maxes  bigint[];
  own            integer[];
  limited        integer[];
  owed           bigint[];
  balances_after bigint[];
  numbers_after  bigint[];
  account        record;
  position       integer;
BEGIN
  FOR account IN
    SELECT x.id, x.code, x.status, x.balance, x.last_number, ledger.balance_max(x.balance_max) AS balance_max,
           ledger.posting_max(x.posting_max, x.status, x.verified) AS posting_max, x.owed,
           x.class IN ('own', 'receivable') AS is_own, x.period_maxima IS NOT NULL AS is_limited
    FROM ledger.accounts x
    WHERE x.organisation_id = organisation AND x.environment = environment AND x.code = ANY (accounts) AND x.balance IS NOT NULL
    ORDER BY array_position(accounts, x.code) FOR NO KEY UPDATE
  LOOP
    position := array_position(accounts, account.code);
    CONTINUE WHEN account.balance + changes.amounts[position] NOT BETWEEN 0 AND ledger.balance_max()
               OR (changes.amounts[position] <> 0 AND account.status = 'closed');
    positions := positions || position;
    ids := ids || account.id;
    balances := balances || account.balance;
    last_numbers := last_numbers || account.last_number;
    balance_maxes := balance_maxes || account.balance_max;
    posting_maxes := posting_maxes || account.posting_max;
    IF account.is_own THEN own := own || position; END IF;
    IF account.is_limited THEN limited := limited || position; END IF;
    owed := owed || account.owed;
    balances_after := balances_after || account.balance + changes.amounts[position];
    numbers_after := numbers_after || account.last_number + changes.entries[position];
  END LOOP;
  UPDATE ledger.accounts x -- coalesce: Citus 14.0 crashes when an element of an array alone is assigned
  SET balance = coalesce(balances_after[array_position(ids, x.id)], x.balance),
      last_number = coalesce(numbers_after[array_position(ids, x.id)], x.last_number)
  WHERE x.organisation_id = organisation AND x.id = ANY (ids);
  RETURN ROW(positions, ids, balances, last_numbers, balance_maxes, posting_maxes, owed, NULL::integer[], true, own, limited);
END
$$;
