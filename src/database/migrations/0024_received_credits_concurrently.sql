-- Counts and lists the credits of a payment that are not placed yet.
CREATE INDEX CONCURRENTLY IF NOT EXISTS inbound_credits_of_owner
  ON inbound_credits (organisation_id, owner_id, id) WHERE status = 'received';
