// What each rail could pay out when it was last asked: for operators and alerts, not for decisions.
import type { Sql } from '../../database/pool.ts';
import type { Book, Kobo } from '../../money.ts';

export async function saveRailBalance(
  sql: Sql,
  { organisationId, environment }: Book,
  rail: string,
  available: Kobo,
): Promise<void> {
  await sql`
    INSERT INTO rail_balances (organisation_id, environment, rail, available, read_at)
    VALUES (${organisationId}, ${environment}, ${rail}, ${available}, now())
    ON CONFLICT (organisation_id, environment, rail)
    DO UPDATE SET available = excluded.available, read_at = excluded.read_at`;
}
