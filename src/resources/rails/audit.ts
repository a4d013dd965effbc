// Changes of an environment's rail by operators, each with its audit log entry in the same statement.
import type postgres from 'postgres';
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { FlowOutboxMessage } from '../../workflows/flows.ts';

export interface AuditNote {
  /** `id` null: the database owner. */
  operator: { id: Uuid | null; name: string };
  reason: string;
}

/**
 * Makes a change and writes its audit log entry and message in one statement. `change` returns organisation and
 * environment of the row that it has changed. Returns whether a row changed.
 */
export async function audited(
  sql: Sql,
  action: string,
  { operator, reason }: AuditNote,
  change: postgres.Fragment,
  message?: FlowOutboxMessage,
): Promise<boolean> {
  const written = await sql`
    WITH changed AS (${change}
    ), queued AS (
      INSERT INTO outbox (organisation_id, environment, topic, message)
      SELECT organisation_id, environment, ${message?.topic ?? ''}, ${JSON.stringify(message?.message ?? null)}::text::jsonb
      FROM changed WHERE ${message !== undefined}
    )
    INSERT INTO audit_log (organisation_id, environment, operator_id, operator, action, subject, reason)
    SELECT organisation_id, environment, ${operator.id}::uuid, ${operator.name}, ${action}, 'rail:' || environment, ${reason} FROM changed`;
  return written.count === 1;
}
