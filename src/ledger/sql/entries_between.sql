-- version 1
-- Where the entries of accounts in a period are, by number: on each side from `…_first` up to and not including
-- `…_next`, as first_entry_since.sql finds them. One call for all accounts of a list.
CREATE OR REPLACE FUNCTION ledger.entries_between(organisation uuid, env text, codes text[], starts timestamptz, ends timestamptz)
RETURNS TABLE (account_id bigint, debit_first bigint, debit_next bigint, credit_first bigint, credit_next bigint)
LANGUAGE plpgsql STABLE SET search_path = ledger, pg_temp AS $$
DECLARE
  account_ids CONSTANT bigint[] := ARRAY(
    SELECT a.id FROM ledger.accounts a WHERE a.organisation_id = organisation AND a.environment = env AND a.code = ANY (codes)
  );
BEGIN
  FOREACH account_id IN ARRAY account_ids LOOP
    debit_first := ledger.first_debit_since(organisation, account_id, starts);
    debit_next := ledger.first_debit_since(organisation, account_id, ends);
    credit_first := ledger.first_credit_since(organisation, account_id, starts);
    credit_next := ledger.first_credit_since(organisation, account_id, ends);
    RETURN NEXT;
  END LOOP;
END $$;
GRANT EXECUTE ON FUNCTION ledger.entries_between TO manilla_app;
