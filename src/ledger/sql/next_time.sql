-- version 1
-- The next time of the books: now, or where the clock was set back, or that of a promoted standby lags, a microsecond
-- after the last one. Balances at a time, closed days and seals rely on it. A sequence is written without waiting for
-- a transaction, and has the last time on a standby too. No grant: its callers run with the rights of the owner.
CREATE OR REPLACE FUNCTION ledger.next_time() RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
  now_id CONSTANT bigint := ledger.posting_id(clock_timestamp());
BEGIN
  RETURN 'epoch'::timestamptz + interval '1 us' * CASE
    WHEN now_id > (SELECT last_value FROM ledger.clock) THEN setval('ledger.clock', now_id) ELSE nextval('ledger.clock') END;
END $$;
