// Debts of wallets: what a wallet owes is on its account row, and its credits repay it in their own statement.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { newUuid, type Uuid } from '../../src/ids.ts';
import { type AccountCode, OPERATING_LOSS, receivableOf, walletAccount } from '../../src/ledger/chart.ts';
import type { Journal } from '../../src/ledger/journal.ts';
import type { Movement, PostResult, Transaction } from '../../src/ledger/movement.ts';
import type { Kobo } from '../../src/money.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { insertWallet } from '../../src/resources/wallets/queries.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { verifyLedger } from '../../src/verification/verifyBooks.ts';
import {
  type Books,
  balanceOf,
  expectPosted,
  move,
  newWallet,
  openBooks,
  postTogether,
  RAIL,
  setAccount,
} from './books.ts';
import './seed.ts';

let books: Books;
let processes: Journal[];

beforeAll(async () => {
  books = await openBooks();
  processes = [books.journal, books.anotherJournal(), books.anotherJournal()];
});

afterAll(() => books.close());

const credit = (wallet: AccountCode, amount: Kobo, more: Partial<Transaction> = {}): Movement =>
  move(books.book, RAIL, wallet, amount, more);

const debit = (wallet: AccountCode, amount: Kobo): Movement => move(books.book, wallet, RAIL, amount);

/** What the bank took back and the wallet did not have. */
const debt = (wallet: AccountCode, amount: Kobo): Movement =>
  move(books.book, receivableOf(wallet), RAIL, amount, { rules: 'exempt' });

const writeOff = (wallet: AccountCode, amount: Kobo): Movement =>
  move(books.book, OPERATING_LOSS, receivableOf(wallet), amount, { rules: 'credit_exempt' });

async function owedBy(wallet: AccountCode): Promise<Kobo> {
  const [row] = await books.sql<{ owed: Kobo }[]>`
    SELECT owed FROM ledger.accounts WHERE organisation_id = ${books.book.organisationId} AND code = ${wallet}`;
  return row?.owed ?? 0;
}

/** What the wallet has, what it owes, and its receivable. */
const stateOf = async (wallet: AccountCode): Promise<[Kobo, Kobo, Kobo]> => [
  await balanceOf(books, wallet),
  await owedBy(wallet),
  0 - (await balanceOf(books, receivableOf(wallet))),
];

async function newDebtor(owed: Kobo, options: { verified?: boolean } = {}): Promise<AccountCode> {
  const wallet = await newWallet(books, options);
  await expectPosted(books.journal.post(debt(wallet, owed)));
  return wallet;
}

/** The entries of a wallet in their order, with the balance after each. */
const entriesOf = async (wallet: AccountCode) => [
  ...(await books.sql<{ kind: string; amount: Kobo; after: Kobo }[]>`
    SELECT t.kind, CASE WHEN p.credit_account_id = a.id THEN p.amount ELSE -p.amount END AS amount,
           CASE WHEN p.credit_account_id = a.id THEN p.credit_balance_after ELSE p.debit_balance_after END AS after
    FROM ledger.accounts a
    JOIN ledger.postings p ON p.organisation_id = a.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
    JOIN ledger.transactions t ON t.organisation_id = a.organisation_id AND t.id = p.transaction_id
    WHERE a.organisation_id = ${books.book.organisationId} AND a.code = ${wallet}
    ORDER BY CASE WHEN p.credit_account_id = a.id THEN p.credit_number ELSE p.debit_number END`),
];

const refusalOf = (result: PostResult) => (result.outcome === 'refused' ? result.code : result.outcome);

describe('a credit', () => {
  test('repays in its own statement what its wallet owes, as far as it goes, with an entry and an event', async () => {
    const wallet = await newDebtor(1_000);
    expect(await stateOf(wallet)).toEqual([0, 1_000, 1_000]);
    await expectPosted(books.journal.post(credit(wallet, 400)));
    expect(await stateOf(wallet)).toEqual([0, 600, 600]);
    await expectPosted(books.journal.post(credit(wallet, 900)));
    expect(await stateOf(wallet)).toEqual([300, 0, 0]);
    await expectPosted(books.journal.post(credit(wallet, 50)));
    expect(await entriesOf(wallet)).toEqual([
      { kind: 'test', amount: 400, after: 400 },
      { kind: 'debt_recovery', amount: -400, after: 0 },
      { kind: 'test', amount: 900, after: 900 },
      { kind: 'debt_recovery', amount: -600, after: 300 },
      { kind: 'test', amount: 50, after: 350 },
    ]);
    const events = await books.sql<{ data: object }[]>`
      SELECT type, data FROM events
      WHERE organisation_id = ${books.book.organisationId} AND resource = ${wallet.slice('wallet:'.length)} ORDER BY sequence`;
    const recovery = { reason: 'debt_recovery', currency: 'NGN', status: 'active' };
    expect([...events]).toMatchObject([
      { type: 'wallet.debited', data: { ...recovery, amount: 400, missing: 600 } },
      { type: 'wallet.debited', data: { ...recovery, amount: 600, missing: 0 } },
    ]);
    expect((await verifyLedger(books.sql)).findings).toEqual([]);
  });

  test('a repeat repays nothing', async () => {
    const wallet = await newDebtor(1_000);
    const repeated = credit(wallet, 300);
    await expectPosted(books.journal.post(repeated));
    expect(await books.journal.post(repeated)).toEqual({ outcome: 'duplicate' });
    expect(await stateOf(wallet)).toEqual([0, 700, 700]);
  });

  test('of one batch, each repays before the next movement takes what is left', async () => {
    const wallet = await newDebtor(1_000);
    const results = await postTogether(books, [
      credit(wallet, 700),
      debit(wallet, 100),
      credit(wallet, 500),
      debit(wallet, 150),
      debit(wallet, 100),
      debt(wallet, 40),
      credit(wallet, 100),
    ]);
    expect(results.map(refusalOf)).toEqual([
      'posted',
      'WALLET_INSUFFICIENT_FUNDS',
      'posted',
      'posted',
      'WALLET_INSUFFICIENT_FUNDS',
      'WALLET_HAS_FUNDS',
      'posted',
    ]);
    expect(await stateOf(wallet)).toEqual([150, 0, 0]);
    expect((await entriesOf(wallet)).map(({ amount, after }) => [amount, after])).toEqual([
      [700, 700],
      [-700, 0],
      [500, 500],
      [-300, 200],
      [-150, 50],
      [100, 150],
    ]);
  });

  test('of a movement that is refused later repays nothing', async () => {
    const wallet = await newDebtor(1_000);
    const poor = await newWallet(books);
    const postings = [
      { debit: RAIL, credit: wallet, amount: 600 },
      { debit: poor, credit: RAIL, amount: 1 },
    ];
    const refused = { book: books.book, transaction: { ...credit(wallet, 1).transaction, postings } } as Movement;
    const results = await postTogether(books, [refused, credit(wallet, 100)]);
    expect(results.map(refusalOf)).toEqual(['WALLET_INSUFFICIENT_FUNDS', 'posted']);
    expect(await stateOf(wallet)).toEqual([0, 900, 900]);
  });

  test.each([{ verified: false }, { status: 'frozen' }])(
    'that is exempt repays also where the wallet is %j',
    async (values) => {
      const wallet = await newDebtor(1_000);
      await setAccount(books, wallet, values);
      await expectPosted(books.journal.post(credit(wallet, 300, { rules: 'credit_exempt' })));
      expect(await stateOf(wallet)).toEqual([0, 700, 700]);
    },
  );

  test('repays nothing where recovery is left to operators, who take it by an adjustment', async () => {
    const wallet = await newDebtor(1_000);
    await books.owner`UPDATE decision_limits SET recovers_debts = false`;
    try {
      await expectPosted(books.journal.post(credit(wallet, 300)));
      expect(await stateOf(wallet)).toEqual([300, 1_000, 1_000]);
      await expectPosted(books.journal.post(move(books.book, wallet, receivableOf(wallet), 300)));
      expect(await stateOf(wallet)).toEqual([0, 700, 700]);
      // A refund would make the debt worse, and says so; what the wallet has beyond it is refunded.
      await expectPosted(books.journal.post(credit(wallet, 900)));
      const refund = (amount: Kobo) => move(books.book, wallet, RAIL, amount, { kind: 'refund_hold' });
      const detail = { attemptedAmount: 201, amountOwed: 700 };
      expect(await books.journal.post(refund(201))).toMatchObject({ code: 'WALLET_INSUFFICIENT_FUNDS', detail });
      await expectPosted(books.journal.post(refund(200)));
      await expectPosted(books.journal.post(debit(wallet, 700)));
      expect(await stateOf(wallet)).toEqual([0, 700, 700]);
    } finally {
      await books.owner`UPDATE decision_limits SET recovers_debts = true`;
    }
  });
});

test('no more is repaid or written off than is owed', async () => {
  const wallet = await newDebtor(1_000);
  expect(await books.journal.post(writeOff(wallet, 1_001))).toMatchObject({
    code: 'DEBT_EXCEEDED',
    detail: { amountOwed: 1_000, attemptedAmount: 1_001 },
  });
  await expectPosted(books.journal.post(writeOff(wallet, 1_000)));
  expect(await stateOf(wallet)).toEqual([0, 0, 0]);
});

test('a debit that the wallet cannot pay says what it owes', async () => {
  const wallet = await newDebtor(1_000);
  const detail = { attemptedAmount: 10, amountOwed: 1_000 };
  expect(await books.journal.post(debit(wallet, 10))).toMatchObject({ code: 'WALLET_INSUFFICIENT_FUNDS', detail });
  const other = await newWallet(books);
  expect(await books.journal.post(debit(other, 10))).toMatchObject({ detail: { attemptedAmount: 10 } });
});

test.each(['active', 'frozen'])('a wallet that is %s and owes is not closed', async (status) => {
  const id: Uuid = newUuid();
  const wallet = walletAccount(id);
  const fields = {
    kind: 'end_user',
    email: 'a@b.example',
    fullName: null,
    phone: null,
    externalReference: null,
  } as const;
  await insertWallet(books.sql, books.book, { id, ...fields, createdAt: new Date() });
  await setAccount(books, wallet, { status, verified: true });
  await expectPosted(books.journal.post(debt(wallet, 5)));
  const close = () =>
    setWalletStatus(books.owner, books.book.organisationId, id, 'closed', { proof: OWNER_PROOF, reason: 'x' });
  expect(await close()).toEqual({ outcome: 'debt', amountOwed: 5 });
  await expectPosted(books.journal.post(writeOff(wallet, 5)));
  expect(await close()).toEqual({ outcome: 'changed' });
});

const action = fc.record({
  kind: fc.constantFrom('credit', 'credit', 'debit', 'recall', 'write_off'),
  wallet: fc.nat(1),
  amount: fc.integer({ min: 1, max: 100 }),
  process: fc.nat(2),
});
type Action = typeof action extends fc.Arbitrary<infer Value> ? Value : never;

/** A recall takes what the wallet has, as it was read, and books the rest as a debt; read again where that is stale. */
async function recall(journal: Journal, wallet: AccountCode, amount: Kobo): Promise<void> {
  for (;;) {
    const taken = Math.min(amount, await balanceOf(books, wallet));
    const postings = [
      { debit: wallet, credit: RAIL, amount: taken },
      { debit: receivableOf(wallet), credit: RAIL, amount: amount - taken },
    ].filter((posting) => posting.amount > 0);
    const { transaction, book } = debt(wallet, 1);
    const result = await journal.post({ book, transaction: { ...transaction, postings } as Transaction });
    if (result.outcome === 'posted') return;
    expect(['WALLET_INSUFFICIENT_FUNDS', 'WALLET_HAS_FUNDS']).toContain(refusalOf(result));
  }
}

async function act({ kind, amount, process }: Action, wallet: AccountCode): Promise<void> {
  const journal = processes[process] as Journal;
  if (kind === 'recall') return await recall(journal, wallet, amount);
  const movement = { credit, debit, write_off: writeOff }[kind](wallet, amount);
  const allowed = { credit: [], debit: ['WALLET_INSUFFICIENT_FUNDS'], write_off: ['DEBT_EXCEEDED'] }[kind];
  expect(['posted', ...allowed]).toContain(refusalOf(await journal.post(movement)));
}

interface Posted {
  transactionId: Uuid;
  kind: string;
  debit: AccountCode;
  credit: AccountCode;
  amount: Kobo;
  repaid: Kobo;
}

/** Follows the postings of a wallet: what it owes by them, and the credits that did not repay what they should. */
async function replay(wallet: AccountCode) {
  const postings = await books.sql<Posted[]>`
    SELECT p.transaction_id, t.kind, d.code AS debit, c.code AS credit, p.amount, coalesce(r.amount, 0) AS repaid
    FROM ledger.postings p
    JOIN ledger.transactions t ON t.organisation_id = p.organisation_id AND t.id = p.transaction_id
    JOIN ledger.accounts d ON d.organisation_id = p.organisation_id AND d.id = p.debit_account_id
    JOIN ledger.accounts c ON c.organisation_id = p.organisation_id AND c.id = p.credit_account_id
    LEFT JOIN debt_recoveries r ON r.organisation_id = p.organisation_id AND r.repaid_with = p.transaction_id
    WHERE p.organisation_id = ${books.book.organisationId} AND t.kind <> 'debt_recovery'
      AND (d.code IN (${wallet}, ${receivableOf(wallet)}) OR c.code IN (${wallet}, ${receivableOf(wallet)}))
    ORDER BY p.id`;
  let owed = 0;
  const wrong: object[] = [];
  for (const posting of postings) {
    if (posting.debit === receivableOf(wallet)) owed += posting.amount;
    if (posting.credit === receivableOf(wallet)) owed -= posting.amount;
    if (posting.credit !== wallet) continue;
    if (posting.repaid !== Math.min(posting.amount, owed)) wrong.push({ ...posting, owed });
    owed -= posting.repaid;
  }
  return { owed, wrong };
}

test('recalls, credits, debits and write-offs at once: each credit takes what it should, and the receivable is what is owed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 10, maxLength: 60 }), async (actions) => {
      const wallets = [await newWallet(books), await newWallet(books)];
      await Promise.all(actions.map((one) => act(one, wallets[one.wallet] as AccountCode)));
      for (const wallet of wallets) {
        const [balance, owed, receivable] = await stateOf(wallet);
        expect(balance).toBeGreaterThanOrEqual(0);
        expect(await replay(wallet)).toEqual({ owed, wrong: [] });
        expect(receivable).toBe(owed);
      }
    }),
    { numRuns: 15 },
  );
  expect((await verifyLedger(books.sql)).findings).toEqual([]);
});
