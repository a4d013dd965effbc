// The last message of a provider about a transfer or a rejected payment: for operators, not for decisions.
import { firstOf, type Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Book } from '../../money.ts';

const MESSAGE_MAX = 300;

export async function saveProviderMessage(
  sql: Sql,
  { organisationId, environment }: Book,
  flowId: string,
  message: string,
): Promise<void> {
  await sql`
    INSERT INTO provider_messages (organisation_id, environment, flow_id, message)
    VALUES (${organisationId}, ${environment}, ${flowId}, ${message.slice(0, MESSAGE_MAX).toWellFormed()})
    ON CONFLICT (organisation_id, flow_id) DO UPDATE SET message = excluded.message, received_at = excluded.received_at`;
}

export const findProviderMessage = (sql: Sql, organisationId: Uuid, flowId: string) =>
  firstOf(sql<{ message: string; receivedAt: Date }[]>`
    SELECT message, received_at FROM provider_messages
    WHERE organisation_id = ${organisationId} AND flow_id = ${flowId}`);
