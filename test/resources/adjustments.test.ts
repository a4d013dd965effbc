// Adjustments on a real database: what may be requested, that two operators are needed, that a decision and its audit
// entry are one movement, that a reversal is possible once, and that `ledger verify` explains what was posted.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createAdjustmentActivities } from '../../src/activities/adjustments.ts';
import { newUuid, publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import type { Decision } from '../../src/ledger/movement.ts';
import type { Posting } from '../../src/ledger/postings.ts';
import type { Book } from '../../src/money.ts';
import type { LostFlow } from '../../src/recovery/lostFlows.ts';
import { importPaidTransfers } from '../../src/recovery/lostTransfers.ts';
import { postAdjustment } from '../../src/resources/adjustments/movements.ts';
import { type Adjustment, findAdjustment } from '../../src/resources/adjustments/queries.ts';
import { requestAdjustment, requestReversal, type Subject } from '../../src/resources/adjustments/request.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { codeOf, OPERATORS, type OperatorName } from '../support/operators.ts';

let api: TestApi;
let book: Book;

beforeAll(async () => {
  api = await startTestApi();
  book = { organisationId: api.organisation.organisationId, environment: 'test' };
  await api.createWallet(undefined, { balance: 100 }); // opens the clearing account
});

afterAll(async () => {
  const unexplained = await findings(book);
  await api.close();
  expect(unexplained).toEqual([]);
});

const findings = async ({ organisationId }: Book) =>
  (await verifyBooks(api.sql)).findings.filter(
    ({ organisation }) => organisation === publicId('organisation', organisationId),
  );

const grounds = () => ({ reason: 'the bank paid nothing', evidence: 'ticket 1234', proof: OPERATORS.ada.proof });

const credit = (walletId: string, amount = 5_000): Posting => ({
  debit: 'clearing:sandbox',
  credit: `wallet:${walletId}`,
  amount,
});

async function requested(postings: readonly Posting[], about: Partial<Subject> = {}): Promise<Adjustment> {
  const outcome = await requestAdjustment(api.dependencies, book, postings, { ...grounds(), ...about });
  if (outcome.outcome === 'refused') throw new Error(outcome.message);
  return await read(outcome.id);
}

async function read(id: Uuid): Promise<Adjustment> {
  const row = await findAdjustment(api.sql, book, id);
  if (row === null) throw new Error('there is no such adjustment');
  return row;
}

async function decide(
  { id }: Adjustment,
  action: 'approve' | 'reject',
  operator: OperatorName = 'ngozi',
  code?: string,
) {
  const adjustmentId = publicId('adjustment', id);
  return await createAdjustmentActivities(api.dependencies).applyAdjustmentDecision(
    { ...book, adjustmentId, amount: 1 },
    { action, reason: 'checked', code: code ?? (await codeOf(api.sql, operator, adjustmentId, action)) },
  );
}

async function posted(postings: readonly Posting[], about: Partial<Subject> = {}): Promise<Adjustment> {
  const row = await requested(postings, about);
  expect(await decide(row, 'approve')).toMatchObject({ outcome: 'done', status: 'posted' });
  return await read(row.id);
}

const approval = ({ id }: Adjustment): Decision => ({
  proof: OPERATORS.ngozi.proof,
  action: 'adjustment.approve',
  subject: publicId('adjustment', id),
  reason: 'checked',
});

const auditOf = async ({ id }: Adjustment) => {
  const rows =
    await api.sql`SELECT operator, action FROM audit_log WHERE subject = ${publicId('adjustment', id)} ORDER BY id`;
  return rows.map(({ operator, action }) => `${operator} ${action}`);
};

test('a decision is posted once with one audit entry, however often it runs', async () => {
  const wallet = await api.createWallet();
  const row = await requested([credit(wallet)]);
  const code = await codeOf(api.sql, 'ngozi', publicId('adjustment', row.id), 'approve');
  const answers = await Promise.all(Array.from({ length: 20 }, () => decide(row, 'approve', 'ngozi', code)));
  expect(new Set(answers.map(({ outcome, status }) => `${outcome}, ${status}`))).toEqual(new Set(['done, posted']));
  expect(await api.balanceOf(wallet)).toBe(5_000);
  expect(await auditOf(row)).toEqual(['ada adjustment.request', 'ngozi adjustment.approve']);
  expect(await decide(row, 'reject')).toMatchObject({ outcome: 'refused', message: 'The adjustment is posted.' });
});

test('the database refuses an approval by the operator who requested it', async () => {
  const row = await requested([credit(await api.createWallet())]);
  expect(await decide(row, 'approve', 'ada')).toMatchObject({
    outcome: 'refused',
    message: expect.stringContaining('another operator must approve it'),
  });
  expect(await decide(row, 'reject', 'ada')).toMatchObject({ outcome: 'done', status: 'rejected' });
});

test('taxes that are owed are adjusted too, whichever a deployment has, under a name that is one', async () => {
  await posted([
    { debit: 'clearing:sandbox', credit: 'liability:vat', amount: 7_500 },
    { debit: 'clearing:sandbox', credit: 'liability:stamp_duty', amount: 5_000 },
  ]);
  for (const account of ['liability:', 'liability:VAT', 'liabilities:vat', 'liability:vat:2']) {
    const outcome = await requestAdjustment(
      api.dependencies,
      book,
      [{ debit: 'clearing:sandbox', credit: account, amount: 1 }],
      grounds(),
    );
    expect(outcome).toMatchObject({ outcome: 'refused', message: expect.stringContaining('liability:vat') });
  }
});

test('a request that no rule allows is refused and writes nothing', async () => {
  const organisation = await api.createOrganisation();
  const other = { organisationId: organisation.organisationId, environment: 'test' as const };
  const wallet = await api.createWallet();
  for (const [postings, words] of [
    [[{ debit: 'clearing:sandbox', credit: `wallet:${wallet}`, amount: 1 }], /no account clearing:sandbox/],
    [[{ debit: 'loss:operations', credit: `wallet:${wallet}`, amount: 1 }], /no account wallet:/],
  ] as const) {
    expect(await requestAdjustment(api.dependencies, other, postings, grounds())).toMatchObject({
      outcome: 'refused',
      message: expect.stringMatching(words),
    });
  }
  expect(await api.sql`SELECT FROM adjustments WHERE organisation_id = ${other.organisationId}`).toHaveLength(0);
});

test('a correction has the time that it is about, the resource that it corrects, and words for the customer', async () => {
  const [wallet, destinationWalletId] = [await api.createWallet(undefined, { balance: 100 }), await api.createWallet()];
  const { id: corrects } = (await api.test.money(`/wallets/${wallet}/transfer`, { destinationWalletId, amount: 10 }))
    .data;
  const effectiveAt = new Date(Date.now() - 3 * 86_400_000);
  const description = 'Transfer of Monday, sent twice';
  await posted([credit(wallet, 1)], { effectiveAt, corrects, description });
  await posted([credit(wallet, 2)], { corrects });
  await posted([credit(wallet, 3)]);
  const { items } = await api.test.get(`/wallets/${wallet}/transactions?limit=3`);
  expect(items).toMatchObject([
    { kind: 'adjustment', amount: 3, description: 'Correction' },
    { amount: 2, description: `Correction of ${corrects}` },
    { amount: 1, description, effectiveAt: effectiveAt.toISOString() },
  ]);
  const events = (await api.test.get(`/events?resourceId=${wallet}&type=wallet.adjusted`)).items;
  expect(events.map(({ data }) => data)).toMatchObject([
    { correctsResourceId: null, description: null },
    { correctsResourceId: corrects, description: null },
    { correctsResourceId: corrects, description },
  ]);
});

test('a correction of the future, of a closed period or of what the book does not have is refused', async () => {
  const organisation = await api.createOrganisation();
  const { organisationId } = organisation;
  const other = { organisationId, environment: 'test' as const };
  const wallet = await api.createWallet(organisation.test, { balance: 100 });
  await api.sql`INSERT INTO ledger.closed_periods VALUES (${organisationId}, 'test', '2025-01-01', now())`;
  const foreign = await api.createWallet();
  for (const [about, words] of [
    [{ effectiveAt: new Date(Date.now() + 60_000) }, /in the future/],
    // Half past midnight in Lagos of the first day, and of the day after the last.
    [{ effectiveAt: new Date('2024-12-31T23:30:00Z') }, /period 2025-01 is closed/],
    [{ corrects: foreign }, /This book has no/],
    [{ corrects: 'nonsense' }, /This book has no/],
  ] as const) {
    const outcome = await requestAdjustment(api.dependencies, other, [credit(wallet, 1)], { ...grounds(), ...about });
    expect(outcome).toMatchObject({ outcome: 'refused', message: expect.stringMatching(words) });
  }
  const inOpenPeriod = { ...grounds(), effectiveAt: new Date('2025-01-31T23:30:00Z'), corrects: wallet };
  expect(await requestAdjustment(api.dependencies, other, [credit(wallet, 1)], inOpenPeriod)).toMatchObject({
    outcome: 'requested',
  });
});

test('an approval is refused once the period that it is about is closed', async () => {
  const wallet = await api.createWallet();
  const effectiveAt = new Date('2025-02-15T12:00:00Z');
  const row = await requested([credit(wallet, 1)], { effectiveAt });
  await api.sql`INSERT INTO ledger.closed_periods VALUES (${book.organisationId}, 'test', '2025-02-01', now())`;
  expect(await decide(row, 'approve')).toMatchObject({
    outcome: 'refused',
    message: expect.stringContaining('The period 2025-02 was closed since'),
    status: 'requested',
  });
  expect(await api.balanceOf(wallet)).toBe(0);
  expect(await decide(row, 'reject')).toMatchObject({ outcome: 'done', status: 'rejected' });
});

test('what the ledger refuses stays open, and is posted once the cause is gone', async () => {
  const [wallet, empty] = [await api.createWallet(undefined, { balance: 5_000 }), await api.createWallet()];
  const debit = await requested([{ debit: `wallet:${wallet}`, credit: 'receivable:bank', amount: 5_000 }]);
  await api.setWalletStatus(wallet, 'frozen');
  expect(await decide(debit, 'approve')).toMatchObject({
    outcome: 'refused',
    message: expect.stringContaining(`WALLET_FROZEN, at wallet:${wallet}: no money leaves a frozen wallet`),
    status: 'requested',
  });
  // Money for a frozen wallet is its owner's.
  await posted([credit(wallet, 1_000)]);
  await api.setWalletStatus(wallet, 'active');
  expect(await decide(debit, 'approve')).toMatchObject({ outcome: 'done', status: 'posted' });
  expect(await api.balanceOf(wallet)).toBe(1_000);

  const tooMuch = await requested([{ debit: `wallet:${empty}`, credit: 'loss:operations', amount: 1 }]);
  expect(await decide(tooMuch, 'approve')).toMatchObject({
    outcome: 'refused',
    message: expect.stringContaining(`WALLET_INSUFFICIENT_FUNDS, at wallet:${empty}`),
  });
  expect(await decide(tooMuch, 'reject')).toMatchObject({ outcome: 'done', status: 'rejected' });
  expect(await auditOf(tooMuch)).toEqual(['ada adjustment.request', 'ngozi adjustment.reject']);
});

test('a posted adjustment is reversed once; a second reversal is refused by rows and by the ledger', async () => {
  const wallet = await api.createWallet();
  const first = await posted([credit(wallet), { debit: `wallet:${wallet}`, credit: 'income:fees', amount: 5_000 }]);
  const reverse = ({ id }: Adjustment) => requestReversal(api.dependencies, book, id, grounds());

  const rejected = await reverse(first);
  expect(await reverse(first)).toMatchObject({ message: expect.stringMatching(/has a reversal already/) });
  if (rejected.outcome === 'refused') throw new Error(rejected.message);
  expect(await reverse(await read(rejected.id))).toMatchObject({
    message: expect.stringMatching(/is requested: only/),
  });
  await decide(await read(rejected.id), 'reject');

  const reversed = await reverse(first);
  if (reversed.outcome === 'refused') throw new Error(reversed.message);
  const reversal = await read(reversed.id);
  expect(await decide(reversal, 'approve')).toMatchObject({ outcome: 'done', status: 'posted' });
  const [transaction] = await api.sql`SELECT kind, reverses FROM ledger.transactions WHERE id = ${reversal.id}`;
  expect(transaction).toEqual({ kind: 'adjustment_reversal', reverses: first.id });
  expect(await reverse(first)).toMatchObject({ message: expect.stringMatching(/has a reversal already/) });
  expect(await reverse(await read(reversed.id))).toMatchObject({ message: expect.stringMatching(/itself a reversal/) });

  // Past the rule for rows, the ledger still has the last word.
  const again = { ...(await requested(reversal.postings)), reverses: first.id };
  expect(await api.dependencies.journal.post(postAdjustment(book, again, approval(again)))).toEqual({
    outcome: 'conflict',
    constraint: 'resolved_or_reversed_once',
  });
});

test('the owner of a wallet sees its adjustments in the statement and as events, with the net change', async () => {
  const wallet = await api.createWallet();
  const row = await posted([credit(wallet), { debit: `wallet:${wallet}`, credit: 'income:fees', amount: 1_000 }]);
  const adjustmentId = publicId('adjustment', row.id);
  const { items } = await api.test.get(`/wallets/${wallet}/transactions`);
  expect(items.map(({ kind, resourceId, direction, amount }) => [kind, resourceId, direction, amount])).toEqual([
    ['adjustment', adjustmentId, 'debit', 1_000],
    ['adjustment', adjustmentId, 'credit', 5_000],
  ]);
  const events = await api.sql`SELECT type, data FROM events WHERE resource = ${wallet}`;
  expect([...events]).toEqual([
    {
      type: 'wallet.adjusted',
      data: {
        walletId: wallet,
        adjustmentId,
        reversesAdjustmentId: null,
        correctsResourceId: null,
        description: null,
        direction: 'credit',
        amount: 4_000,
        currency: 'NGN',
        status: 'active',
      },
    },
  ]);
});

test('a wallet that an open adjustment names cannot be closed', async () => {
  const wallet = await api.createWallet();
  const row = await requested([credit(wallet)]);
  const inFlight = async () => {
    const [found] = await api.sql<{ counts: object }[]>`
      SELECT ledger.wallet_in_flight(${book.organisationId}, 'test', ${requireUuid('wallet', wallet)}) AS counts`;
    return found?.counts;
  };
  expect(await inFlight()).toEqual({ adjustments: 1 });
  await decide(row, 'reject');
  expect(await inFlight()).toEqual({});
});

test('what was requested is what is approved: the database refuses any other postings', async () => {
  const organisation = await api.createOrganisation();
  const tampered = { organisationId: organisation.organisationId, environment: 'test' as const };
  const postings = [{ debit: 'expense:rail', credit: 'income:fees', amount: 5_000 }];
  const outcome = await requestAdjustment(api.dependencies, tampered, postings, grounds());
  if (outcome.outcome === 'refused') throw new Error(outcome.message);
  const row = await findAdjustment(api.sql, tampered, outcome.id);
  if (row === null) throw new Error('there is no such adjustment');
  const wrong = { ...row, postings: postings.map((posting) => ({ ...posting, amount: 9_000 })) };
  const post = (adjustment: Adjustment) =>
    api.dependencies.journal.post(postAdjustment(tampered, adjustment, approval(adjustment)));
  await expect(post(wrong)).rejects.toThrow('decision_needed');
  expect(await post(row)).toEqual({ outcome: 'posted' });
  expect(await findings(tampered)).toEqual([]);
});

test('what a bank paid for a lost transfer is asked of its wallet, and for the return of a case of none', async () => {
  const walletId = await api.createWallet(undefined, { balance: 10_000 });
  const lost = (['withdrawal', 'reviewCase'] as const).map((kind): LostFlow => {
    const resourceId = newUuid();
    const id = publicId(kind, resourceId);
    return { ...book, kind, id, resourceId, walletId, amount: 1_000, startedAt: new Date(), isRunning: false };
  });
  for (const { id } of lost) {
    await api.sql`
      INSERT INTO reconciliation_breaks
        (organisation_id, environment, id, version, rail, kind, line, reference, at, occurrence, statement_amount, created_at)
      VALUES (${book.organisationId}, 'test', gen_random_uuid(), 1, 'sandbox', 'unmatched_statement', 'sent', ${id}, now(), 1,
              1000, now())`;
  }
  const imported = await importPaidTransfers(api.dependencies, lost, grounds());
  expect(imported.map(({ debit, refused }) => [debit, refused])).toEqual([
    [`wallet:${walletId}`, null],
    ['receivable:bank', null],
  ]);
});
