// Checks the resources of an organisation against the ledger, in both directions: the transactions of each resource
// have moved what its status says, and each transaction is one of a resource. A page is read on one snapshot, because a
// row and its transaction are written together.
import type postgres from 'postgres';
import type { Snapshot } from '../database/snapshot.ts';
import { ID_SUFFIXES, type IdKind, parseId, type Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';
import { creditedToPayment } from '../resources/reviewCases/queries.ts';
import * as expectations from './expectations.ts';
import { differences, type Expectation } from './expectations.ts';
import { type Check, type CheckContext, pagedCheck } from './verify.ts';

interface ExpectedRow {
  id: Uuid;
  environment: Environment;
  expectation: Expectation;
}

/** Reads the expectations of resources of one kind. `where`: SQL, which rows, in the order of their ids. */
type Reader = (sql: Snapshot, organisationId: Uuid, where: postgres.Fragment) => Promise<ExpectedRow[]>;

/** `select`: SQL, what is compared of the rows, if it is not just all of their columns. */
function reader<Row>(
  table: string,
  expect: (row: Row) => Expectation,
  select: (sql: Snapshot, rows: postgres.Fragment, organisationId: Uuid) => postgres.Fragment = (_sql, rows) => rows,
): Reader {
  return async (sql, organisationId, where) => {
    const rows = sql`SELECT * FROM ${sql(table)} WHERE organisation_id = ${organisationId} AND ${where}`;
    const read = await sql<(Row & Omit<ExpectedRow, 'expectation'>)[]>`${select(sql, rows, organisationId)}`;
    return read.map((row) => ({ id: row.id, environment: row.environment, expectation: expect(row) }));
  };
}

const READERS: Partial<Record<IdKind, Reader>> = {
  // By far the most, so only what is compared is read.
  transfer: reader(
    'transfers',
    expectations.expectTransfer,
    (sql, rows) => sql`
      SELECT id, environment, source_wallet_id, destination_wallet_id, hold_id, amount, fee FROM (${rows}) r ORDER BY id`,
  ),
  hold: reader('holds', expectations.expectHold),
  withdrawal: reader('withdrawals', expectations.expectWithdrawal),
  refund: reader(
    'refunds',
    expectations.expectRefund,
    (sql, rows, organisationId) => sql`
      SELECT r.*, p.target_wallet_id, p.payer_wallet_id FROM (${rows}) r
      LEFT JOIN payments p ON p.organisation_id = ${organisationId} AND p.id = r.payment_id ORDER BY r.id`,
  ),
  payout: reader('payouts', expectations.expectPayout),
  payoutItem: reader(
    'payout_items',
    expectations.expectPayoutItem,
    (sql, rows, organisationId) => sql`
      SELECT r.*, p.source_wallet_id FROM (${rows}) r
      LEFT JOIN payouts p ON p.organisation_id = ${organisationId} AND p.id = r.payout_id ORDER BY r.id`,
  ),
  payment: reader(
    'payments',
    expectations.expectPayment,
    (sql, rows, organisationId) => sql`
      SELECT p.*, c.credits, k.cases FROM (${rows}) p
      CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_agg(jsonb_build_object('rail', rail, 'sessionId', session_id, 'amount', amount)), '[]') AS credits
        FROM inbound_credits
        WHERE organisation_id = ${organisationId} AND environment = p.environment AND owner_id = p.id
          AND owner_kind = 'payment' AND status = 'posted' AND (
            recall IS DISTINCT FROM 'posted' OR NOT coalesce(starts_with(recalled_from, 'suspense:payment:'), false))
      ) c
      CROSS JOIN LATERAL (
        SELECT coalesce(jsonb_agg(jsonb_build_object(
                 'walletId', wallet_id, 'amount', amount, 'fee', fee, 'withHeld', with_held, 'splits', r.splits)), '[]') AS cases
        FROM review_cases r
        WHERE organisation_id = ${organisationId} AND payment_id = p.id AND ${creditedToPayment(sql)}
      ) k ORDER BY p.id`,
  ),
  inboundCredit: reader(
    'inbound_credits',
    expectations.expectInboundCredit,
    (sql, rows, organisationId) => sql`
      SELECT r.*, s.* FROM (${rows}) r
      LEFT JOIN LATERAL (
        SELECT amount AS surplus_recalled, status <> 'recalled' AS surplus_is_away FROM review_cases
        WHERE r.recall = 'posted' AND organisation_id = ${organisationId} AND inbound_credit_id = r.id
          AND reason = 'surplus_over_limit' AND status <> 'credited'
      ) s ON true
      ORDER BY r.id`,
  ),
  statementEntry: reader('statement_entries', expectations.expectStatementEntry),
  reviewCase: reader(
    'review_cases',
    expectations.expectReviewCase,
    (sql, rows, organisationId) => sql`
      SELECT r.*, CASE WHEN p.id IS NOT NULL THEN jsonb_build_object(
               'id', p.id, 'targetWalletId', p.target_wallet_id, 'hold', p.hold, 'splits', p.splits, 'payerWalletId', NULL) END AS payment
      FROM (${rows}) r LEFT JOIN payments p ON p.organisation_id = ${organisationId} AND p.id = r.payment_id ORDER BY r.id`,
  ),
  feeSweep: reader('fee_sweeps', expectations.expectFeeSweep),
  adjustment: reader('adjustments', expectations.expectAdjustment),
  debtRecovery: reader('debt_recoveries', expectations.expectDebtRecovery),
};

/**
 * Two parts of the longest check of most books, so that two jobs end at about the same time: by the last byte of the
 * ids, which is random. An inequality, because the planner expects few rows of an equality, and would read them all.
 */
const PARTS = [
  { name: 'resources 1 of 2', condition: (sql: Snapshot) => sql`get_byte(uuid_send(id), 15) < 128` },
  { name: 'resources 2 of 2', condition: (sql: Snapshot) => sql`get_byte(uuid_send(id), 15) >= 128` },
];

/** The transactions of each resource have moved what its status says. A page has resources of one or several kinds. */
export const resourceChecks: Check[] = PARTS.map(({ name, condition }) =>
  pagedCheck<{ kind: string; id: Uuid }>(name, (context, after) =>
    context.snapshots.read(async (snapshot) => {
      const { organisationId, pageSize, add } = context;
      const readers = Object.entries(READERS);
      const first = after === null ? 0 : readers.findIndex(([kind]) => kind === after.kind);
      let room = pageSize;
      for (const [kind, read] of readers.slice(first)) {
        const from = kind === after?.kind ? snapshot`AND id > ${after.id}` : snapshot``;
        const where = snapshot`${condition(snapshot)} ${from} ORDER BY id LIMIT ${room}`;
        const page = await read(snapshot, organisationId, where);
        const effects = await netEffects(context, snapshot, page);
        for (const [position, { environment, expectation }] of page.entries()) {
          for (const { account, expected, found: actual } of differences(expectation, effects[position] ?? '')) {
            const location = { environment, code: account, resource: expectation.resource };
            add('RESOURCE_MISMATCH', location, String(expected), String(actual));
          }
        }
        room -= page.length;
        const last = page.at(-1);
        if (room === 0 && last !== undefined) return { kind, id: last.id };
      }
      return null;
    }),
  ),
);

/** Each transaction is one of its resource. Read only if the resources have not explained all postings. */
export const transactionCheck: Check = {
  isLast: true,
  ...pagedCheck<Uuid>('resources of transactions', async (context, after) => {
    const { snapshots, organisationId, pageSize, add } = context;
    const { unexplained, unexplainedIds } = context.counted();
    if (unexplained === 0 && unexplainedIds === '0') return null;
    return await snapshots.read(async (snapshot) => {
      const page = await snapshot<{ id: Uuid; environment: Environment; key: string; resource: string }[]>`
        SELECT id, environment, key, resource FROM ledger.transactions
        WHERE organisation_id = ${organisationId} ${after === null ? snapshot`` : snapshot`AND id > ${after}`}
        ORDER BY id LIMIT ${pageSize}`;
      const named = Map.groupBy(page, ({ resource }) => resource.slice(-SUFFIX_LENGTH));
      const byName = new Map<string, Expectation>();
      for (const [kind, read] of Object.entries(READERS) as [IdKind, Reader][]) {
        const ids = (named.get(ID_SUFFIXES[kind]) ?? []).map(({ resource }) => parseId(kind, resource));
        if (ids.length === 0) continue;
        const where = snapshot`id = ANY (${ids}::uuid[]) ORDER BY id`;
        for (const { environment, expectation } of await read(snapshot, organisationId, where)) {
          byName.set(`${environment} ${expectation.resource}`, expectation);
        }
      }
      for (const { id, environment, key, resource } of page) {
        const expectation = byName.get(`${environment} ${resource}`);
        if (expectation?.keys.includes(key)) continue;
        const found = expectation === undefined ? 'no such resource' : `the key ${key}, which it does not have`;
        const location = { environment, resource, transactionId: id };
        add('UNEXPLAINED_TRANSACTION', location, 'a transaction of its resource', found);
      }
      return page.length < pageSize ? null : (page.at(-1)?.id ?? null);
    });
  }),
};

const SUFFIX_LENGTH = ID_SUFFIXES.transfer.length;

/**
 * The net effect of the transactions of each resource of a page, by its position, as `effectText` writes it: a row for
 * each account would take as long to receive as to read. Takes their postings off those that are unexplained.
 */
async function netEffects(context: CheckContext, snapshot: Snapshot, page: readonly ExpectedRow[]): Promise<string[]> {
  if (page.length === 0) return [];
  const { lastPosting, organisationId } = context;
  const keys = page.flatMap(({ environment, expectation }, position) =>
    expectation.keys.map((key) => ({ position, environment, key })),
  );
  const rows = await snapshot<{ position: number | null; effect: string | null; postings: number; ids: string }[]>`
    SELECT position,
           string_agg(code || ' ' || amount, E'\\n' ORDER BY code COLLATE "C") FILTER (WHERE amount <> 0) AS effect,
           coalesce(sum(postings), 0)::bigint AS postings, coalesce(-sum(ids), 0)::text AS ids
    FROM (
      SELECT k.position, e.account_id, sum(e.amount) AS amount,
             count(*) FILTER (WHERE e.is_final) AS postings, sum(p.id) FILTER (WHERE e.is_final) AS ids
      FROM unnest(${keys.map(({ position }) => position)}::integer[],
                  ${keys.map(({ environment }) => environment)}::text[],
                  ${keys.map(({ key }) => key)}::text[]) AS k (position, environment, key)
      CROSS JOIN LATERAL (
        SELECT id FROM ledger.transactions
        WHERE organisation_id = ${organisationId} AND environment = k.environment AND key = k.key OFFSET 0
      ) t
      CROSS JOIN LATERAL (
        SELECT id, debit_account_id, credit_account_id, amount FROM ledger.postings
        WHERE organisation_id = ${organisationId} AND transaction_id = t.id OFFSET 0
      ) p
      -- Each posting is counted once, at its debit.
      CROSS JOIN (VALUES (true), (false)) side (is_debit)
      CROSS JOIN LATERAL (
        SELECT CASE WHEN is_debit THEN p.debit_account_id ELSE p.credit_account_id END AS account_id,
               CASE WHEN is_debit THEN -p.amount ELSE p.amount END AS amount,
               is_debit AND p.id <= ${lastPosting}::text::bigint AS is_final
      ) e
      GROUP BY k.position, e.account_id
    ) e
    CROSS JOIN LATERAL (
      SELECT code FROM ledger.accounts WHERE organisation_id = ${organisationId} AND id = e.account_id OFFSET 0
    ) a
    GROUP BY GROUPING SETS ((position), ())`;
  const effects: string[] = [];
  for (const { position, effect, postings, ids } of rows) {
    if (position === null) context.count({ unexplained: -postings, unexplainedIds: ids });
    else effects[position] = effect ?? '';
  }
  return effects;
}
