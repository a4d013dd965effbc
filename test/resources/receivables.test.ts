// The receivables of docs/accounting.md: how each comes to be, where it is seen, how it is repaid and written off.
import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createAdjustmentActivities } from '../../src/activities/adjustments.ts';
import { publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import { type AccountCode, BANK_RECEIVABLE, receivableOf } from '../../src/ledger/chart.ts';
import type { Movement } from '../../src/ledger/movement.ts';
import type { Posting } from '../../src/ledger/postings.ts';
import type { Book, Kobo } from '../../src/money.ts';
import { endRepaidCases } from '../../src/recovery/repaidDebts.ts';
import { requestAdjustment } from '../../src/resources/adjustments/request.ts';
import { creditToSuspense, depositMovement } from '../../src/resources/inboundCredits/movements.ts';
import { recallFromNowhere, recallFromWallet } from '../../src/resources/recalls/movements.ts';
import { listReviewCases } from '../../src/resources/reviewCases/queries.ts';
import { clawBackWithdrawal, returnWithdrawalFunds } from '../../src/resources/withdrawals/movements.ts';
import { findWithdrawal, type Withdrawal } from '../../src/resources/withdrawals/queries.ts';
import { runCli } from '../cli/run.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { codeOf, OPERATORS } from '../support/operators.ts';
import { newCredit } from '../support/rows.ts';
import { reportOf } from '../support/scriptedRail.ts';
import { violationsOf } from '../support/violations.ts';

let api: TestApi;
let book: Book;

beforeAll(async () => {
  api = await startTestApi();
  book = { organisationId: api.organisation.organisationId, environment: 'test' };
});

afterAll(async () => {
  const findings = await violationsOf(api.sql, { only: book.organisationId });
  await api.close();
  expect(findings).toEqual([]);
});

const AMOUNT = 5_000;
const SENDER = { senderName: 'Chidi Eze', senderAccountNumber: '1111111111', senderBankCode: '058' };

async function post(movement: Movement): Promise<void> {
  expect(await api.dependencies.journal.post(movement)).toEqual({ outcome: 'posted' });
}

async function deposit(walletId: string, amount: Kobo) {
  const id = requireUuid('wallet', walletId);
  const credit = newCredit({ amount, ownerKind: 'wallet', ownerId: id, ...SENDER });
  await post({ book, rows: { inbound_credits: [credit] } });
  await post(depositMovement(book, credit, id));
  return { ...credit, version: 2, status: 'posted' as const };
}

/** A wallet whose owner has spent deposits that the bank takes back. */
async function debtor(...amounts: Kobo[]): Promise<string> {
  const walletId = await api.createWallet();
  const credits = [];
  for (const amount of amounts) credits.push(await deposit(walletId, amount));
  await spend(
    walletId,
    amounts.reduce((sum, amount) => sum + amount, 0),
  );
  for (const credit of credits) await post(recallFromWallet(book, credit, requireUuid('wallet', walletId), 0));
  return walletId;
}

/** The cases of the debts of a wallet, the oldest first, after a sweep. */
async function sweptCases(walletId: string): Promise<string[]> {
  await endRepaidCases(api.sql, api.dependencies.journal);
  const { items } = await api.test.get(`/review-cases?walletId=${walletId}`);
  return items.map(({ status, amount }) => `${status} ${String(amount)}`).toReversed();
}

async function spend(walletId: string, amount: Kobo): Promise<void> {
  const destinationWalletId = await api.createWallet();
  expect((await api.test.money(`/wallets/${walletId}/transfer`, { destinationWalletId, amount })).status).toBe(201);
}

/** The bank takes a credit back that is on its way back to its sender. */
async function recalledInTransit(): Promise<void> {
  const credit = newCredit({ amount: AMOUNT, ...SENDER });
  await post({ book, rows: { inbound_credits: [credit] } });
  await post(creditToSuspense(book, credit, 'unknown_account', null));
  const [row] = (await api.test.get('/review-cases?reason=unknown_account&status=open')).items;
  const decision = { action: 'return_to_sender', reason: 'nobody knows it' };
  expect((await api.test.money(`/review-cases/${row?.id}/resolve`, decision)).status).toBe(200);
  await post(recallFromNowhere(book, { ...credit, version: 2, status: 'suspense' }));
}

/** The bank pays a withdrawal that it had reported as failed, and whose money was spent since. */
async function paidTwice(): Promise<Withdrawal> {
  const walletId = await api.createWallet(undefined, { balance: 10_000 });
  const body = { amount: AMOUNT, accountNumber: '0123456789', bankCode: '058' };
  const { id } = (await api.test.money(`/wallets/${walletId}/withdraw`, body)).data;
  const read = async () => {
    const row = await findWithdrawal(api.sql, book, requireUuid('withdrawal', id));
    if (row === null) throw new Error('the withdrawal is gone');
    return row;
  };
  const failure = { code: 'bank_refused', reason: 'The bank refused it', sessionId: null } as const;
  await post(returnWithdrawalFunds(book, await read(), 'fail', failure, null));
  await spend(walletId, 10_000);
  await post(clawBackWithdrawal(book, await read(), reportOf(id, 'completed'), 0));
  return await read();
}

async function adjust(postings: readonly Posting[]): Promise<void> {
  const grounds = { reason: 'so it is', evidence: 'ticket 1', proof: OPERATORS.ada.proof };
  const outcome = await requestAdjustment(api.dependencies, book, postings, grounds);
  if (outcome.outcome === 'refused') throw new Error(outcome.message);
  await approve(outcome.id);
}

async function approve(id: Uuid): Promise<void> {
  const adjustmentId = publicId('adjustment', id);
  const code = await codeOf(api.sql, 'ngozi', adjustmentId, 'approve');
  const answer = await createAdjustmentActivities(api.dependencies).applyAdjustmentDecision(
    { ...book, adjustmentId, amount: 1 },
    { action: 'approve', reason: 'checked', code },
  );
  expect(answer).toMatchObject({ outcome: 'done' });
}

/** What is owed by an account: its debits less its credits. */
async function owedIn(account: AccountCode): Promise<Kobo> {
  const [row] = await api.sql<{ balance: Kobo }[]>`
    SELECT balance FROM ledger.balances_before(${book.organisationId}, 'test', 'infinity', ARRAY[${account}])`;
  return 0 - (row?.balance ?? 0);
}

const cases = async (reason: 'credit_recalled' | 'paid_after_failure') =>
  (await listReviewCases(api.sql, book.organisationId, { reason }, 100)).cases.map(({ amount }) => amount);

const wallets = (...words: string[]) =>
  runCli(['wallets', ...words, '--organisation', publicId('organisation', book.organisationId)], {
    databaseUrl: api.databaseUrl,
    home: tmpdir(),
  });

/** Requests with a command, and approves as another operator. */
async function decide(...words: string[]): Promise<void> {
  const { output } = await wallets(...words, '--reason', 'so it is', '--evidence', 'ticket 1', '--json');
  await approve(requireUuid('adjustment', JSON.parse(output).id));
}

const BANK_PAYS = { debit: 'clearing:sandbox', credit: BANK_RECEIVABLE, amount: AMOUNT };
const GIVEN_UP = { ...BANK_PAYS, debit: 'loss:operations' };

describe('a receivable', () => {
  const STORIES: Record<string, () => Promise<void>> = {
    'receivable:wallet:<id>': async () => {
      const id = await debtor(AMOUNT);
      const owes = async () => [
        (await api.test.get(`/wallets/${id}`)).data.amountOwed,
        await owedIn(receivableOf(`wallet:${id}`)),
      ];
      expect(await owes()).toEqual([AMOUNT, AMOUNT]);
      expect(JSON.parse((await wallets('show', id, '--json')).output)).toMatchObject({ amountOwed: AMOUNT });
      expect((await wallets('show', id)).output).toContain('₦50.00');
      expect((await api.test.get(`/review-cases?walletId=${id}`)).items).toMatchObject([
        { reason: 'credit_recalled', amount: AMOUNT, walletId: id },
      ]);
      const closed = await wallets('close', id, '--reason', 'customer left');
      expect([closed.exitCode, closed.errors]).toEqual([1, expect.stringContaining('owes ₦50.00')]);

      await deposit(id, 2_000);
      expect(await owes()).toEqual([3_000, 3_000]);
      expect((await api.test.get(`/wallets/${id}/transactions?limit=2`)).items).toMatchObject([
        { kind: 'debt_recovery', direction: 'debit', amount: 2_000, balanceAfter: 0 },
        { kind: 'deposit', direction: 'credit', amount: 2_000 },
      ]);
      await decide('debt-paid', id, '--into', 'clearing:sandbox', '--amount', '1000');
      expect(await owes()).toEqual([2_000, 2_000]);
      expect(await sweptCases(id)).toEqual([`open ${AMOUNT}`]);
      await decide('write-off', id);
      expect(await owes()).toEqual([0, 0]);
      expect(await sweptCases(id)).toEqual([`repaid ${AMOUNT}`]);
      expect((await wallets('write-off', id, '--reason', 'x', '--evidence', 'y')).errors).toContain('owes nothing');
      expect((await wallets('close', id, '--reason', 'customer left')).exitCode).toBe(0);
    },

    'receivable:bank, recalled': async () => {
      await recalledInTransit();
      expect([await owedIn(BANK_RECEIVABLE), await cases('credit_recalled')]).toEqual([
        AMOUNT,
        expect.arrayContaining([AMOUNT]),
      ]);
      await adjust([BANK_PAYS]);
      expect(await owedIn(BANK_RECEIVABLE)).toBe(0);
      await recalledInTransit();
      await adjust([GIVEN_UP]);
      expect(await owedIn(BANK_RECEIVABLE)).toBe(0);
    },

    'receivable:bank, paid twice': async () => {
      const row = await paidTwice();
      expect([await owedIn(BANK_RECEIVABLE), await cases('paid_after_failure')]).toEqual([AMOUNT, [AMOUNT]]);
      const failure = { code: 'bank_returned', reason: 'The bank returned it', sessionId: null } as const;
      await post(returnWithdrawalFunds(book, row, 'return', failure, null));
      expect(await owedIn(BANK_RECEIVABLE)).toBe(0);
      await paidTwice();
      await adjust([GIVEN_UP]);
      expect(await owedIn(BANK_RECEIVABLE)).toBe(0);
    },

    'receivable:bank, lost': async () => {
      const found = { debit: BANK_RECEIVABLE, credit: 'clearing:sandbox', amount: AMOUNT };
      await adjust([found]); // as `flows import` requests it
      expect(await owedIn(BANK_RECEIVABLE)).toBe(AMOUNT);
      await adjust([BANK_PAYS]);
      await adjust([found]);
      await adjust([GIVEN_UP]);
      expect(await owedIn(BANK_RECEIVABLE)).toBe(0);
    },
  };

  test.each(Object.entries(STORIES))('%s is seen, repaid and written off', async (_, story) => {
    await story();
    expect(await owedIn(BANK_RECEIVABLE)).toBe(0);
  });

  test('of a wallet ends its cases once they are repaid, the oldest first, with an event each', async () => {
    const id = await debtor(3_000, 2_000, 1_000);
    await deposit(id, 2_999);
    expect(await sweptCases(id)).toEqual(['open 3000', 'open 2000', 'open 1000']);
    await deposit(id, 1);
    expect(await sweptCases(id)).toEqual(['repaid 3000', 'open 2000', 'open 1000']);
    await deposit(id, 3_500);
    expect(await sweptCases(id)).toEqual(['repaid 3000', 'repaid 2000', 'repaid 1000']);
    const { items } = await api.test.get('/events?type=review_case.resolved');
    const resolved = items.map(({ data }) => data as Record<string, unknown>).filter(({ walletId }) => walletId === id);
    expect(resolved).toMatchObject([1_000, 2_000, 3_000].map((amount) => ({ status: 'repaid', amount })));
  });

  test('stands in docs/accounting.md', () => {
    const page = readFileSync(new URL('../../docs/accounting.md', import.meta.url), 'utf8');
    const [, table = ''] = page.split('## Receivables\n')[1]?.match(/^([\s\S]*?)\n## /) ?? [];
    const rows = [...table.matchAll(/^\| `(receivable:[^`]+)`(, [a-z ]+)? \|/gm)].map(
      ([, code, which = '']) => code + which,
    );
    expect(rows).toEqual(Object.keys(STORIES));
  });
});
