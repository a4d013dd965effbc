-- The relay takes urgent messages apart from the others, live ones first, and those of the organisations in turns.
ALTER TABLE outbox
  ADD COLUMN priority smallint NOT NULL GENERATED ALWAYS AS (CASE WHEN message ? 'urgent' THEN 1 ELSE 2 END) STORED;
COMMENT ON COLUMN outbox.priority IS
  '1: somebody waits for the effect of the message, which says so itself (`urgent`); 2: every other.';
CREATE INDEX outbox_turns ON outbox (topic, priority, environment, organisation_id, available_at, id);
DROP INDEX outbox_next;
