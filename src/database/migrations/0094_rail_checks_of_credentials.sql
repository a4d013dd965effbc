-- The credentials that a check was made with: other credentials may be of another contract, or have other rights.
ALTER TABLE rail_checks ADD COLUMN credentials_version integer;
COMMENT ON COLUMN rail_checks.credentials_version IS
  'rail_contracts.version that was checked; NULL: not known, so that the check proves nothing of the credentials in use.';
