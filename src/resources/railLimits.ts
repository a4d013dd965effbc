// The limits of calls a second to the rail of an environment that operators set. Every process follows at once, because
// each call takes its slot from the same row (src/rail/callSlots.ts).
import type { Sql } from '../database/pool.ts';
import type { Environment } from '../money.ts';
import { type AuditNote, audited } from './railAudit.ts';

export interface RailLimit {
  environment: Environment;
  /** Null: the limit that the rail declares. */
  callsPerSecond: number | null;
}

/** The limits of both environments. */
export async function listRailLimits(sql: Sql): Promise<RailLimit[]> {
  return await sql<RailLimit[]>`SELECT environment, calls_per_second FROM rail_call_limits ORDER BY environment DESC`;
}

/** Sets a limit, with its audit log entry in the same statement. False: it was the same, and nothing was written. */
export async function setRailLimit(
  sql: Sql,
  { environment, callsPerSecond }: RailLimit,
  { operator, reason }: AuditNote,
): Promise<boolean> {
  const changing = sql`
      UPDATE rail_call_limits SET calls_per_second = ${callsPerSecond}
      WHERE environment = ${environment} AND calls_per_second IS DISTINCT FROM ${callsPerSecond}
      RETURNING organisation_id, environment`;
  const note = { operator, reason: `${callsPerSecond ?? 'default'} calls a second: ${reason}` };
  return await audited(sql, 'rail.limit', note, changing);
}
