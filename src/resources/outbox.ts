// Outbox messages that belong to no movement. Those of a movement are written by ledger.post with it.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { currentTraceparent } from '../telemetry/tracing.ts';
import { FLOW_TOPIC, type FlowOutboxMessage } from '../workflows/flows.ts';

/** Writes a message. Twice is two messages. */
export async function enqueue(
  sql: Sql,
  { organisationId, environment }: Book,
  { topic, message }: FlowOutboxMessage,
): Promise<void> {
  const traceparent = currentTraceparent();
  const traced = traceparent === undefined ? message : { ...message, traceparent };
  await sql`
    INSERT INTO outbox (organisation_id, environment, topic, message)
    VALUES (${organisationId}, ${environment}, ${topic}, ${JSON.stringify(traced)}::text::jsonb)`;
}

/**
 * Whether the signal `transferUpdated` to this flow waits in the outbox. The flow queries the rail after it has
 * received that signal, so another one for an update that is here already would change nothing.
 */
export async function isUpdateWaiting(
  sql: Sql,
  { organisationId }: Book,
  { message }: FlowOutboxMessage,
): Promise<boolean> {
  const rows = await sql`
    SELECT FROM outbox
    WHERE organisation_id = ${organisationId} AND message ->> 'id' = ${message.id} AND topic = ${FLOW_TOPIC}
      AND message -> 'signal' ->> 'name' = 'transferUpdated' AND attempts = 0
    LIMIT 1`;
  return rows.length > 0;
}

/**
 * Whether a message that starts or signals this flow waits in the outbox, or the first attempt to deliver the event
 * with this id.
 */
export async function isMessageWaiting(
  sql: Sql,
  { organisationId, flowId, eventId }: { organisationId: Uuid; flowId: string; eventId: Uuid },
): Promise<boolean> {
  const rows = await sql`
    SELECT FROM outbox
    WHERE organisation_id = ${organisationId}
      AND ((topic = ${FLOW_TOPIC} AND message ->> 'id' = ${flowId})
        OR (topic = 'event' AND message ->> 'eventId' = ${eventId}::text))
    LIMIT 1`;
  return rows.length > 0;
}
