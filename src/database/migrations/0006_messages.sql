-- Messages that follow a commit: the outbox, events and their deliveries; and the flows whose tasks fail.

CREATE TABLE outbox (
  LIKE template.book_row INCLUDING ALL,
  id              bigint GENERATED ALWAYS AS IDENTITY,
  topic           text NOT NULL,
  message         jsonb NOT NULL,
  -- 1: a caller waits for its effect
  priority        smallint NOT NULL GENERATED ALWAYS AS (CASE WHEN message ? 'urgent' THEN 1 ELSE 2 END) STORED,
  available_at    timestamptz(3) NOT NULL DEFAULT now(),
  attempts        integer NOT NULL DEFAULT 0,
  last_error      text,
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000); -- most rows live for milliseconds
CREATE INDEX outbox_turns ON outbox (topic, priority, environment, organisation_id, available_at, id);
-- Finds the update of a transfer that waits in the outbox: a further callback then adds none.
CREATE INDEX outbox_transfer_updates
  ON outbox (organisation_id, (message ->> 'id')) WHERE message -> 'signal' ->> 'name' = 'transferUpdated';
COMMENT ON TABLE outbox IS 'Flows to start or signal, events to deliver. Leased by advancing available_at.';

CREATE TABLE events (
  LIKE template.listed_row INCLUDING ALL,
  type            text NOT NULL,
  resource        text NOT NULL,
  -- 1, 2, 3 … in the order of changes of the resource (insert_events.sql)
  sequence        integer NOT NULL CHECK (sequence > 0),
  data            json NOT NULL -- not jsonb: its text never changes, so a signature stays valid
);
CREATE INDEX events_by_type ON events (organisation_id, environment, type, created_at, id) WHERE type <> 'transfer.completed';
-- Without the events of transfers, the most frequent: a transfer has one, which is found by its time.
CREATE UNIQUE INDEX event_sequence_unique
  ON events (organisation_id, environment, resource, sequence) WHERE type <> 'transfer.completed';
-- ledger.sequence_before relies on it.
CREATE TRIGGER kept_366_days BEFORE DELETE ON events FOR EACH ROW
  WHEN (OLD.created_at > now() - interval '366 days') EXECUTE FUNCTION ledger.refuse_change();

CREATE TABLE webhook_endpoints (
  LIKE template.listed_row INCLUDING ALL,
  url             text NOT NULL,
  description     text,
  event_types     text[],
  status          text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
  failing_since   timestamptz(3), -- the first failed attempt since the last that succeeded; NULL: not failing
  -- of the last event webhook_endpoint.failing; before failing_since: none since it fails
  failing_event_at timestamptz(3),
  recovered_at    timestamptz(3), -- the last success after a time of failures, or when it got another URL
  sealed_secret   text NOT NULL,
  sealed_previous_secret text,
  previous_secret_until  timestamptz(3),
  deleted_at      timestamptz(3)
);

CREATE TABLE webhook_deliveries (
  LIKE template.book_row INCLUDING ALL,
  event_id        uuid NOT NULL,
  endpoint_id     uuid NOT NULL,
  status          text NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
  attempts        integer NOT NULL DEFAULT 0, -- of the retry schedule so far; redelivering resets it
  next_attempt_at timestamptz(3), -- a new one's is later than now: the process that opens it attempts it at once
  claimed_until   timestamptz(3), -- a worker attempts it, and has recorded the attempt by then
  attempted_at    timestamptz(3),
  delivered_at    timestamptz(3), -- of the last success; a later redelivery that fails does not change it
  failure_reason  text CHECK (failure_reason IN ('retries_exhausted', 'endpoint_disabled', 'endpoint_deleted')),
  created_at      timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (organisation_id, event_id, endpoint_id),
  CONSTRAINT failed_has_reason CHECK ((status = 'failed') = (failure_reason IS NOT NULL)),
  CONSTRAINT pending_is_due CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL))
);
CREATE INDEX webhook_deliveries_due
  ON webhook_deliveries (environment, endpoint_id, organisation_id, next_attempt_at) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_claimed
  ON webhook_deliveries (organisation_id, endpoint_id, claimed_until) WHERE claimed_until IS NOT NULL;
CREATE INDEX webhook_deliveries_attempted -- metrics read the oldest every few seconds, also while millions are pending
  ON webhook_deliveries (environment, created_at) WHERE status = 'pending' AND attempted_at IS NOT NULL;
CREATE INDEX webhook_deliveries_unattempted
  ON webhook_deliveries (endpoint_id, created_at) WHERE status = 'pending' AND attempted_at IS NULL;
CREATE INDEX webhook_deliveries_failed
  ON webhook_deliveries (organisation_id, endpoint_id, created_at, event_id) WHERE status = 'failed';

CREATE TABLE webhook_attempts (
  LIKE template.book_row INCLUDING ALL,
  id              bigint GENERATED ALWAYS AS IDENTITY,
  event_id        uuid NOT NULL,
  endpoint_id     uuid NOT NULL,
  attempted_at    timestamptz(3) NOT NULL,
  duration_ms     integer NOT NULL,
  response_status integer,
  response_body   text,
  error           text,
  PRIMARY KEY (organisation_id, id)
);
CREATE INDEX webhook_attempts_by_event ON webhook_attempts (organisation_id, event_id, id);
CREATE INDEX webhook_attempts_oldest ON webhook_attempts (attempted_at);
CREATE TRIGGER kept_thirty_days BEFORE DELETE ON webhook_attempts FOR EACH ROW
  WHEN (OLD.attempted_at > now() - interval '30 days') EXECUTE FUNCTION ledger.refuse_change();

CREATE TABLE failing_flows (
  organisation_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'
                  CHECK (organisation_id = '00000000-0000-0000-0000-000000000000'),
  workflow_id     text NOT NULL,
  workflow        text NOT NULL,
  task            text CHECK (task IN ('activity', 'workflow_task')), -- NULL: it failed, but not for long yet
  problem         text CHECK (problem IN ('failing', 'stalled')),
  activity        text,
  attempt         integer,
  since           timestamptz(3),
  error           text,
  PRIMARY KEY (organisation_id, workflow_id)
);
COMMENT ON TABLE failing_flows IS 'Flows of which a task has failed: noted by workers, examined by each scan.';

GRANT SELECT, INSERT, UPDATE, DELETE ON outbox, failing_flows, webhook_deliveries TO manilla_app;
GRANT SELECT, INSERT, DELETE ON events, webhook_attempts TO manilla_app;
GRANT SELECT, INSERT, UPDATE ON webhook_endpoints TO manilla_app;
