// What becomes of a post, a balance, a statement and a deep page of a list when the book has grown a thousandfold: the same
// calls in turns on a small and on a large database of one server, one caller, the service's own statements.
import postgres from 'postgres';
import type { Sql } from '../../src/database/pool.ts';
import { walletAccount } from '../../src/ledger/chart.ts';
import { Journal } from '../../src/ledger/journal.ts';
import { listPayments } from '../../src/resources/payments/queries.ts';
import { findWallet, listStatement, type Wallet } from '../../src/resources/wallets/queries.ts';
import { type BenchBook, oneTransfer, openBook, pickAmount, pickPair } from '../book.ts';
import { type Grown, grow } from '../growth.ts';
import { callInParallel, formatted, type Measured, measureInterleaved, ratio, type Series } from '../measure.ts';
import { plansOf } from '../queryPlans.ts';
import { type Bench, type Stage, type StageResult, superuserUrl } from '../stage.ts';

const PAGE = 20;
const UNIT = 'ms';
/** Each wallet of the small book has statements of many pages too. */
const SMALL = { postings: 10_000, payments: 10_000, wallets: 20 };
const LARGE = { postings: 10_000_000, payments: 1_000_000, wallets: 10_000 };
const LARGE_QUICK = { postings: 300_000, payments: 30_000, wallets: 500 };
/** How far a large book may be behind a small one. */
const RATIO_MAX = 1.3;
/** How deep a deep page lies, as a share of the whole list from its newest end. */
const DEEP = 0.9;

interface Place {
  label: string;
  size: typeof SMALL;
  book: BenchBook;
  grown: Grown;
  databaseUrl: string;
}

type Call = (place: Place, sql: Sql, journal: Journal) => Promise<unknown>;

export const growth: Stage = {
  name: 'growth',
  title:
    'One caller on a small book (10 thousand postings and payments) and a large one (10 million postings, 1 million payments).',
  run: async (bench) => {
    const rounds = bench.quick ? 1 : 5;
    const seconds = bench.quick ? 1 : 2;
    const small = await openPlace(bench, 'small', SMALL);
    const large = await openPlace(bench, 'large', bench.quick ? LARGE_QUICK : LARGE);
    try {
      const series = Object.entries(CALLS).flatMap(([name, call]) =>
        [small, large].map((place) =>
          timed(nameOf(name, place), seconds, () => call(place, place.book.sql, place.book.journal)),
        ),
      );
      return report(
        await measureInterleaved(series, rounds, bench.say),
        small,
        large,
        await tellPlans(bench, [small, large]),
      );
    } finally {
      await Promise.all([small.book.close(), large.book.close()]);
    }
  },
};

async function openPlace(bench: Bench, label: string, size: typeof SMALL): Promise<Place> {
  const databaseUrl = await bench.createDatabase('books');
  const book = await openBook(databaseUrl);
  const started = performance.now();
  const grown = await grow(book, size);
  await settle(bench, databaseUrl);
  const took = (performance.now() - started) / 1000;
  bench.say(
    `    ${label}: ${formatted(size.postings)} postings, ${formatted(size.payments)} payments, made in ${formatted(took)} s`,
  );
  return { label, size, book, grown, databaseUrl };
}

/** Has what was made written to disk now and not while it is measured, and read into the server's memory, as far as it goes. */
async function settle({ adminUrl, say }: Bench, databaseUrl: string): Promise<void> {
  const admin = postgres(superuserUrl(adminUrl, databaseUrl), { max: 1 });
  try {
    await admin`CHECKPOINT`;
    const [available] = await admin`SELECT FROM pg_available_extensions WHERE name = 'pg_prewarm'`;
    if (available === undefined) {
      say('    The server has no pg_prewarm: what is first read may come from the disk.');
      return;
    }
    await admin`CREATE EXTENSION pg_prewarm`;
    await admin`
      SELECT sum(pg_prewarm(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname IN ('ledger', 'public') AND c.relkind IN ('r', 'i')`;
  } finally {
    await admin.end();
  }
}

const nameOf = (name: string, { label }: Place): string => `${name}, ${label}`;

/** A call's time: its median. */
function timed(name: string, seconds: number, call: () => Promise<unknown>): Series {
  return {
    name,
    unit: UNIT,
    measure: async () => {
      const { details } = await callInParallel(1, seconds, call);
      return { value: details?.['p50 ms'] ?? Number.NaN, details: { 'p99 ms': details?.['p99 ms'] ?? Number.NaN } };
    },
  };
}

const post = async ({ book }: Place, journal: Journal, load: 'hot' | 'uniform', grown: Grown): Promise<void> => {
  const { source, destination } = pickPair({ ...book, wallets: grown.active }, load);
  const movement = oneTransfer(book.book, walletAccount(source), walletAccount(destination), pickAmount());
  const { outcome } = await journal.post(movement);
  if (outcome !== 'posted') throw new Error(`a posting was ${outcome}`);
};

const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item;

async function wallet(sql: Sql, { book }: Place, id: string): Promise<Wallet> {
  const found = await findWallet(sql, book.book, id);
  if (found === null) throw new Error(`no wallet ${id}`);
  return found;
}

async function full(rows: Promise<unknown[]>): Promise<void> {
  const { length } = await rows;
  if (length !== PAGE + 1) throw new Error(`a page of ${length} rows is not what was to be measured`);
}

/** Where the account of each wallet stands does not change: statements are timed without looking it up. */
const wallets = new Map<string, Wallet>();

async function known(sql: Sql, place: Place, id: string): Promise<Wallet> {
  const found = wallets.get(id) ?? (await wallet(sql, place, id));
  wallets.set(id, found);
  return found;
}

const CALLS: Record<string, Call> = {
  'post, uniform': (place, _sql, journal) => post(place, journal, 'uniform', place.grown),
  'post, hot': (place, _sql, journal) => post(place, journal, 'hot', place.grown),
  'balance read': (place, sql) => wallet(sql, place, pick(place.grown.active)),
  'statement, newest page': async (place, sql) =>
    full(
      listStatement(
        sql,
        place.book.book,
        await known(sql, place, pick(place.grown.active)),
        {},
        { limit: PAGE, after: null },
      ),
    ),
  'statement of the hot wallet, deep page': async (place, sql) => {
    const id = String(place.grown.postingAt(Math.random() * 0.8 + 0.1));
    const after = { createdAt: new Date(), id };
    return full(
      listStatement(sql, place.book.book, await known(sql, place, place.book.hot), {}, { limit: PAGE, after }),
    );
  },
  'payments, deep page': async (place, sql) => {
    const number = Math.floor(place.size.payments * (1 - DEEP) * (0.5 + Math.random()));
    return full(listPayments(sql, place.book.book, {}, { limit: PAGE, after: place.grown.payment(number) }));
  },
};

async function tellPlans(bench: Bench, places: Place[]): Promise<string> {
  const texts: string[] = [];
  for (const [name, call] of Object.entries(CALLS)) {
    for (const place of places) {
      const plans = await plansOf(bench.adminUrl, place.databaseUrl, (sql) => call(place, sql, new Journal(sql)));
      texts.push(`==== ${nameOf(name, place)} ====\n\n${plans}`);
    }
  }
  return texts.join('\n\n');
}

function report(measured: Measured[], small: Place, large: Place, plans: string): StageResult {
  return {
    measured,
    goals: Object.keys(CALLS).map((name) => ({
      text: `${name}: large ÷ small`,
      atMost: RATIO_MAX,
      got: ratio(measured, nameOf(name, large), nameOf(name, small)),
    })),
    plots: [
      { name: 'latency', title: 'Time of one call', unit: `${UNIT} (median; whisker: least to most)`, bars: measured },
    ],
    notes: [],
    files: { 'plans.txt': plans },
  };
}
