// Outbox messages that are not due at once. Those of a movement are written by ledger.post with it.
import type { Sql } from '../database/pool.ts';
import type { Book } from '../money.ts';
import type { FlowOutboxMessage } from '../workflows/flows.ts';

/** Writes a message that the relay delivers after the delay. Twice is two messages. */
export async function sendLater(
  sql: Sql,
  { organisationId, environment }: Book,
  { topic, message }: FlowOutboxMessage,
  delayMs: number,
): Promise<void> {
  await sql`
    INSERT INTO outbox (organisation_id, environment, topic, message, available_at)
    VALUES (${organisationId}, ${environment}, ${topic}, ${JSON.stringify(message)}::text::jsonb,
            now() + make_interval(secs => ${delayMs / 1_000}))`;
}
