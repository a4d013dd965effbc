-- What an API key is limited to, besides its scopes.
ALTER TABLE api_keys
  ADD COLUMN allowed_ips text[] CHECK (cardinality(allowed_ips) > 0),
  ADD COLUMN rate_limit integer CHECK (rate_limit > 0);
COMMENT ON COLUMN api_keys.allowed_ips IS 'Addresses and CIDR ranges that may use the key; NULL: any.';
COMMENT ON COLUMN api_keys.rate_limit IS 'Requests a minute; NULL: the default of the installation.';
