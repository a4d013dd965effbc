// The resources of all organisations that are accepted and have not ended, so that each must have a flow: how they are
// listed, and the message that starts their flow.
import type { Sql } from '../database/pool.ts';
import { type IdKind, publicId, type Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { findAdjustment } from '../resources/adjustments/queries.ts';
import {
  recallFlowId,
  startAdjustment,
  startHold,
  startInboundCredit,
  startPayment,
  startPayout,
  startRecall,
  startRefund,
  startReviewCase,
  startWithdrawal,
} from '../resources/flows.ts';
import { findHold } from '../resources/holds/queries.ts';
import { findInboundCredit } from '../resources/inboundCredits/queries.ts';
import { findPayment } from '../resources/payments/queries.ts';
import { countPayout, findPayout } from '../resources/payouts/queries.ts';
import { findRefund } from '../resources/refunds/queries.ts';
import { findReviewCase } from '../resources/reviewCases/queries.ts';
import { findWithdrawal } from '../resources/withdrawals/queries.ts';
import type { FlowOutboxMessage } from '../workflows/flows.ts';
import { hasUnreportedChange } from '../workflows/payout/decide.ts';

/** A resource that has not ended. */
export interface OpenResource extends Book {
  id: Uuid;
  createdAt: Date;
}

/** A kind of resource with a flow. */
export interface OpenKind {
  /** SQL: a table and a condition that only its open rows meet, that of a partial index. */
  rows: string;
  /** Null: only the flow of another resource can be queried about it. */
  flowId: ((resource: OpenResource) => string) | null;
  /** The message that started the flow, from the row as it is now; null when it is no longer open. */
  start: (sql: Sql, book: Book, resource: OpenResource) => Promise<FlowOutboxMessage | null>;
}

/** A kind that is open while its status is one of these. */
const withStatus = <Row extends { status: string }>(
  kind: IdKind,
  table: string,
  statuses: readonly Row['status'][],
  find: (sql: Sql, book: Book, id: Uuid) => Promise<Row | null>,
  start: (book: Book, row: Row) => FlowOutboxMessage,
): OpenKind => ({
  rows: `${table} WHERE status IN ('${statuses.join("', '")}')`,
  flowId: ({ id }) => publicId(kind, id),
  start: async (sql, book, { id }) => {
    const row = await find(sql, book, id);
    return row !== null && statuses.includes(row.status) ? start(book, row) : null;
  },
});

const inboundCredit: OpenKind = {
  rows: `inbound_credits WHERE status = 'received'`,
  flowId: null, // a credit of a payment has no workflow of its own
  start: async (sql, book, { id }) => {
    const row = await findInboundCredit(sql, book, id);
    if (row?.status !== 'received') return null;
    if (row.ownerKind !== 'payment' || row.ownerId === null) return startInboundCredit(book, row, null);
    const payment = await findPayment(sql, book, row.ownerId);
    return payment && startInboundCredit(book, row, payment);
  },
};

const recall: OpenKind = {
  rows: `inbound_credits WHERE recall = 'received'`,
  flowId: ({ id }) => recallFlowId(id),
  start: async (sql, book, { id }) => {
    const row = await findInboundCredit(sql, book, id);
    return row?.recall === 'received' ? startRecall(book, row) : null;
  },
};

/** An ended payout with items that the bank returned or paid later, which no event of the payout has reported yet. */
const unreportedPayoutReturn: OpenKind = {
  rows: `(
    SELECT p.* FROM payouts p
    JOIN (SELECT DISTINCT organisation_id, payout_id FROM payout_items WHERE unreported) i
      ON i.organisation_id = p.organisation_id AND i.payout_id = p.id
    WHERE p.status <> 'processing'
  ) unreported WHERE true`,
  flowId: ({ id }) => publicId('payout', id),
  start: async (sql, book, { id }) => {
    const counted = await countPayout(sql, book, id);
    return counted !== null && hasUnreportedChange(counted.payout, counted) ? startPayout(book, counted.payout) : null;
  },
};

/** Until its window ends, a payment without money has no flow. */
const payment: OpenKind = {
  ...withStatus('payment', 'payments', ['pending', 'partial'], findPayment, startPayment),
  rows: `payments WHERE status IN ('pending', 'partial') AND (status = 'partial' OR expires_at <= now())`,
};

/** Inbound credits first: the message that starts a payment's flow for a credit also carries the credit's signal. */
export const OPEN_KINDS: readonly OpenKind[] = [
  inboundCredit,
  recall,
  payment,
  withStatus('withdrawal', 'withdrawals', ['processing'], findWithdrawal, startWithdrawal),
  withStatus('refund', 'refunds', ['processing'], findRefund, startRefund),
  withStatus('payout', 'payouts', ['processing'], findPayout, startPayout),
  unreportedPayoutReturn,
  withStatus('reviewCase', 'review_cases', ['open', 'returning'], findReviewCase, startReviewCase),
  withStatus('hold', 'holds', ['held'], findHold, startHold),
  withStatus('adjustment', 'adjustments', ['requested'], findAdjustment, startAdjustment),
];

/** Returns a page of open resources of one kind that are at least `ageMinMs` old, by keyset pagination. */
export const listOpenResources = (
  sql: Sql,
  { rows }: OpenKind,
  { after, limit, ageMinMs }: { after: OpenResource | null; limit: number; ageMinMs: number },
): Promise<OpenResource[]> => sql<OpenResource[]>`
    SELECT organisation_id, environment, created_at, id
    FROM ${sql.unsafe(rows)} AND created_at <= now() - make_interval(secs => ${ageMinMs / 1000})
      ${after ? sql`AND (organisation_id, id) > (${after.organisationId}, ${after.id})` : sql``}
    ORDER BY organisation_id, id LIMIT ${limit}`;
