-- The outcome of a request is written into the row that claimed its key, and is several times as large as the claim. Pages were
-- filled with claims, so the outcome went to another page, with a new entry in both indexes. A page that is a fifth full of
-- claims has room for their outcomes, which then need none.
ALTER TABLE idempotency_keys SET (fillfactor = 20);
