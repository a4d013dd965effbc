// The limits of calls a second that operators set, of a contract or of a rail that serves all organisations. Processes
// follow within seconds, and those that are limited already at once: each call takes its slot from the same row
// (src/rail/callSlots.ts).
import type { Sql } from '../database/pool.ts';
import type { LimitScope } from '../rail/callSlots.ts';
import { type AuditNote, audited } from './railAudit.ts';

export interface RailLimit extends LimitScope {
  callsPerSecond: number;
}

/** The limits that operators have set. */
export async function listRailLimits(sql: Sql): Promise<RailLimit[]> {
  return await sql<RailLimit[]>`
    SELECT organisation_id, environment, rail, calls_per_second FROM rail_call_limits
    WHERE calls_per_second IS NOT NULL ORDER BY environment DESC, organisation_id, rail`;
}

/**
 * Sets a limit, or with null what the rail declares, with its audit log entry in the same statement. False: it was the
 * same, and nothing was written.
 */
export async function setRailLimit(
  sql: Sql,
  { organisationId, environment, rail, callsPerSecond }: LimitScope & { callsPerSecond: number | null },
  { operator, reason }: AuditNote,
): Promise<boolean> {
  const changing = sql`
      INSERT INTO rail_call_limits AS l (organisation_id, environment, rail, calls_per_second)
      SELECT ${organisationId}::uuid, ${environment}, ${rail}, ${callsPerSecond}::int
      WHERE ${callsPerSecond}::int IS NOT NULL OR EXISTS (
        SELECT FROM rail_call_limits
        WHERE organisation_id = ${organisationId} AND environment = ${environment} AND rail = ${rail})
      ON CONFLICT (organisation_id, environment, rail) DO UPDATE SET calls_per_second = excluded.calls_per_second
      WHERE l.calls_per_second IS DISTINCT FROM excluded.calls_per_second
      RETURNING organisation_id, environment`;
  const note = { operator, reason: `${callsPerSecond ?? 'default'} calls a second of ${rail}: ${reason}` };
  return await audited(sql, 'rail.limit', note, changing);
}
