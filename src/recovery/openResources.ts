// Lists the open resources of all organisations: accepted, not ended, so each must have a flow. Keyset pagination, one
// query per kind, each over a partial index of only such rows.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';

export type OpenKind =
  | 'inboundCredit'
  | 'recall'
  | 'payment'
  | 'withdrawal'
  | 'refund'
  | 'payout'
  /** An ended payout with items that the bank returned or paid later, which no event of the payout has reported yet. */
  | 'unreportedPayoutReturn'
  | 'reviewCase'
  | 'adjustment'
  | 'webhookDelivery';

/**
 * A resource that has not ended. A webhook delivery is identified by its event (`id`) and its endpoint (`endpointId`).
 */
export interface OpenResource {
  organisationId: Uuid;
  environment: Environment;
  id: Uuid;
  endpointId: Uuid | null;
  createdAt: Date;
}

/** The keyset cursor: the key of the last resource of a page. */
export type OpenPosition = Pick<OpenResource, 'organisationId' | 'id' | 'endpointId'>;

/** The nil UUID, which sorts before every generated one. */
const FIRST: Uuid = '00000000-0000-0000-0000-000000000000';

/** Returns a page of open resources of one kind that are at least `ageMinMs` old. */
export async function listOpenResources(
  sql: Sql,
  kind: OpenKind,
  page: { after: OpenPosition | null; limit: number; ageMinMs: number },
): Promise<OpenResource[]> {
  const { organisationId = FIRST, id = FIRST } = page.after ?? {};
  const endpointId = page.after?.endpointId ?? FIRST;
  const rest = sql`
    AND created_at <= now() - make_interval(secs => ${page.ageMinMs / 1000})
    AND (organisation_id, id) > (${organisationId}, ${id})
    ORDER BY organisation_id, id LIMIT ${page.limit}`;
  const columns = sql`organisation_id, environment, id, NULL::uuid AS endpoint_id, created_at`;
  switch (kind) {
    case 'inboundCredit':
      return await sql<OpenResource[]>`SELECT ${columns} FROM inbound_credits WHERE status = 'received' ${rest}`;
    case 'recall':
      return await sql<OpenResource[]>`SELECT ${columns} FROM inbound_credits WHERE recall = 'received' ${rest}`;
    case 'payment':
      return await sql<OpenResource[]>`SELECT ${columns} FROM payments WHERE status IN ('pending', 'partial') ${rest}`;
    case 'withdrawal':
      return await sql<OpenResource[]>`SELECT ${columns} FROM withdrawals WHERE status = 'processing' ${rest}`;
    case 'refund':
      return await sql<OpenResource[]>`SELECT ${columns} FROM refunds WHERE status = 'processing' ${rest}`;
    case 'payout':
      return await sql<OpenResource[]>`SELECT ${columns} FROM payouts WHERE status = 'processing' ${rest}`;
    case 'unreportedPayoutReturn':
      return await sql<OpenResource[]>`
        SELECT ${columns} FROM (
          SELECT p.* FROM payouts p
          JOIN (SELECT organisation_id, payout_id FROM payout_items WHERE returned_at IS NOT NULL
                UNION SELECT organisation_id, payout_id FROM payout_items WHERE clawed_back IS NOT NULL) r
            ON r.organisation_id = p.organisation_id AND r.payout_id = p.id
          WHERE p.status <> 'processing' AND p.failures_reported <> (
            SELECT count(*) FROM payout_items i
            WHERE i.organisation_id = p.organisation_id AND i.payout_id = p.id AND i.status = 'failed')
        ) unreported WHERE true ${rest}`;
    case 'reviewCase':
      return await sql<
        OpenResource[]
      >`SELECT ${columns} FROM review_cases WHERE status IN ('open', 'returning') ${rest}`;
    case 'adjustment':
      return await sql<OpenResource[]>`SELECT ${columns} FROM adjustments WHERE status = 'requested' ${rest}`;
    case 'webhookDelivery':
      return await sql<OpenResource[]>`
        SELECT organisation_id, environment, event_id AS id, endpoint_id, created_at FROM webhook_deliveries
        WHERE status = 'pending' AND created_at <= now() - make_interval(secs => ${page.ageMinMs / 1000})
          AND (organisation_id, event_id, endpoint_id) > (${organisationId}, ${id}, ${endpointId})
        ORDER BY organisation_id, event_id, endpoint_id LIMIT ${page.limit}`;
  }
}
