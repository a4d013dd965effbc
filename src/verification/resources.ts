// Checks the resources of an organisation against the ledger: the transactions of each resource have moved what its
// status says. Reads the resources in pages, on the snapshot of the verification.
import type { Uuid } from '../ids.ts';
import type { AccountCode } from '../ledger/chart.ts';
import { AccountSums, type ResourceCheck, type Snapshot } from '../ledger/verify.ts';
import type { Environment } from '../money.ts';
import type { Adjustment } from '../resources/adjustments/queries.ts';
import type { FeeSweep } from '../resources/feeSweeps/queries.ts';
import type { InboundCredit } from '../resources/inboundCredits/queries.ts';
import type { Payment } from '../resources/payments/queries.ts';
import type { Payout, PayoutItem } from '../resources/payouts/queries.ts';
import type { Refund } from '../resources/refunds/queries.ts';
import type { ReviewCase } from '../resources/reviewCases/queries.ts';
import type { StatementEntry } from '../resources/statementEntries/movements.ts';
import type { Transfer } from '../resources/transfers/queries.ts';
import type { Withdrawal } from '../resources/withdrawals/queries.ts';
import { checkBankBalances } from './bankBalances.ts';
import {
  differences,
  type Expectation,
  expectAdjustment,
  expectFeeSweep,
  expectInboundCredit,
  expectPayment,
  expectPayout,
  expectPayoutItem,
  expectRefund,
  expectReviewCase,
  expectStatementEntry,
  expectTransfer,
  expectWithdrawal,
} from './expectations.ts';

type Fragment = ReturnType<Snapshot>;
type InBook<Row> = Row & { id: Uuid; environment: Environment };

interface Page {
  organisationId: Uuid;
  /** SQL: the rows of a table that belong to the page, in the order of their ids. */
  rows: (table: string) => Fragment;
}

/** Reads a page of one kind of resource. */
type Reader = (snapshot: Snapshot, page: Page) => Promise<InBook<{ expectation: Expectation }>[]>;

function reader<Row>(
  select: (snapshot: Snapshot, page: Page) => PromiseLike<readonly InBook<Row>[]>,
  expect: (row: InBook<Row>) => Expectation,
): Reader {
  return async (snapshot, page) =>
    Array.from(await select(snapshot, page), (row) => ({
      id: row.id,
      environment: row.environment,
      expectation: expect(row),
    }));
}

const READERS: readonly Reader[] = [
  reader<Transfer>((sql, { rows }) => sql`${rows('transfers')}`, expectTransfer),
  reader<Withdrawal>((sql, { rows }) => sql`${rows('withdrawals')}`, expectWithdrawal),
  reader<Refund & Pick<Payment, 'targetWalletId' | 'payerWalletId'>>(
    (sql, { organisationId, rows }) => sql`
      SELECT r.*, p.target_wallet_id, p.payer_wallet_id FROM (${rows('refunds')}) r
      LEFT JOIN payments p ON p.organisation_id = ${organisationId} AND p.id = r.payment_id ORDER BY r.id`,
    expectRefund,
  ),
  reader<Payout>((sql, { rows }) => sql`${rows('payouts')}`, expectPayout),
  reader<PayoutItem & Pick<Payout, 'sourceWalletId'>>(
    (sql, { organisationId, rows }) => sql`
      SELECT r.*, p.source_wallet_id FROM (${rows('payout_items')}) r
      LEFT JOIN payouts p ON p.organisation_id = ${organisationId} AND p.id = r.payout_id ORDER BY r.id`,
    expectPayoutItem,
  ),
  reader<Payment & { credits: Pick<InboundCredit, 'rail' | 'sessionId'>[] }>(
    (sql, { organisationId, rows }) => sql`
      SELECT r.*, c.credits FROM (${rows('payments')}) r
      CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_agg(jsonb_build_object('rail', rail, 'sessionId', session_id)), '[]') AS credits
        FROM inbound_credits
        WHERE organisation_id = ${organisationId} AND environment = r.environment AND owner_id = r.id
          AND owner_kind = 'payment' AND status = 'posted'
          AND NOT (recall IS NOT DISTINCT FROM 'posted' AND coalesce(starts_with(recalled_from, 'suspense:payment:'), false))
      ) c ORDER BY r.id`,
    expectPayment,
  ),
  reader<InboundCredit>((sql, { rows }) => sql`${rows('inbound_credits')}`, expectInboundCredit),
  reader<StatementEntry>((sql, { rows }) => sql`${rows('statement_entries')}`, expectStatementEntry),
  reader<ReviewCase>((sql, { rows }) => sql`${rows('review_cases')}`, expectReviewCase),
  reader<FeeSweep>((sql, { rows }) => sql`${rows('fee_sweeps')}`, expectFeeSweep),
  reader<Adjustment>((sql, { rows }) => sql`${rows('adjustments')}`, expectAdjustment),
];

/** Checks every resource of an organisation. Returns what they explain of each account. */
export const checkResources: ResourceCheck = async ({ snapshot, organisationId, pageSize, add, advance }) => {
  const moved = new AccountSums();
  const held = new AccountSums();
  for (const read of READERS) {
    let after: Uuid | null = null;
    for (;;) {
      const rows = (table: string): Fragment => snapshot`
        SELECT * FROM ${snapshot(table)} WHERE organisation_id = ${organisationId}
        ${after === null ? snapshot`` : snapshot`AND id > ${after}`} ORDER BY id LIMIT ${pageSize}`;
      const page = await read(snapshot, { organisationId, rows });
      const effects = await netEffects(snapshot, organisationId, page);
      for (const [position, { environment, expectation }] of page.entries()) {
        const found = effects.get(position) ?? new Map<AccountCode, bigint>();
        for (const [account, amount] of found) moved.add(environment, account, amount);
        if (expectation.held !== undefined) {
          held.add(environment, expectation.held.account, BigInt(expectation.held.amount));
        }
        for (const { account, expected, found: actual } of differences(expectation, found)) {
          const place = { environment, code: account, resource: expectation.resource };
          add('RESOURCE_MISMATCH', place, String(expected), String(actual));
        }
      }
      advance();
      if (page.length < pageSize) break;
      after = page.at(-1)?.id ?? null;
    }
  }
  await checkBankBalances(snapshot, organisationId, add);
  return { moved, held };
};

/** The net effect on each account of the transactions of each resource of a page, by its position. */
async function netEffects(
  snapshot: Snapshot,
  organisationId: Uuid,
  page: readonly InBook<{ expectation: Expectation }>[],
): Promise<Map<number, Map<AccountCode, bigint>>> {
  const keys = page.flatMap(({ environment, expectation }, position) =>
    expectation.keys.map((key) => ({ position, environment, key })),
  );
  const rows = await snapshot<{ position: number; code: AccountCode; amount: string }[]>`
    SELECT k.position, a.code, sum(e.amount)::text AS amount
    FROM (
      SELECT unnest(${keys.map(({ position }) => position)}::integer[]) AS position,
             unnest(${keys.map(({ environment }) => environment)}::text[]) AS environment,
             unnest(${keys.map(({ key }) => key)}::text[]) AS key
    ) k
    CROSS JOIN LATERAL (
      SELECT id FROM ledger.transactions
      WHERE organisation_id = ${organisationId} AND environment = k.environment AND key = k.key OFFSET 0
    ) t
    CROSS JOIN LATERAL (
      SELECT debit_account_id AS account_id, -amount AS amount FROM ledger.postings
      WHERE organisation_id = ${organisationId} AND transaction_id = t.id
      UNION ALL
      SELECT credit_account_id, amount FROM ledger.postings
      WHERE organisation_id = ${organisationId} AND transaction_id = t.id
    ) e
    CROSS JOIN LATERAL (
      SELECT code FROM ledger.accounts WHERE organisation_id = ${organisationId} AND id = e.account_id OFFSET 0
    ) a
    GROUP BY k.position, a.code HAVING sum(e.amount) <> 0`;
  const effects = new Map<number, Map<AccountCode, bigint>>();
  for (const { position, code, amount } of rows) {
    const effect = effects.get(position) ?? new Map<AccountCode, bigint>();
    effects.set(position, effect.set(code, BigInt(amount)));
  }
  return effects;
}
