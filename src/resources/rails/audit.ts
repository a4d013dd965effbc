// Changes of an environment's rail by operators, each with its audit log entry in the same statement.
import type postgres from 'postgres';
import type { Sql } from '../../database/pool.ts';
import type { Proof } from '../proofs.ts';

export interface AuditNote {
  /** Of the operator who makes the change. */
  proof: Proof;
  reason: string;
}

/**
 * Makes a change and writes its audit log entry in one statement, which fails if the operator is not proven. `change`
 * returns organisation and environment of the row that it has changed. Returns whether a row changed.
 */
export async function audited(
  sql: Sql,
  action: string,
  { proof, reason }: AuditNote,
  change: postgres.Fragment,
): Promise<boolean> {
  const written = await sql`
    WITH changed AS (${change}
    )
    SELECT ledger.audit(organisation_id, environment, ${proof}, ${action}, 'rail:' || environment, ${reason}) FROM changed`;
  return written.count === 1;
}
