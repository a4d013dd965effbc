-- The rails: contracts of organisations with providers, checks and balances, pauses, and messages of providers.

-- Contracts of organisations with providers, at most one connected per organisation and environment. The callback address
-- of a contract has its id, because no provider names our organisation.
CREATE TABLE rail_contracts (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  id              uuid NOT NULL,
  rail            text NOT NULL,
  version         integer NOT NULL DEFAULT 1,
  sealed          text,
  capabilities    jsonb NOT NULL,
  connected_at    timestamptz(3) NOT NULL DEFAULT now(),
  closing_at      timestamptz(3),
  disconnected_at timestamptz(3),
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT connected_has_credentials CHECK ((sealed IS NULL) = (disconnected_at IS NOT NULL))
);
CREATE UNIQUE INDEX rail_contract_connected_unique ON rail_contracts (organisation_id, environment)
  WHERE disconnected_at IS NULL;
CREATE INDEX rail_contracts_connected ON rail_contracts (id) WHERE disconnected_at IS NULL;
COMMENT ON COLUMN rail_contracts.sealed IS
  'Key id and AES-256-GCM ciphertext of the credentials, bound to the id of the contract; NULL once disconnected.';
COMMENT ON COLUMN rail_contracts.closing_at IS
  'Since when nothing new is accepted; it is disconnected once nothing is on its way.';

CREATE TABLE rail_checks (
  organisation_id     uuid NOT NULL,
  environment         text NOT NULL CHECK (environment IN ('test', 'live')),
  id                  uuid NOT NULL,
  contract_id         uuid NOT NULL,
  credentials_version integer,
  adapter_version     text NOT NULL,
  passed              boolean NOT NULL,
  report              jsonb NOT NULL,
  checked_at          timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX rail_checks_by_contract ON rail_checks (organisation_id, contract_id, checked_at);
COMMENT ON TABLE rail_checks IS 'Reports of `rail check`, without credentials: what was tried with a contract, and whether it passed.';
COMMENT ON COLUMN rail_checks.credentials_version IS
  'rail_contracts.version that was checked; NULL: not known, so that the check proves nothing of the credentials in use.';

CREATE TABLE rail_balances (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  rail            text NOT NULL,
  available       bigint NOT NULL,
  read_at         timestamptz(3) NOT NULL,
  PRIMARY KEY (organisation_id, environment, rail)
);
COMMENT ON TABLE rail_balances IS 'What each rail could pay out when it was last asked.';

-- Operators can pause the rail of an environment: no transfer is sent while its row exists. The audit log has the
-- history. A pause applies to the rail and not to one book, so organisation_id is the nil UUID.
CREATE TABLE rail_pauses (
  organisation_id uuid NOT NULL CHECK (organisation_id = '00000000-0000-0000-0000-000000000000'),
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  operator        text NOT NULL,
  reason          text NOT NULL,
  paused_at       timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, environment)
);
COMMENT ON TABLE rail_pauses IS 'Environments whose rail is paused: no transfer is sent.';
COMMENT ON COLUMN rail_pauses.organisation_id IS
  'The nil UUID: the pause applies to every organisation, including those created later.';

-- What a provider reported about a transfer without its status, or about a payment that it rejected. Histories have only
-- ids, amounts and codes.
CREATE TABLE provider_messages (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  flow_id         text NOT NULL,
  message         text NOT NULL CHECK (length(message) BETWEEN 1 AND 300),
  received_at     timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, flow_id)
);
COMMENT ON TABLE provider_messages IS 'The last message of a provider about a transfer without a status, or a rejected payment, for operators.';
COMMENT ON COLUMN provider_messages.message IS 'Without credentials, account numbers and identity numbers.';

CREATE TABLE transfer_sends (
  organisation_id uuid NOT NULL,
  environment     text NOT NULL CHECK (environment IN ('test', 'live')),
  reference       text NOT NULL,
  sends           integer NOT NULL CHECK (sends >= 0),
  sent_at         timestamptz(3) NOT NULL,
  is_known        boolean NOT NULL,
  refusal         text,
  PRIMARY KEY (organisation_id, reference)
);
COMMENT ON TABLE transfer_sends IS
  'Sends of a transfer to its rail. By these, money goes back as refused or never received, and never if the rail has known it.';
COMMENT ON COLUMN transfer_sends.sends IS 'Counted before each; less those that the rail did certainly not accept.';
COMMENT ON COLUMN transfer_sends.refusal IS 'Why the rail refused the last one; NULL: it did not.';

GRANT SELECT, INSERT ON rail_contracts, rail_checks TO manilla_app;
GRANT UPDATE (version, sealed, capabilities, closing_at, disconnected_at) ON rail_contracts TO manilla_app;
GRANT SELECT, INSERT, UPDATE ON rail_balances, provider_messages, transfer_sends TO manilla_app;
GRANT SELECT ON rail_pauses TO manilla_app;
