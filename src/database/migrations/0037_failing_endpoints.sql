-- Endpoints that keep failing are disabled after some days.
ALTER TABLE webhook_endpoints ADD COLUMN failing_since timestamptz(3);
COMMENT ON COLUMN webhook_endpoints.failing_since IS
  'The first failed attempt since the last one that succeeded; NULL: the last one succeeded, or there was none.';
