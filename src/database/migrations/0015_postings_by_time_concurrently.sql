-- For seals, which read the newest postings of all books. A BRIN index: postings are appended in the order of their times.
CREATE INDEX CONCURRENTLY IF NOT EXISTS postings_by_time
  ON ledger.postings USING brin (created_at) WITH (pages_per_range = 32, autosummarize = on);
