// The proof of a day, on a real database: one row for each book and bank that never changes, by two people where there
// are breaks; what is booked later is seen beside it; a month is closed when each of its days has a row.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { AccountCode } from '../../src/ledger/chart.ts';
import { closeDays, closePeriod } from '../../src/ledger/closing.ts';
import type { Kobo } from '../../src/money.ts';
import { listDays, proveDay } from '../../src/reconciliation/dayProofs.ts';
import type { BankLine } from '../../src/reconciliation/lines.ts';
import { reconcileImported } from '../../src/reconciliation/reconcile.ts';
import { WORKER_PROOF } from '../../src/resources/proofs.ts';
import { type Day, dayAfter, dayOf, dayStart, monthAfter, monthOf } from '../../src/times.ts';
import { createSettlementWallets, expectPosted, move, newWallet, openBooks } from '../ledger/books.ts';
import { OPERATORS } from '../support/operators.ts';

const RAIL = 'paper_bank';
const CLEARING = `clearing:${RAIL}`;
const DAY_MS = 86_400_000;

let books: Awaited<ReturnType<typeof openBooks>>;
let wallet: AccountCode;

beforeEach(async () => {
  books = await openBooks();
  await createSettlementWallets(books);
  wallet = await newWallet(books);
});
afterEach(() => books.close());

const daysAgo = (days: number): Day => dayOf(new Date(Date.now() - days * DAY_MS));
const noon = (day: Day, hours = 12): Date => new Date(dayStart(day).getTime() + hours * 3_600_000);

/** A credit that was booked when it came. */
async function booked(session: string, amount: Kobo, at: Date): Promise<void> {
  const key = `credit/${RAIL}/${session}`;
  await expectPosted(books.journal.post(move(books.book, CLEARING, wallet, amount, { key, effectiveAt: at })));
  await books.asSuperuser(async (sql) => {
    await sql`
      UPDATE ledger.postings SET created_at = ${at}, id = ledger.posting_id(${at})
      WHERE transaction_id = (SELECT id FROM ledger.transactions WHERE key = ${key})`;
    await sql`UPDATE ledger.transactions SET created_at = ${at} WHERE key = ${key}`;
    await sql`UPDATE ledger.accounts SET created_at = least(created_at, ${at})`;
  });
}

const credit = (reference: string, amount: Kobo, at: Date): BankLine => ({ kind: 'credit', reference, amount, at });

const imported = (day: Day, lines: BankLine[], closingBalance: Kobo | null) =>
  reconcileImported(
    books,
    { book: books.book, rail: RAIL },
    { period: { from: dayStart(day), to: dayStart(dayAfter(day)) }, lines, closingBalance },
    Date.now(),
  );

const prove = async (day: Day, proof: string = WORKER_PROOF, waiver: string | null = null) => {
  await closeDays(books.sql, books.book);
  return (await proveDay(books.sql, books.book, { day, rail: RAIL }, { proof, waiver })).outcome;
};

const shown = async (day: Day) => {
  const [one] = await listDays(books.sql, books.book, day, day);
  if (one === undefined) throw new Error(`the day ${day} is not listed`);
  return one;
};

const rows = () => books.sql`SELECT * FROM day_proofs ORDER BY day`;

describe('a day with a statement', () => {
  const day = daysAgo(3);

  beforeEach(async () => {
    await booked('s1', 100_000, noon(day));
    // Booked before midnight; the bank has it on the next day.
    await booked('s2', 20_000, noon(day, 23.5));
  });

  test('and no break is proved once, by a worker, with what the bank and the books held at its end', async () => {
    expect(await imported(day, [credit('s1', 100_000, noon(day))], 100_000)).toMatchObject({ breaks: 0 });
    expect(await Promise.all([prove(day), prove(day)])).toContain('proved');
    const [row, ...others] = await rows();
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      rail: RAIL,
      bank: 100_000,
      books: 120_000,
      inFlight: 20_000,
      breaks: {},
      customer: 120_000,
      statutory: 0,
      own: 0,
      receivable: 0,
      headroom: 0,
      waived: null,
      preparedBy: 'worker',
      reviewedBy: null,
    });
    for (const proof of [WORKER_PROOF, OPERATORS.ada.proof]) expect(await prove(day, proof)).toBe('unchanged');
    expect(await rows()).toEqual([row]);
    expect(await books.sql`SELECT operator, action, subject FROM audit_log`).toEqual([
      { operator: 'worker', action: 'day.prove', subject: `test/${day}/${RAIL}` },
    ]);
  });

  test('is not changed by what is booked later, which is seen beside it', async () => {
    await imported(day, [credit('s1', 100_000, noon(day))], 100_000);
    await prove(day);
    const before = await rows();
    await expectPosted(books.journal.post(move(books.book, CLEARING, wallet, 700, { effectiveAt: noon(day) })));
    await expectPosted(books.journal.post(move(books.book, CLEARING, wallet, 5, { effectiveAt: new Date() })));
    await imported(day, [credit('s1', 100_000, noon(day)), credit('s3', 700, noon(day, 13))], 100_700);
    expect(await prove(day)).toBe('unchanged');
    expect(await rows()).toEqual(before);
    expect(await shown(day)).toMatchObject({ bank: 100_000, books: 120_000, bookedLater: 700 });
  });

  test('with breaks needs a second person, who sees the same', async () => {
    const stranger: BankLine = { kind: 'sent', reference: 'stranger', amount: 40, at: noon(day) };
    await imported(day, [credit('s1', 100_000, noon(day)), stranger], 99_960);
    const breaks = { unmatched_statement: { count: 1, amount: 40 }, balance: { count: 1, amount: 40 } };
    expect(await shown(day)).toMatchObject({
      bank: 99_960,
      books: 120_000,
      inFlight: 20_000,
      breaks,
      preparedBy: null,
    });
    expect(await prove(day)).toBe('needs_people');
    for (const _ of [1, 2]) expect(await prove(day, OPERATORS.ada.proof)).toBe('proposed');
    // What the second one sees is another thing: another proposal.
    await imported(day, [credit('s1', 100_000, noon(day)), { ...stranger, amount: 50 }], 99_950);
    expect(await prove(day, OPERATORS.ngozi.proof)).toBe('proposed');
    expect(await rows()).toEqual([]);
    expect(await prove(day, OPERATORS.tunde.proof)).toBe('proved');
    expect(await rows()).toMatchObject([{ bank: 99_950, preparedBy: 'ngozi', reviewedBy: 'tunde' }]);
    expect(await books.sql`SELECT operator, action FROM audit_log ORDER BY id`).toEqual([
      { operator: 'ngozi', action: 'day.prove:proposed' },
      { operator: 'tunde', action: 'day.prove' },
    ]);
  });

  test('keeps its breaks and its balance when the statement of the next day is imported at once', async () => {
    const stranger: BankLine = { kind: 'sent', reference: 'stranger', amount: 40, at: noon(day, 23.5) };
    const charge: BankLine = { kind: 'charge', reference: 'c1', amount: 50, at: noon(day, 23.9) };
    await imported(day, [credit('s1', 100_000, noon(day)), stranger, charge], 99_910);
    const open = () => books.sql`SELECT kind FROM reconciliation_breaks WHERE cleared_at IS NULL ORDER BY kind`;
    const before = await open();
    expect(before).toEqual([{ kind: 'balance' }, { kind: 'unmatched_statement' }]);
    // The money of the stranger is still gone; nothing else is missing.
    await imported(dayAfter(day), [credit('s2', 20_000, noon(dayAfter(day), 0.1))], 119_910);
    expect(await open()).toEqual(before);
    expect(
      await books.sql`SELECT ledger_amount, statement_amount FROM reconciliation_breaks WHERE kind = 'balance'`,
    ).toEqual([{ ledgerAmount: 119_950, statementAmount: 119_910 }]);
  });

  test('whose customers are owed more than the bank holds is a break too', async () => {
    await expectPosted(books.journal.post(move(books.book, 'expense:rail', CLEARING, 30)));
    const at = noon(day);
    await books.asSuperuser(
      (sql) => sql`UPDATE ledger.postings SET created_at = ${at}, id = ledger.posting_id(${at}) WHERE amount = 30`,
    );
    await imported(day, [credit('s1', 100_000, noon(day))], 99_970);
    expect(await shown(day)).toMatchObject({ headroom: -30, breaks: { shortfall: { count: 1, amount: 30 } } });
    expect(await prove(day)).toBe('needs_people');
  });
});

test('a day without a statement is named, and can be waived with a reason', async () => {
  const day = daysAgo(3);
  await booked('s1', 100_000, noon(day));
  expect(await prove(day)).toBe('no_statement');
  await imported(day, [credit('s1', 100_000, noon(day))], null);
  expect(await prove(day, OPERATORS.ada.proof)).toBe('no_statement');
  expect(await shown(day)).toMatchObject({ bank: null, inFlight: null, books: 100_000, preparedBy: null });
  expect(await prove(day, WORKER_PROOF, 'no one is there')).toBe('refused');
  expect(await prove(daysAgo(0), OPERATORS.ada.proof, 'too early')).toBe('day_open');
  expect(await prove(day, OPERATORS.ada.proof, 'the bank was closed')).toBe('waived');
  expect(await shown(day)).toMatchObject({ bank: null, waived: 'the bank was closed', preparedBy: 'ada' });
});

test('a row is written by the function of the ledger only, and never changed', async () => {
  const day = daysAgo(3);
  await booked('s1', 100_000, noon(day));
  await prove(day, OPERATORS.ada.proof, 'holiday');
  for (const sql of [books.sql, books.owner]) {
    await expect(sql`UPDATE day_proofs SET books = 1`).rejects.toThrow(/permission denied|append-only/);
    await expect(sql`DELETE FROM day_proofs`).rejects.toThrow(/permission denied|append-only/);
  }
  await expect(books.sql`INSERT INTO day_proofs SELECT * FROM day_proofs`).rejects.toThrow('permission denied');
  await expect(
    books.owner`INSERT INTO day_proofs SELECT organisation_id, environment, day, 'other', bank, books, in_flight,
      '{"balance": {}}', customer, statutory, own, receivable, headroom, waived, 'ada', 'ada', created_at FROM day_proofs`,
  ).rejects.toThrow('day_proofs_check');
});

test('a month is closed once each of its days is proved or waived', async () => {
  const month = monthOf(new Date(Date.now() - 62 * DAY_MS));
  const end = dayStart(`${monthAfter(month)}-01`);
  const last = dayOf(new Date(end.getTime() - 1));
  await booked('s1', 100_000, noon(dayOf(new Date(end.getTime() - 3 * DAY_MS))));
  const close = async () => (await closePeriod(books.sql, books.book, month, OPERATORS.ada.proof)).outcome;
  expect(await close()).toBe('days_unproved');
  const days = (await listDays(books.sql, books.book, `${month}-01`, last)).map(({ day }) => day);
  expect(days).toHaveLength(3);
  await imported(last, [], 100_000);
  expect(await prove(last)).toBe('proved');
  for (const day of days.slice(0, 2)) {
    expect(await close()).toBe('days_unproved');
    expect(await prove(day, OPERATORS.ada.proof, 'before we had statements')).toBe('waived');
  }
  expect([await close(), await close()]).toEqual(['closed', 'unchanged']);
});
