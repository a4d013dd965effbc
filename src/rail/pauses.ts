// Whether operations have paused the rail of an environment. Every process reads it where it would send; each act is in
// the audit trail, written with it.
import type postgres from 'postgres';
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';

/** Stands for all of them: a pause is of the rail, not of one organisation's book. */
const EVERY_ORGANISATION: Uuid = '00000000-0000-0000-0000-000000000000';

export interface RailPause {
  environment: Environment;
  operator: string;
  reason: string;
  pausedAt: Date;
}

export async function isRailPaused(sql: Sql, environment: Environment): Promise<boolean> {
  const rows = await sql`
    SELECT FROM rail_pauses WHERE organisation_id = ${EVERY_ORGANISATION} AND environment = ${environment}`;
  return rows.length > 0;
}

/** The pauses that hold now, at most one an environment. */
export async function listRailPauses(sql: Sql): Promise<RailPause[]> {
  return await sql<RailPause[]>`
    SELECT environment, operator, reason, paused_at FROM rail_pauses ORDER BY environment DESC`;
}

interface Act {
  operator: string;
  reason: string;
}

/** Once this resolves, no send begins any more. False: it was paused before, and nothing is written. */
export async function pauseRail(sql: Sql, environment: Environment, act: Act): Promise<boolean> {
  const pausing = sql`
      INSERT INTO rail_pauses (organisation_id, environment, operator, reason)
      VALUES (${EVERY_ORGANISATION}, ${environment}, ${act.operator}, ${act.reason})
      ON CONFLICT DO NOTHING RETURNING organisation_id, environment`;
  return await audited(sql, 'rail.pause', act, pausing);
}

/** False: it was not paused, and nothing is written. */
export async function resumeRail(sql: Sql, environment: Environment, act: Act): Promise<boolean> {
  const resuming = sql`
      DELETE FROM rail_pauses WHERE organisation_id = ${EVERY_ORGANISATION} AND environment = ${environment}
      RETURNING organisation_id, environment`;
  return await audited(sql, 'rail.resume', act, resuming);
}

/** Makes a change together with its audit entry; answers whether there was anything to change. */
async function audited(
  sql: Sql,
  action: string,
  { operator, reason }: Act,
  change: postgres.Fragment,
): Promise<boolean> {
  const written = await sql`
    WITH changed AS (${change}
    )
    INSERT INTO audit_log (organisation_id, environment, operator, action, subject, reason)
    SELECT organisation_id, environment, ${operator}, ${action}, 'rail:' || environment, ${reason} FROM changed`;
  return written.count === 1;
}
