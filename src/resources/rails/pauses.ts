// Pauses of an environment's rail by operators. Every process reads the pause before it sends. Each pause and resume
// writes its audit log entry in the same statement, and a resume the message that starts its flow, which signals the
// flows that wait.
import { hasRow, type Sql } from '../../database/pool.ts';
import { ALL_ORGANISATIONS } from '../../ids.ts';
import type { Environment } from '../../money.ts';
import { startRailResume } from '../flows.ts';
import type { AuditNote } from './audit.ts';

export interface RailPause {
  environment: Environment;
  operator: string;
  reason: string;
  pausedAt: Date;
}

export const isRailPaused = (sql: Sql, environment: Environment): Promise<boolean> =>
  hasRow(sql`SELECT FROM rail_pauses WHERE organisation_id = ${ALL_ORGANISATIONS} AND environment = ${environment}`);

/** Returns the current pauses, at most one per environment. */
export const listRailPauses = (sql: Sql): Promise<RailPause[]> => sql<RailPause[]>`
    SELECT environment, operator, reason, paused_at FROM rail_pauses ORDER BY environment DESC`;

/** Once this resolves, no new step sends; one that has begun may. False: it was paused already; nothing was written. */
export async function pauseRail(sql: Sql, environment: Environment, { proof, reason }: AuditNote): Promise<boolean> {
  const [row] = await sql<{ isPaused: boolean }[]>`
    SELECT ledger.pause_rail(${proof}, ${environment}, true, ${reason}) AS is_paused`;
  return row?.isPaused === true;
}

/** False: it was not paused, and nothing was written. */
export async function resumeRail(sql: Sql, environment: Environment, { proof, reason }: AuditNote): Promise<boolean> {
  const { topic, message } = startRailResume(environment);
  const queued = await sql`
    INSERT INTO outbox (organisation_id, environment, topic, message)
    SELECT ${ALL_ORGANISATIONS}, ${environment}, ${topic}, ${JSON.stringify(message)}::text::jsonb
    WHERE ledger.pause_rail(${proof}, ${environment}, false, ${reason})`;
  return queued.count === 1;
}
