-- The rails: contracts of organisations with providers, checks, pauses, and messages of providers.

-- At most one is connected per organisation and environment. The callback address of a contract has its id, because no
-- provider names our organisation.
CREATE TABLE rail_contracts (
  LIKE template.id_row INCLUDING ALL,
  rail            text NOT NULL,
  version         integer NOT NULL DEFAULT 1,
  sealed          text, -- key id and AES-256-GCM ciphertext of the credentials, bound to the id; NULL: disconnected
  connected_at    timestamptz(3) NOT NULL DEFAULT now(),
  closing_at      timestamptz(3), -- accepts nothing new since then; disconnected once nothing is on its way
  disconnected_at timestamptz(3),
  CONSTRAINT connected_has_credentials CHECK ((sealed IS NULL) = (disconnected_at IS NOT NULL))
);
CREATE UNIQUE INDEX rail_contract_connected_unique ON rail_contracts (organisation_id, environment)
  WHERE disconnected_at IS NULL;
CREATE INDEX rail_contracts_connected ON rail_contracts (id) WHERE disconnected_at IS NULL;

CREATE TABLE rail_checks (
  LIKE template.id_row INCLUDING ALL,
  contract_id         uuid NOT NULL,
  credentials_version integer, -- of the contract; NULL: not known, proves nothing of the credentials in use
  adapter_version     text NOT NULL,
  passed              boolean NOT NULL,
  report              jsonb NOT NULL,
  checked_at          timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX rail_checks_by_contract ON rail_checks (organisation_id, contract_id, checked_at);
COMMENT ON TABLE rail_checks IS 'Reports of `rail check`, without credentials.';

CREATE TABLE rail_pauses (
  organisation_id uuid NOT NULL CHECK (organisation_id = '00000000-0000-0000-0000-000000000000'),
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  operator        text NOT NULL,
  reason          text NOT NULL,
  paused_at       timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, environment)
);
COMMENT ON TABLE rail_pauses IS 'No transfer of any organisation is sent while its environment has a row.';

CREATE TABLE provider_messages (
  LIKE template.book_row INCLUDING ALL,
  flow_id         text NOT NULL,
  -- without credentials, account and identity numbers
  message         text NOT NULL CHECK (length(message) BETWEEN 1 AND 300),
  received_at     timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, flow_id)
);
COMMENT ON TABLE provider_messages IS 'The last one about a transfer without a status, or a rejected payment.';

CREATE TABLE transfer_sends (
  LIKE template.book_row INCLUDING ALL,
  reference       text NOT NULL,
  -- counted before each, less those that the rail did certainly not accept
  sends           integer NOT NULL CHECK (sends >= 0),
  sent_at         timestamptz(3) NOT NULL,
  is_known        boolean NOT NULL,
  refusal         text, -- why the rail refused the last one; NULL: it did not
  PRIMARY KEY (organisation_id, reference)
);
CREATE INDEX transfers_not_sent ON transfer_sends (organisation_id, environment) WHERE sends = 0 AND NOT is_known;
COMMENT ON TABLE transfer_sends IS 'By these, money goes back as refused, and never if the rail has known the transfer.';

GRANT SELECT, INSERT ON rail_contracts, rail_checks TO manilla_app;
GRANT UPDATE (version, sealed, closing_at, disconnected_at) ON rail_contracts TO manilla_app;
GRANT SELECT, INSERT, UPDATE ON provider_messages, transfer_sends TO manilla_app;
GRANT DELETE ON transfer_sends TO manilla_app;
GRANT SELECT ON rail_pauses TO manilla_app;
