// Whether operations have paused the rail of an environment. Every process reads it where it would send; each act is in
// the audit trail, written with it.
import type { Sql } from '../database.ts';
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

/** Once this resolves, no send begins any more. False: it was paused before, and nothing is written. */
export async function pauseRail(
  sql: Sql,
  environment: Environment,
  { operator, reason }: { operator: string; reason: string },
): Promise<boolean> {
  const audited = await sql`
    WITH changed AS (
      INSERT INTO rail_pauses (organisation_id, environment, operator, reason)
      VALUES (${EVERY_ORGANISATION}, ${environment}, ${operator}, ${reason})
      ON CONFLICT DO NOTHING RETURNING organisation_id, environment
    )
    INSERT INTO audit_log (organisation_id, environment, operator, action, subject, reason)
    SELECT organisation_id, environment, ${operator}, 'rail.pause', 'rail:' || environment, ${reason} FROM changed`;
  return audited.count === 1;
}

/** False: it was not paused, and nothing is written. */
export async function resumeRail(
  sql: Sql,
  environment: Environment,
  { operator, reason }: { operator: string; reason: string },
): Promise<boolean> {
  const audited = await sql`
    WITH changed AS (
      DELETE FROM rail_pauses WHERE organisation_id = ${EVERY_ORGANISATION} AND environment = ${environment}
      RETURNING organisation_id, environment
    )
    INSERT INTO audit_log (organisation_id, environment, operator, action, subject, reason)
    SELECT organisation_id, environment, ${operator}, 'rail.resume', 'rail:' || environment, ${reason} FROM changed`;
  return audited.count === 1;
}
