-- The age of the oldest delivery is asked every few seconds, most of all when an endpoint is down and millions wait.
CREATE INDEX webhook_deliveries_oldest
  ON webhook_deliveries (environment, (attempts = 0 AND next_attempt_at IS NULL), created_at) WHERE status = 'pending';
