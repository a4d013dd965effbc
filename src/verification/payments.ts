// Checks each payment against what came, what was taken back and what was given back: its amounts are the sums of its
// credits, review cases and refunds, and no refund began when less than that had come and stayed.
import type { Snapshot } from '../database/snapshot.ts';
import { publicId, type Uuid } from '../ids.ts';
import type { Environment, Kobo } from '../money.ts';
import type { Payment } from '../resources/payments/queries.ts';
import { caseOfPayment, creditedToPayment, isNotTakenBack } from '../resources/reviewCases/queries.ts';
import { type CheckContext, pagedCheck } from './verify.ts';

type Amounts = Pick<
  Payment,
  'amountReceived' | 'amountInReview' | 'amountRecalled' | 'amountRefunding' | 'amountRefunded'
> & {
  /** What refunds took from the wallets of splits. */
  refundedBySplits: Kobo;
};

/** A payment, with the sums of its parts. */
interface SummedPayment extends Amounts {
  id: Uuid;
  environment: Environment;
  sums: Amounts;
}

export const paymentCheck = pagedCheck<Uuid>('payments', async (context, after) =>
  context.snapshots.read(async (snapshot) => {
    const page = await readPage(snapshot, context, after);
    for (const { id, environment, sums, ...row } of page) {
      for (const name of Object.keys(sums) as (keyof Amounts)[]) {
        const location = { environment, resource: publicId('payment', id) };
        if (row[name] !== sums[name])
          context.add('PAYMENT_MISMATCH', location, said(name, sums[name]), said(name, row[name]));
      }
    }
    const recalled = page.filter(({ sums }) => sums.amountRecalled > 0);
    for (const { id, environment, refund, missing } of await readExcess(snapshot, context, recalled)) {
      const location = { environment, resource: publicId('payment', id) };
      context.add('REFUND_EXCEEDS_CREDIT', location, 'what had come and stayed', `${missing} more, in ${refund}`);
    }
    return page.length < context.pageSize ? null : (page.at(-1)?.id ?? null);
  }),
);

const said = (name: string, amount: Kobo): string => `${name} ${amount}`;

/**
 * A page of payments. Of credits that the bank took back before the wallet had them nothing was received; a refund that
 * the bank paid after all, beside the one that replaced it, is not counted beyond what was credited.
 */
async function readPage(
  snapshot: Snapshot,
  { organisationId, pageSize }: CheckContext,
  after: Uuid | null,
): Promise<SummedPayment[]> {
  return await snapshot<SummedPayment[]>`
    SELECT p.id, p.environment, p.amount_received, p.amount_in_review, p.amount_recalled, p.amount_refunding, p.amount_refunded,
           (SELECT coalesce(sum(s."amountRefunded"), 0) FROM jsonb_to_recordset(p.splits) AS s ("amountRefunded" bigint))::bigint
             AS refunded_by_splits,
           jsonb_build_object(
             'amountReceived', CASE p.method WHEN 'virtual_wallet' THEN p.amount_received ELSE c.received + k.received END,
             'amountInReview', k.in_review, 'amountRecalled', c.recalled - k.recalled, 'amountRefunding', r.refunding,
             'amountRefunded', CASE WHEN r.clawed_back THEN least(
               r.refunded, CASE WHEN k.raised THEN p.amount_refunded ELSE p.amount_credited - p.amount_refunding END) ELSE r.refunded END,
             'refundedBySplits', r.by_splits) AS sums
    FROM payments p
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(amount) FILTER (
               WHERE status = 'posted' AND ${isNotTakenBack(snapshot)}), 0) AS received,
             coalesce(sum(amount) FILTER (
               WHERE recall = 'posted' AND recalled_from = 'wallet:' || ledger.public_id(p.target_wallet_id, 'wlt')), 0) AS recalled
      FROM inbound_credits
      WHERE organisation_id = ${organisationId} AND environment = p.environment AND owner_id = p.id AND owner_kind = 'payment'
    ) c
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(amount) FILTER (
               WHERE status = 'credited' AND wallet_id = p.target_wallet_id
                 AND reason NOT IN ('partial_expired', 'surplus_over_limit', 'split_refused')), 0) AS received,
             coalesce(sum(amount) FILTER (WHERE status IN ('open', 'returning')), 0) AS in_review,
             coalesce(bool_or(status = 'credited'), false) AS raised,
             coalesce(sum(amount) FILTER (
               WHERE status <> 'credited' AND reason = 'surplus_over_limit' AND EXISTS (
                 SELECT FROM inbound_credits i
                 WHERE i.organisation_id = ${organisationId} AND i.id = inbound_credit_id AND i.recall = 'posted')), 0) AS recalled
      FROM review_cases
      WHERE organisation_id = ${organisationId} AND payment_id = p.id AND ${caseOfPayment(snapshot)}
    ) k
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(amount) FILTER (WHERE status = 'processing'), 0) AS refunding,
             coalesce(sum(amount) FILTER (WHERE status = 'completed'), 0) AS refunded,
             coalesce(bool_or(clawed_back IS NOT NULL), false) AS clawed_back,
             coalesce(sum((
               SELECT sum(s.amount) FROM jsonb_to_recordset(sources) AS s ("onBehalfOf" uuid, amount bigint)
               WHERE s."onBehalfOf" <> p.target_wallet_id)) FILTER (WHERE status <> 'failed'), 0) AS by_splits
      FROM refunds
      WHERE organisation_id = ${organisationId} AND environment = p.environment AND payment_id = p.id
    ) r
    WHERE p.organisation_id = ${organisationId} ${after === null ? snapshot`` : snapshot`AND p.id > ${after}`}
    ORDER BY p.id LIMIT ${pageSize}`;
}

/**
 * Refunds of these payments that began when less than their sum had come and stayed. Each movement of a payment reads
 * the row that the one before it has written, so their statements began in the order of their commits. Rows have times
 * of the processes, so those of the ledger are read.
 */
async function readExcess(
  snapshot: Snapshot,
  { organisationId }: CheckContext,
  payments: readonly SummedPayment[],
): Promise<{ id: Uuid; environment: Environment; refund: string; missing: Kobo }[]> {
  if (payments.length === 0) return [];
  return await snapshot<{ id: Uuid; environment: Environment; refund: string; missing: Kobo }[]>`
    WITH paid AS MATERIALIZED (
      SELECT p.*, ledger.public_id(p.target_wallet_id, 'wlt') AS wallet FROM payments p
      WHERE p.organisation_id = ${organisationId} AND p.id = ANY (${payments.map(({ id }) => id)}::uuid[])
    ), cases AS MATERIALIZED (
      SELECT p.id AS payment_id, k.* FROM paid p
      CROSS JOIN LATERAL (
        SELECT ledger.public_id(id, 'rev') || '/credit' AS key, amount + with_held - fee AS to_wallet FROM review_cases
        WHERE organisation_id = ${organisationId} AND payment_id = p.id AND ${creditedToPayment(snapshot)}
      ) k
    ), steps AS (
      SELECT p.id, p.environment, t.created_at AS at, 0 AS place, NULL AS refund,
             p.amount_credited - coalesce((SELECT sum(to_wallet) FROM cases k WHERE k.payment_id = p.id), 0) AS amount
      FROM paid p
      JOIN inbound_credits i ON i.organisation_id = p.organisation_id AND i.environment = p.environment
        AND i.owner_id = p.id AND i.owner_kind = 'payment'
      JOIN ledger.transactions t ON t.organisation_id = p.organisation_id AND t.environment = p.environment
        AND t.key = 'credit/' || i.rail || '/' || i.session_id AND t.kind = 'payment_settlement'
      UNION ALL
      SELECT p.id, p.environment, t.created_at, 0, NULL, k.to_wallet FROM paid p JOIN cases k ON k.payment_id = p.id
      JOIN ledger.transactions t
        ON t.organisation_id = p.organisation_id AND t.environment = p.environment AND t.key = k.key
      UNION ALL
      SELECT p.id, p.environment, t.created_at, 0, NULL, r.amount FROM paid p
      JOIN refunds r ON r.organisation_id = p.organisation_id AND r.environment = p.environment AND r.payment_id = p.id
      JOIN ledger.transactions t ON t.organisation_id = p.organisation_id AND t.environment = p.environment
        AND t.key = ledger.public_id(r.id, 'rfd') || '/return'
      WHERE r.status = 'failed'
      UNION ALL
      SELECT p.id, p.environment, t.created_at, 1, ledger.public_id(r.id, 'rfd'), -r.amount FROM paid p
      JOIN refunds r ON r.organisation_id = p.organisation_id AND r.environment = p.environment AND r.payment_id = p.id
      JOIN ledger.transactions t ON t.organisation_id = r.organisation_id AND t.environment = r.environment
        AND t.key = ledger.public_id(r.id, 'rfd') || CASE r.destination WHEN 'bank' THEN '/hold' ELSE '/completion' END
      UNION ALL
      SELECT p.id, p.environment, t.created_at, 2, NULL, -(i.amount - coalesce((
               SELECT sum(k.amount) FROM review_cases k
               WHERE k.organisation_id = i.organisation_id AND k.inbound_credit_id = i.id AND k.status <> 'credited'
                 AND k.reason = 'surplus_over_limit'), 0))
      FROM paid p
      JOIN inbound_credits i ON i.organisation_id = p.organisation_id AND i.environment = p.environment AND i.owner_id = p.id
        AND i.owner_kind = 'payment' AND i.recall = 'posted' AND i.recalled_from = 'wallet:' || p.wallet
      JOIN ledger.transactions t ON t.organisation_id = i.organisation_id AND t.environment = i.environment
        AND t.key = 'recall/' || i.rail || '/' || i.session_id
    )
    SELECT id, environment, refund, (-stayed)::bigint AS missing FROM (
      SELECT *, sum(amount) OVER (PARTITION BY id ORDER BY at, place, refund) AS stayed FROM steps
    ) s
    WHERE refund IS NOT NULL AND stayed < 0 ORDER BY id, at, refund`;
}
