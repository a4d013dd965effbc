// `ledger verify` compares every resource with the ledger: each way in which they can differ, made as the application's
// role may or by a superuser, is reported with the resource or the account.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { MockActivityEnvironment } from '@temporalio/testing';
import { createLedgerActivities } from '../../src/activities/ledger.ts';
import { newUuid, publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { walletAccount } from '../../src/ledger/chart.ts';
import { trialBalance } from '../../src/ledger/reports.ts';
import { sweepFees } from '../../src/resources/feeSweeps/sweep.ts';
import { creditToSuspense } from '../../src/resources/inboundCredits/movements.ts';
import { holdItem } from '../../src/resources/payouts/movements.ts';
import { listOpenItems } from '../../src/verification/openItems.ts';
import type { Progress } from '../../src/verification/verify.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { move } from '../ledger/books.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { OPERATORS } from '../support/operators.ts';
import { asSuperuser } from '../support/stack.ts';
import { BANK_ACCOUNT, creditOf, Stage } from './stage.ts';

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi();
});

afterAll(() => api.close());

const unexplained = (resource: string, transaction: Uuid): string =>
  `UNEXPLAINED_TRANSACTION ${resource} ${publicId('transaction', transaction)}: a transaction of its resource`;

const openStage = async () => new Stage(api, await api.createOrganisation());

test('resources that agree with the ledger have no findings, in every page size', async () => {
  const stage = await openStage();
  const [a, b] = [await stage.wallet(1_000), await stage.wallet()];
  for (let count = 0; count < 4; count += 1) {
    await stage.money(`/wallets/${a}/transfer`, { amount: 10, destinationWalletId: b });
  }
  await stage.withdrawal();
  await stage.payout();
  const { paymentId } = await stage.paidPayment();
  await stage.money(`/payments/${paymentId}/refund`, { amount: 10_000 });
  await stage.paidByBank(101_000);
  const sweep = { key: 'all', amount: undefined, proof: OPERATORS.ngozi.proof };
  expect(await sweepFees(api.sql, api.dependencies.journal, stage.book, sweep)).toMatchObject({ outcome: 'swept' });
  for (const pageSize of [1, 2, 3, 10_000]) {
    expect((await verifyBooks(api.sql, { pageSize })).findings).toEqual([]);
  }
});

test('accounting.open_items is what is in transit, in reserve and in suspense, by resource', async () => {
  const stage = await openStage();
  const withdrawal = await stage.withdrawal();
  const settled = await stage.paidByBank(101_000);
  const refund = await stage.money(`/payments/${settled}/refund`, { amount: 10_000, bankAccount: BANK_ACCOUNT });
  const partial = await stage.paidByBank(40_000);
  const { payout, item: pending } = await stage.payout();
  const { item: sent } = await stage.payout();
  await stage.posted(holdItem(stage.book, sent, null));
  await stage.posted(creditToSuspense(stage.book, creditOf(700, null), 'unknown_account', null));
  const organisation = publicId('organisation', stage.book.organisationId);
  const items = await api.sql<{ account: string; resource: string; amount: number; since: Date }[]>`
    SELECT account, resource, amount, since FROM accounting.open_items WHERE organisation = ${organisation}`;
  const expected: Record<string, [string, number]> = {
    'in_transit:withdrawals': [withdrawal, 103_000],
    'in_transit:refunds': [refund, 10_000],
    'in_transit:payouts': [publicId('payoutItem', sent.id), 103_000],
    [`reserve:payout:${payout}`]: [publicId('payoutItem', pending.id), 103_000],
    [`suspense:payment:${partial}`]: [partial, 40_000],
    'suspense:unmatched': [expect.stringMatching(/_rev$/) as unknown as string, 700],
  };
  expect(Object.fromEntries(items.map(({ account, resource, amount }) => [account, [resource, amount]]))).toEqual(
    expected,
  );
  expect(items).toHaveLength(6);
  for (const { since } of items) expect(Date.now() - since.getTime()).toBeLessThan(600_000);
  // The command line lists them as the application's role, the oldest first.
  const listed = await listOpenItems(api.dependencies.sql, stage.book.organisationId, 2);
  expect([listed.total, listed.items.map(({ resource }) => resource)]).toEqual([6, [withdrawal, refund]]);
  const balances = await trialBalance(api.sql, stage.book, new Date(Date.now() + 1_000));
  expect(
    Object.fromEntries(
      balances
        .filter(({ account }) => /^(in_transit|reserve|suspense):/.test(account))
        .map(({ account, balance }) => [account, balance]),
    ),
  ).toEqual(Object.fromEntries(items.map(({ account, amount }) => [account, amount])));
});

test('the scheduled verification goes on from the last heartbeat of its attempt before', async () => {
  await (await openStage()).withdrawal();
  const { verifyLedger } = createLedgerActivities(api.dependencies);
  const run = async (heartbeatDetails?: Progress) => {
    const heartbeats: Progress[] = [];
    const attempt = new MockActivityEnvironment({ heartbeatDetails });
    attempt.on('heartbeat', (progress: Progress) => heartbeats.push(structuredClone(progress)));
    return { result: await attempt.run(verifyLedger), heartbeats };
  };
  const whole = await run();
  const middle = whole.heartbeats[Math.floor(whole.heartbeats.length / 2)];
  const resumed = await run(middle);
  expect(resumed.heartbeats[0]?.checkpoint).toEqual(middle?.checkpoint);
  expect(resumed.heartbeats.length).toBeLessThan(whole.heartbeats.length);
  expect(resumed.result).toEqual(whole.result);
});

describe('a row that was changed without its transaction', () => {
  test('a withdrawal that is completed without a posting is named, with what is in transit for it', async () => {
    const stage = await openStage();
    const id = await stage.withdrawal();
    await stage.write('withdrawals', requireUuid('withdrawal', id), { status: 'completed', completedAt: new Date() });
    expect(await stage.findings()).toEqual([
      `RESOURCE_MISMATCH ${id} clearing:sandbox: 100000, found 0`,
      `RESOURCE_MISMATCH ${id} in_transit:withdrawals: 0, found 103000`,
      `RESOURCE_MISMATCH ${id} income:fees: 3000, found 0`,
    ]);
  });

  test('a payout item that is completed without a posting is named, with the reserve that still holds it', async () => {
    const stage = await openStage();
    const { payout, item } = await stage.payout();
    await stage.write('payout_items', item.id, { status: 'completed' });
    expect(await stage.findings()).toEqual(
      [
        `clearing:sandbox: 100000, found 0`,
        `income:fees: ${item.fee}, found 0`,
        `reserve:payout:${payout}: -${100_000 + item.fee}, found 0`,
      ].map((text) => `RESOURCE_MISMATCH ${publicId('payoutItem', item.id)} ${text}`),
    );
  });

  test('a refund that has failed without a posting is named, with the wallet that misses the money', async () => {
    const stage = await openStage();
    const { paymentId, seller } = await stage.paidPayment();
    const refund = await stage.money(`/payments/${paymentId}/refund`, { amount: 10_000 });
    await stage.write('refunds', requireUuid('refund', refund), { status: 'failed' });
    expect(await stage.findings()).toEqual(
      expect.arrayContaining([`RESOURCE_MISMATCH ${refund} wallet:${seller}: 0, found -10000`]),
    );
  });

  test('a review case that is opened without money in suspense is reported with its suspense account', async () => {
    const stage = await openStage();
    const id = newUuid();
    await asSuperuser(
      api.databaseUrl,
      (sql) => sql`
        INSERT INTO review_cases (organisation_id, environment, id, version, reason, status, amount, account_code, attempts, created_at)
        VALUES (${stage.book.organisationId}, 'test', ${id}, 1, 'unknown_account', 'open', 500, 'suspense:unmatched', 0, now())`,
    );
    const review = publicId('reviewCase', id);
    expect(await stage.findings()).toEqual([`SUSPENSE_MISMATCH ${review} suspense:unmatched: 500, found no account`]);
    await stage.suspend();
    expect(await stage.findings()).toEqual(['SUSPENSE_MISMATCH - suspense:unmatched: 1200, found 700']);
    for (let more = 0; more < 3; more += 1) await stage.suspend();
    expect(await stage.findings()).toEqual(['SUSPENSE_MISMATCH - suspense:unmatched: 3300, found 2800']);
  });

  test('a transfer whose amount was changed is named with both wallets', async () => {
    const stage = await openStage();
    const [a, b] = [await stage.wallet(1_000), await stage.wallet()];
    const transfer = await stage.money(`/wallets/${a}/transfer`, { amount: 10, destinationWalletId: b });
    await asSuperuser(
      api.databaseUrl,
      (sql) => sql`UPDATE transfers SET amount = 9 WHERE id = ${requireUuid('transfer', transfer)}`,
    );
    expect((await stage.findings()).toSorted()).toEqual(
      [
        `RESOURCE_MISMATCH ${transfer} wallet:${a}: -9, found -10`,
        `RESOURCE_MISMATCH ${transfer} wallet:${b}: 9, found 10`,
      ].toSorted(),
    );
  });
});

describe('a transaction that no resource has', () => {
  test('a posting between two wallets for no resource is named', async () => {
    const stage = await openStage();
    const [a, b] = [await stage.wallet(1_000), await stage.wallet()];
    const transaction = {
      id: newUuid(),
      key: 'forged/1',
      kind: 'transfer',
      resource: 'nothing',
      effectiveAt: new Date(),
      rules: 'enforced' as const,
      postings: [
        {
          debit: walletAccount(requireUuid('wallet', a)),
          credit: walletAccount(requireUuid('wallet', b)),
          amount: 400,
        },
      ],
    };
    await stage.post({ transaction });
    expect(await stage.findings()).toEqual([`${unexplained('nothing', transaction.id)}, found no such resource`]);
  });

  test('the transaction of a deleted withdrawal is named', async () => {
    const stage = await openStage();
    const id = await stage.withdrawal();
    await asSuperuser(
      api.databaseUrl,
      (sql) => sql`DELETE FROM withdrawals WHERE id = ${requireUuid('withdrawal', id)}`,
    );
    const [hold] = await api.sql<{ id: Uuid }[]>`SELECT id FROM ledger.transactions WHERE resource = ${id}`;
    expect(await stage.findings()).toEqual([`${unexplained(id, hold?.id ?? '')}, found no such resource`]);
  });

  test('an item that is held twice, the second time under another key, is reported', async () => {
    const stage = await openStage();
    const { item } = await stage.payout();
    const held = holdItem(stage.book, item, null);
    await stage.posted(held);
    expect(await stage.findings()).toEqual([]);
    const { transaction } = held;
    if (transaction === undefined) throw new Error('a hold has a transaction');
    const [withdrawn] = [await stage.wallet(10_000)];
    const postings = [
      { debit: walletAccount(requireUuid('wallet', withdrawn)), credit: 'in_transit:payouts', amount: 1_000 },
    ];
    const again = { ...transaction, id: newUuid(), key: `${transaction.key}/again`, postings };
    await stage.post({ transaction: again });
    expect(await stage.findings()).toEqual([
      `${unexplained(again.resource, again.id)}, found the key ${again.key}, which it does not have`,
    ]);
  });
});

describe('safeguarding', () => {
  test('a shortfall is a violation now, and at the end of each day of an open period', async () => {
    const stage = await openStage();
    const { organisationId } = stage.book;
    const shortfalls = async () => (await stage.findings()).filter((finding) => finding.startsWith('SHORTFALL'));
    await stage.posted(move(stage.book, 'expense:rail', 'clearing:sandbox', 700));
    expect(await shortfalls()).toEqual(['SHORTFALL - null: >= 0, found -700']);
    await stage.posted(move(stage.book, 'clearing:sandbox', 'own:funds', 700));
    expect(await shortfalls()).toEqual([]);
    // The same on a day that is over.
    const day = async (on: string, balance: number) => {
      await api.sql`
        INSERT INTO ledger.closed_days (organisation_id, environment, day, ends_at, completed_at)
        VALUES (${organisationId}, 'test', ${on}, ledger.day_end(${on}), now())`;
      await api.sql`
        INSERT INTO ledger.closing_balances (organisation_id, environment, account_id, day, balance, last_number, read_number)
        SELECT organisation_id, environment, id, ${on}, ${balance}, 0, 0 FROM ledger.accounts
        WHERE organisation_id = ${organisationId} AND code = 'expense:rail'`;
    };
    await day('2020-01-29', -5);
    await api.sql`
      INSERT INTO day_proofs (organisation_id, environment, day, rail, bank, books, breaks, customer, statutory, own,
                              receivable, headroom, prepared_by, created_at)
      VALUES (${organisationId}, 'test', '2020-01-29', 'sandbox', 0, 0, '{}', 5, 0, -5, 0, -5, 'ngozi', now())`;
    await day('2020-01-30', -700);
    await day('2020-01-31', 0);
    await day('2020-02-01', -1);
    await api.sql`
      INSERT INTO ledger.closed_periods (organisation_id, environment, period, closed_at) VALUES (${organisationId}, 'test', '2020-02-01', now())`;
    expect((await shortfalls()).filter((finding) => finding.includes('at the end of'))).toEqual([
      'SHORTFALL - null: >= 0 at the end of 2020-01-30, found -700',
    ]);
  });
});
