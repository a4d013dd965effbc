// Outbox messages that belong to no movement. Those of a movement are written by ledger.post with it.
import { firstOf, hasRow, type Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { currentTraceparent } from '../telemetry/tracing.ts';
import { FLOW_TOPIC, type FlowOutboxMessage, SCHEDULED_TOPIC } from '../workflows/flows.ts';

/** Writes a message. Twice is two messages. */
export async function enqueue(
  sql: Sql,
  { organisationId, environment }: Book,
  { topic, message, availableAt }: FlowOutboxMessage,
): Promise<void> {
  const traceparent = currentTraceparent();
  const traced = traceparent === undefined ? message : { ...message, traceparent };
  await sql`
    INSERT INTO outbox (organisation_id, environment, topic, message, available_at)
    VALUES (${organisationId}, ${environment}, ${topic}, ${JSON.stringify(traced)}::text::jsonb,
            coalesce(${availableAt ?? null}::timestamptz, now()))`;
}

/**
 * Whether the signal `transferUpdated` to this flow waits in the outbox. The flow queries the rail after it has
 * received that signal, so another one for an update that is here already would change nothing.
 */
export const isUpdateWaiting = (sql: Sql, { organisationId }: Book, { message }: FlowOutboxMessage): Promise<boolean> =>
  hasRow(sql`
    SELECT FROM outbox
    WHERE organisation_id = ${organisationId} AND message ->> 'id' = ${message.id} AND topic = ${FLOW_TOPIC}
      AND message -> 'signal' ->> 'name' = 'transferUpdated' AND attempts = 0
    LIMIT 1`);

/**
 * Whether a message that starts or signals this flow waits in the outbox. Reads what is due or leased, in the order of
 * the index outbox_turns, and not what waits for hours.
 */
export const isMessageWaiting = (
  sql: Sql,
  { organisationId, environment, flowId }: Book & { flowId: string },
): Promise<boolean> =>
  hasRow(sql`
    SELECT FROM outbox
    WHERE organisation_id = ${organisationId} AND environment = ${environment} AND priority IN (1, 2)
      AND topic IN (${FLOW_TOPIC}, ${SCHEDULED_TOPIC}) AND available_at < now() + interval '5 minutes'
      AND message ->> 'id' = ${flowId}
    LIMIT 1`);

/** The flow of a resource that has not begun: its message waits. */
interface WaitingFlow {
  organisationId: Uuid;
  workflow: string;
  summary: string;
  state: string;
  /** When it starts, unless something happens before. */
  startsAt: Date;
  lastError: string | null;
}

/** `id`: the workflow id. For operators: it reads the whole outbox. */
export const findWaitingFlow = (sql: Sql, id: string): Promise<WaitingFlow | null> =>
  firstOf(sql<WaitingFlow[]>`
    SELECT organisation_id, message ->> 'workflow' AS workflow, message ->> 'summary' AS summary,
           message ->> 'state' AS state, available_at AS starts_at, last_error
    FROM outbox WHERE topic IN (${FLOW_TOPIC}, ${SCHEDULED_TOPIC}) AND message ->> 'id' = ${id} ORDER BY available_at LIMIT 1`);
