-- The events of a resource. Without those of transfers, the most frequent: a transfer has one, which is found by its time.
CREATE INDEX CONCURRENTLY IF NOT EXISTS events_by_resource
  ON events (organisation_id, environment, resource, created_at, id) WHERE type <> 'transfer.completed';
-- The failed deliveries of an endpoint.
CREATE INDEX CONCURRENTLY IF NOT EXISTS webhook_deliveries_failed
  ON webhook_deliveries (organisation_id, endpoint_id, created_at, event_id) WHERE status = 'failed';
