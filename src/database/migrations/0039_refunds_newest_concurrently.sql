-- The list of all refunds, newest first.
CREATE INDEX CONCURRENTLY IF NOT EXISTS refunds_newest ON refunds (organisation_id, environment, created_at, id);
