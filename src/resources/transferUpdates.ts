// Updates of bank transfers that wait in the outbox.
import type { Sql } from '../database/pool.ts';
import type { Book } from '../money.ts';
import { FLOW_TOPIC, type FlowOutboxMessage } from '../workflows/flows.ts';

/**
 * Whether the signal `transferUpdated` to this flow waits in the outbox. The flow queries the rail after it has
 * received that signal, so another one for news that is here already would tell it nothing.
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
