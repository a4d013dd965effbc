// Open items: what is in transit, in reserve and in suspense, for which resource and since when.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { AccountCode } from '../ledger/chart.ts';
import type { Environment, Kobo } from '../money.ts';

export interface OpenItem {
  environment: Environment;
  account: AccountCode;
  /** Public id of the withdrawal, refund, payout item, payment or review case. */
  resource: string;
  amount: Kobo;
  /** When the money went there, or its review case was opened. */
  since: Date;
}

/** The open items of an organisation, the oldest first, at most `max`, and their number. */
export async function listOpenItems(
  sql: Sql,
  organisationId: Uuid,
  max: number,
): Promise<{ items: OpenItem[]; total: number }> {
  const rows = await sql<(OpenItem & { total: number })[]>`
    SELECT environment, account, resource, amount, since, count(*) OVER ()::int AS total
    FROM ledger.open_items WHERE organisation_id = ${organisationId}
    ORDER BY since, resource LIMIT ${max}`;
  return { items: rows.map(({ total: _total, ...item }) => item), total: rows[0]?.total ?? 0 };
}
