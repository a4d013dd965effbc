-- That a row of the books is of one of the two environments was checked for each row, and the text of such a CHECK is read anew
-- by every statement. Together that was three to five hundredths of a batch. Nobody may write the books but the three functions
-- below, so they check it, once a call.
ALTER TABLE ledger.accounts DROP CONSTRAINT accounts_environment_check;
ALTER TABLE ledger.transactions DROP CONSTRAINT transactions_environment_check;
ALTER TABLE ledger.postings DROP CONSTRAINT postings_environment_check;

CREATE OR REPLACE FUNCTION ledger.open_account(organisation uuid, env text, account_code text, is_verified boolean)
RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = ledger, pg_temp AS $$
DECLARE account bigint;
BEGIN
  IF env NOT IN ('test', 'live') THEN RAISE EXCEPTION 'no environment is called %', env USING ERRCODE = 'check_violation'; END IF;
  INSERT INTO ledger.accounts (organisation_id, environment, code, balance, verified)
  VALUES (organisation, env, account_code, 0, is_verified)
  RETURNING id INTO account;
  RETURN account;
END $$;

-- Both ways of posting check it first; nothing else of them is changed.
DO $$
DECLARE
  poster regproc;
  beginning CONSTANT text := E'\nBEGIN\n';
  check_first CONSTANT text :=
    E'  IF book NOT IN (''test'', ''live'') THEN RAISE EXCEPTION ''no environment is called %'', book USING ERRCODE = ''check_violation''; END IF;\n';
  definition text;
BEGIN
  FOREACH poster IN ARRAY ARRAY['ledger.post', 'ledger.post_all']::regproc[] LOOP
    definition := pg_get_functiondef(poster);
    IF array_length(string_to_array(definition, beginning), 1) <> 2 THEN
      RAISE EXCEPTION '% is not what this migration changes', poster;
    END IF;
    EXECUTE replace(definition, beginning, beginning || check_first);
  END LOOP;
END $$;
