// What is expected of a resource in the ledger, checked against every movement: after each movement, the transactions
// of a resource have moved what its row says.
import { expect, test } from '@jest/globals';
import { type AccountCode, walletAccount } from '../../src/ledger/chart.ts';
import { isOfPayment, type ReviewCase } from '../../src/resources/reviewCases/queries.ts';
import {
  differences,
  type Expectation,
  effectText,
  expectAdjustment,
  expectFeeSweep,
  expectHold,
  expectInboundCredit,
  expectPayment,
  expectPayout,
  expectPayoutItem,
  expectRefund,
  expectReviewCase,
  expectStatementEntry,
  expectTransfer,
  expectWithdrawal,
  isOutOfPayment,
} from '../../src/verification/expectations.ts';
import type { Split } from '../../src/workflows/payment/splits.ts';
import { latestRows, pathOf, type Step } from '../resources/movementTable.ts';
import { BY_RESOURCE } from '../resources/movementTables/all.ts';
import { SPLITS } from '../resources/movementTables/splits.ts';
import { WITHDRAWALS } from '../resources/movementTables/withdrawals.ts';

const STEPS = Object.values(BY_RESOURCE).flat();

/** What is expected of all resources of a path. */
function expectations(path: readonly Step[]): Expectation[] {
  const payments = latestRows(path, 'payments');
  const payouts = latestRows(path, 'payouts');
  const credits = latestRows(path, 'inbound_credits');
  const paymentOf = (id: string) => payments.find((payment) => payment.id === id);
  const sourceOf = (id: string) => payouts.find((payout) => payout.id === id)?.sourceWalletId ?? '';
  return [
    ...latestRows(path, 'transfers').map(expectTransfer),
    ...latestRows(path, 'holds').map(expectHold),
    ...latestRows(path, 'withdrawals').map(expectWithdrawal),
    ...latestRows(path, 'refunds').map((refund) => {
      const { targetWalletId = '', payerWalletId = null } = paymentOf(refund.paymentId) ?? {};
      return expectRefund({ ...refund, targetWalletId, payerWalletId });
    }),
    ...payouts.map(expectPayout),
    ...latestRows(path, 'payout_items').map((item) =>
      expectPayoutItem({ ...item, sourceWalletId: sourceOf(item.payoutId) }),
    ),
    ...payments.map((payment) =>
      expectPayment({
        ...payment,
        cases: latestRows(path, 'review_cases').filter(
          (row) =>
            row.paymentId === payment.id &&
            row.status === 'credited' &&
            (row.walletId === payment.targetWalletId || row.reason === 'split_refused') &&
            isOfPayment(row),
        ),
        credits: credits.filter(
          (credit) => credit.ownerId === payment.id && credit.status === 'posted' && !isOutOfPayment(credit),
        ),
      }),
    ),
    ...credits.map((credit) => {
      const isSurplus = (row: ReviewCase) =>
        row.inboundCreditId === credit.id && row.reason === 'surplus_over_limit' && row.status !== 'credited';
      const surplus = credit.recall === 'posted' ? latestRows(path, 'review_cases').find(isSurplus) : undefined;
      const surplusIsAway = surplus !== undefined && surplus.status !== 'recalled';
      return expectInboundCredit({ ...credit, surplusRecalled: surplus?.amount ?? null, surplusIsAway });
    }),
    ...latestRows(path, 'statement_entries').map(expectStatementEntry),
    ...latestRows(path, 'review_cases').map(expectReviewCase),
    ...latestRows(path, 'fee_sweeps').map(expectFeeSweep),
    ...latestRows(path, 'adjustments').map(expectAdjustment),
  ];
}

/** The net effect of the transactions of a path with these business keys. */
function effectOf(path: readonly Step[], keys: readonly string[]): Map<AccountCode, bigint> {
  const net = new Map<AccountCode, bigint>();
  for (const { movement } of path) {
    if (movement.transaction === undefined || !keys.includes(movement.transaction.key)) continue;
    for (const { debit, credit, amount } of movement.transaction.postings) {
      net.set(debit, (net.get(debit) ?? 0n) - BigInt(amount));
      net.set(credit, (net.get(credit) ?? 0n) + BigInt(amount));
    }
  }
  return new Map([...net].filter(([, amount]) => amount !== 0n));
}

const transactionsOf = (path: readonly Step[]) => path.flatMap(({ movement }) => movement.transaction ?? []);

test.each(STEPS)('each transaction belongs to one resource, after $title', (made) => {
  const path = pathOf(made);
  const expected = expectations(path);
  for (const { key, resource } of transactionsOf(path)) {
    expect([key, expected.filter(({ keys }) => keys.includes(key)).length, resource]).toEqual([key, 1, resource]);
  }
});

test.each(STEPS)('the transactions of each resource have moved what its row says, after $title', (made) => {
  const path = pathOf(made);
  const keys = transactionsOf(path).map(({ key }) => key);
  // Rows that were there before the path have transactions that are not part of it.
  const ofPath = expectations(path).filter((expectation) => expectation.keys.some((key) => keys.includes(key)));
  for (const expectation of ofPath) {
    expect([expectation.resource, differences(expectation, effectText(effectOf(path, expectation.keys)))]).toEqual([
      expectation.resource,
      [],
    ]);
  }
});

test('an effect that its status does not allow is reported by account, against the nearest allowed one', () => {
  const [held] = WITHDRAWALS;
  const [row] = held === undefined ? [] : latestRows(pathOf(held), 'withdrawals');
  if (held === undefined || row === undefined) throw new Error('the first step of a withdrawal holds its money');
  const found = effectText(effectOf(pathOf(held), expectWithdrawal(row).keys));
  const total = BigInt(row.amount + row.fee);
  expect(differences(expectWithdrawal({ ...row, status: 'completed' }), found)).toEqual([
    { account: 'clearing:sandbox', expected: BigInt(row.amount), found: 0n },
    { account: 'in_transit:withdrawals', expected: 0n, found: total },
    { account: 'income:fees', expected: BigInt(row.fee), found: 0n },
  ]);
  const wallet = walletAccount(row.sourceWalletId);
  expect(differences(expectWithdrawal({ ...row, status: 'failed' }), found)).toEqual([
    { account: 'in_transit:withdrawals', expected: 0n, found: total },
    { account: wallet, expected: 0n, found: -total },
  ]);
});

test('amounts of two accounts with one code, as the two books have them, are added up', () => {
  const [held] = WITHDRAWALS;
  const [row] = held === undefined ? [] : latestRows(pathOf(held), 'withdrawals');
  if (held === undefined || row === undefined) throw new Error('the first step of a withdrawal holds its money');
  const wallet = walletAccount(row.sourceWalletId);
  const total = row.amount + row.fee;
  const parts = [`in_transit:withdrawals ${total}`, `${wallet} ${-total + 5}`, `${wallet} -5`];
  expect(differences(expectWithdrawal(row), parts.join('\n'))).toEqual([]);
  expect(differences(expectWithdrawal(row), parts.slice(0, 2).join('\n'))).toEqual([
    { account: wallet, expected: BigInt(-total), found: BigInt(-total + 5) },
  ]);
});

test('a split that says another amount than was posted is reported, with the target', () => {
  const [settled] = SPLITS;
  const path = settled === undefined ? [] : pathOf(settled);
  const [row] = latestRows(path, 'payments');
  if (row === undefined) throw new Error('the first step of splits settles the payment');
  const [commission, courier] = row.splits as [Split, Split];
  const credits = latestRows(path, 'inbound_credits');
  const found = effectText(effectOf(path, expectPayment({ ...row, credits, cases: [] }).keys));
  const splits = [commission, { ...courier, amountCredited: courier.amountCredited - 1 }];
  const wrong = differences(expectPayment({ ...row, splits, credits, cases: [] }), found);
  expect(new Map(wrong.map(({ account, expected, found: posted }) => [account, posted - expected]))).toEqual(
    new Map([
      [walletAccount(courier.walletId), 1n],
      [walletAccount(row.targetWalletId), -1n],
    ]),
  );
});
