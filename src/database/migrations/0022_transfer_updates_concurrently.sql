-- Finds the update of a transfer that waits in the outbox: a further callback then adds none.
CREATE INDEX CONCURRENTLY IF NOT EXISTS outbox_transfer_updates
  ON outbox (organisation_id, (message ->> 'id')) WHERE message -> 'signal' ->> 'name' = 'transferUpdated';
