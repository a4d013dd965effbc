// The latency of a posting, a balance, a statement and a deep page of a list on a book that is a thousand times as
// large, or three thousand times: the same calls, interleaved, on a small and a large database of one server, with one
// caller and the service's statements. The large book is sealed before them and verified after them.
import { statfs } from 'node:fs/promises';
import postgres from 'postgres';
import { stateFolderPath } from '../../src/cli/settings.ts';
import type { Sql } from '../../src/database/pool.ts';
import { Journal } from '../../src/ledger/journal.ts';
import { listPayments } from '../../src/resources/payments/queries.ts';
import { findWallet, type Wallet } from '../../src/resources/wallets/queries.ts';
import { balanceAt, listStatement } from '../../src/resources/wallets/statement.ts';
import { type BenchBook, newTransfer, openBook, pickPair } from '../book.ts';
import { type Grown, type Growth, grow, POSTINGS_MAX } from '../growth.ts';
import { sealAll, verifyInParts } from '../integrity.ts';
import { callInParallel, formatted, type Measured, measureInterleaved, ratio, type Series } from '../measure.ts';
import { plansOf } from '../queryPlans.ts';
import { type Bench, type Goal, type Stage, type StageResult, superuserUrl } from '../stage.ts';

const PAGE = 20;
const UNIT = 'ms';
/** Few wallets, so that each statement of the small book also has many pages. */
const SMALL = { postings: 10_000, payments: 10_000, wallets: 20 };
const LARGE_POSTINGS = 10_000_000;
const LARGE_WALLETS = 10_000;
const LARGE_QUICK = { postings: 300_000, payments: 30_000, wallets: 500 };
/** The highest acceptable latency of the large book relative to the small one. */
const RATIO_MAX = 1.3;
/** The postings in the large book for each payment. */
const POSTINGS_OF_PAYMENT = 10;
/**
 * The highest acceptable latency of a balance or statement of the past relative to the newest page, both of the large
 * book.
 */
const PAST_RATIO_MAX = 3;
/** The position of a deep page, as a fraction of the list from its newest end. */
const DEEP = 0.9;

interface TestDatabase {
  label: 'small' | 'large';
  book: BenchBook;
  grown: Grown;
  databaseUrl: string;
}

type Call = (database: TestDatabase, sql: Sql, journal: Journal) => Promise<unknown>;

export const growth: Stage = {
  name: 'growth',
  title:
    'One caller on a small book (10 thousand postings and payments) and a large one (10 million postings, or ' +
    'GROWTH_POSTINGS, and a payment for every ten).',
  run: async (bench) => {
    const rounds = bench.quick ? 1 : 5;
    const seconds = bench.quick ? 1 : 2;
    const small = await openDatabase(bench, 'small', SMALL);
    const large = await openDatabase(bench, 'large', largeSize(bench));
    try {
      const sealed = await sealAll(large.book, large.grown, bench.say);
      for (const database of [large, small]) await settle(bench, database);
      const series = Object.entries({ ...CALLS, ...PAST_CALLS }).flatMap(([name, call]) =>
        [small, large].map((database) =>
          timed(nameOf(name, database), seconds, () => call(database, database.book.sql, database.book.journal)),
        ),
      );
      const measured = await measureInterleaved(series, rounds, bench.say);
      const plans = await collectPlans(bench, [small, large]);
      const integrity = await verifyInParts(large.book, bench);
      return report([...measured, sealed, ...integrity.measured], integrity.goals, large, plans);
    } finally {
      await Promise.all([small.book.close(), large.book.close()]);
    }
  },
};

/** The size of the large book: of GROWTH_POSTINGS, if it is set. */
function largeSize({ quick }: Bench): Growth {
  if (quick) return LARGE_QUICK;
  const postings = Number(process.env.GROWTH_POSTINGS ?? LARGE_POSTINGS);
  if (!(Number.isInteger(postings) && postings > 0 && postings <= POSTINGS_MAX)) {
    throw new Error(`GROWTH_POSTINGS is ${process.env.GROWTH_POSTINGS}: write a number up to ${POSTINGS_MAX}`);
  }
  return { postings, payments: Math.ceil(postings / POSTINGS_OF_PAYMENT), wallets: LARGE_WALLETS };
}

async function openDatabase(bench: Bench, label: TestDatabase['label'], size: Growth): Promise<TestDatabase> {
  const databaseUrl = await bench.createDatabase(label === 'large' ? 'verified' : 'books');
  const book = await openBook(databaseUrl);
  const started = performance.now();
  const grown = await grow(book, size, freeBytes, bench.say);
  const elapsedSeconds = (performance.now() - started) / 1000;
  bench.say(
    `    ${label}: ${formatted(grown.postings)} postings, ${formatted(grown.payments)} payments, generated in ${formatted(elapsedSeconds)} s`,
  );
  return { label, book, grown, databaseUrl };
}

/** What is left on the disk of the server that the benchmark starts; null for a server of one's own. */
async function freeBytes(): Promise<number | null> {
  if (process.env.POSTGRES_URL !== undefined) return null;
  const { bavail, bsize } = await statfs(stateFolderPath());
  return bavail * bsize;
}

/** What most calls read: the entries of an account, and their transactions by id. */
const READ_MOST = ['postings', 'entries_by_debit', 'entries_by_credit', 'postings_pkey', 'transactions_pkey'];
/** Large indexes in which the calls search for nothing. */
const NOT_SEARCHED = ['transaction_key_unique', 'transfers_organisation_id_environment_created_at_id_idx'];

/**
 * Writes what is changed to disk before the measurement, and reads the book into memory as far as it fits: what is read
 * most into shared_buffers, the rest into the page cache of the system, so that little is in both.
 */
async function settle({ adminUrl, say }: Bench, { databaseUrl }: TestDatabase): Promise<void> {
  const admin = postgres(superuserUrl(adminUrl, databaseUrl), { max: 1, onnotice: () => {} });
  try {
    await admin`CHECKPOINT`;
    const [available] = await admin`SELECT FROM pg_available_extensions WHERE name = 'pg_prewarm'`;
    if (available === undefined) {
      say('    The server has no pg_prewarm: first reads may come from disk.');
      return;
    }
    await admin`CREATE EXTENSION IF NOT EXISTS pg_prewarm`;
    await admin`
      SELECT sum(pg_prewarm(c.oid, CASE WHEN c.relname = ANY (${READ_MOST}) THEN 'buffer' ELSE 'read' END))
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname IN ('ledger', 'public') AND c.relkind IN ('r', 'i') AND NOT c.relname = ANY (${NOT_SEARCHED})`;
  } finally {
    await admin.end();
  }
}

const nameOf = (name: string, { label }: TestDatabase): string => `${name}, ${label}`;

/** Measures the median latency of a call. */
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

const post = async ({ book }: TestDatabase, journal: Journal, load: 'hot' | 'uniform', grown: Grown): Promise<void> => {
  // With its resource, because the verification explains every posting.
  const { source, destination } = pickPair({ ...book, wallets: grown.active }, load);
  const { outcome } = await journal.post(newTransfer(book.book, source, destination));
  if (outcome !== 'posted') throw new Error(`a posting was ${outcome}`);
};

const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item;

async function wallet(sql: Sql, { book }: TestDatabase, id: string): Promise<Wallet> {
  const found = await findWallet(sql, book.book, id);
  if (found === null) throw new Error(`no wallet ${id}`);
  return found;
}

async function full(rows: Promise<unknown[]>): Promise<void> {
  const { length } = await rows;
  if (length !== PAGE + 1) throw new Error(`expected a page of ${PAGE + 1} rows, got ${length}`);
}

/** Wallets by id. Their ledger account does not change, so statements are measured without looking the wallet up. */
const wallets = new Map<string, Wallet>();

async function cachedWallet(sql: Sql, database: TestDatabase, id: string): Promise<Wallet> {
  const found = wallets.get(id) ?? (await wallet(sql, database, id));
  wallets.set(id, found);
  return found;
}

const CALLS: Record<string, Call> = {
  'post, uniform': (database, _sql, journal) => post(database, journal, 'uniform', database.grown),
  'post, hot': (database, _sql, journal) => post(database, journal, 'hot', database.grown),
  'balance read': (database, sql) => wallet(sql, database, pick(database.grown.active)),
  'statement, newest page': async (database, sql) =>
    full(
      listStatement(
        sql,
        database.book.book,
        await cachedWallet(sql, database, pick(database.grown.active)),
        {},
        { limit: PAGE, after: null },
      ),
    ),
  'statement of the hot wallet, deep page': async (database, sql) => {
    const id = String(database.grown.hotNumberAt(Math.random() * 0.8 + 0.1));
    const after = { createdAt: new Date(), id };
    return full(
      listStatement(
        sql,
        database.book.book,
        await cachedWallet(sql, database, database.book.hot),
        {},
        { limit: PAGE, after },
      ),
    );
  },
  'payments, deep page': async (database, sql) => {
    const number = Math.floor(database.grown.payments * (1 - DEEP) * (0.5 + Math.random()));
    return full(listPayments(sql, database.book.book, {}, { limit: PAGE, after: database.grown.payment(number) }));
  },
};

const NEWEST_PAGE = 'statement of the hot wallet, newest page';
const NEWEST_RANGE = { limit: PAGE, after: null };

/** Questions about the hot wallet at a random time of its history. */
const PAST_CALLS: Record<string, Call> = {
  [NEWEST_PAGE]: async (database, sql) =>
    full(
      listStatement(sql, database.book.book, await cachedWallet(sql, database, database.book.hot), {}, NEWEST_RANGE),
    ),
  'balance of the hot wallet as of any time': async (database, sql) =>
    balanceAt(
      sql,
      database.book.book,
      await cachedWallet(sql, database, database.book.hot),
      database.grown.timeAt(Math.random()),
    ),
  'statement of the hot wallet up to any time': async (database, sql) =>
    full(
      listStatement(
        sql,
        database.book.book,
        await cachedWallet(sql, database, database.book.hot),
        { createdAtTo: database.grown.timeAt(Math.random() * 0.9 + 0.1) },
        NEWEST_RANGE,
      ),
    ),
};

async function collectPlans(bench: Bench, databases: TestDatabase[]): Promise<string> {
  const texts: string[] = [];
  for (const [name, call] of Object.entries(CALLS)) {
    for (const database of databases) {
      const plans = await plansOf(bench.adminUrl, database.databaseUrl, (sql) => call(database, sql, new Journal(sql)));
      texts.push(`==== ${nameOf(name, database)} ====\n\n${plans}`);
    }
  }
  return texts.join('\n\n');
}

function report(measured: Measured[], goalsOfIntegrity: Goal[], { grown }: TestDatabase, plans: string): StageResult {
  const times = { ...CALLS, ...PAST_CALLS };
  const bytes = Object.entries(grown.bytesPerRow).map(([table, size]) => `${table} ${formatted(size)}`);
  return {
    measured,
    goals: [
      ...Object.keys(times).map((name) => ({
        text: `${name}: large ÷ small`,
        atMost: RATIO_MAX,
        got: ratio(measured, `${name}, large`, `${name}, small`),
      })),
      ...Object.keys(PAST_CALLS)
        .filter((name) => name !== NEWEST_PAGE)
        .map((name) => ({
          text: `large: ${name} ÷ ${NEWEST_PAGE}`,
          atMost: PAST_RATIO_MAX,
          got: ratio(measured, `${name}, large`, `${NEWEST_PAGE}, large`),
        })),
      ...goalsOfIntegrity,
    ],
    plots: [
      {
        name: 'latency',
        title: 'Time of one call',
        unit: `${UNIT} (median; whisker: least to most)`,
        bars: measured.filter(({ unit }) => unit === UNIT),
      },
    ],
    notes: [
      `The large book has ${grown.postings.toLocaleString('en')} generated postings and ${grown.payments.toLocaleString('en')} payments.`,
      `Bytes of a row with its indexes: ${bytes.join(', ')}.`,
    ],
    files: { 'plans.txt': plans },
  };
}
