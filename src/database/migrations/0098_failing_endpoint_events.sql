-- The other endpoints get an event about one that keeps failing.
ALTER TABLE webhook_endpoints ADD COLUMN failing_event_at timestamptz(3);
COMMENT ON COLUMN webhook_endpoints.failing_event_at IS
  'When the last event webhook_endpoint.failing about it was written; before failing_since: not since it fails.';
