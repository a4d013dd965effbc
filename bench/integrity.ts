// Seals a large book and verifies it with `ledger verify`, as its own process, while this one posts to its hot account.
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { serviceUrl } from '../dev/postgres.ts';
import { EXIT } from '../src/cli/failure.ts';
import type { Verification } from '../src/ledger/verify.ts';
import { sealNext } from '../src/verification/seals.ts';
import { type BenchBook, newTransfer, pickPair } from './book.ts';
import { callInParallel, formatted, type Measured, type Sample, summarise } from './measure.ts';
import { type Bench, type Goal, superuserUrl } from './stage.ts';

const ROUND_SECONDS = 5;
const ROUNDS = 3;
const SEAL_LAG_MS = 60_000;
const SNAPSHOT_EVERY_MS = 100;
/** The highest acceptable latency of a hot transfer during the verification relative to one after it. */
const RATIO_MAX = 1.3;

const MAIN = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));

/** Throws when the book has a violation. */
export async function sealAndVerify(
  book: BenchBook,
  { say, adminUrl }: Bench,
): Promise<{ measured: Measured[]; goals: Goal[] }> {
  // With its resource, because the verification explains every posting.
  const post = async (): Promise<void> => {
    const { source, destination } = pickPair(book, 'hot');
    const { outcome } = await book.journal.post(newTransfer(book.book, source, destination));
    if (outcome !== 'posted') throw new Error(`a transfer was ${outcome}`);
  };
  const sealStart = performance.now();
  let seals = 0;
  for (let isBehind = true; isBehind; ) {
    const sealed = await sealNext(book.sql, SEAL_LAG_MS);
    seals += sealed.seals;
    isBehind = sealed.isBehind;
  }
  const sealSeconds = (performance.now() - sealStart) / 1000;

  const verifyStart = performance.now();
  let isVerified = false;
  const verification = runVerify(book).finally(() => {
    isVerified = true;
  });
  const snapshots = watchSnapshots(superuserUrl(adminUrl, book.url), () => isVerified);
  const during: Sample[] = [];
  while (!isVerified) during.push(await measurePosts(post));
  const { postings, findings } = await verification;
  const verifySeconds = (performance.now() - verifyStart) / 1000;
  if (findings.length > 0) {
    throw new Error(`The generated book has violations: ${JSON.stringify(findings.slice(0, 5))}`);
  }
  // The last round lasted longer than the verification.
  during.pop();
  const after: Sample[] = [];
  for (let round = 0; round < ROUNDS; round += 1) after.push(await measurePosts(post));

  const posts = summarise('transfer, hot, large, during the verification', 'ms', during);
  const quiet = summarise('transfer, hot, large, after it', 'ms', after);
  const measured = [
    summarise(`sealing ${formatted(postings)} postings, ${seals} seals`, 's', [{ value: sealSeconds }]),
    summarise(`ledger verify of ${formatted(postings)} postings, while posting`, 's', [{ value: verifySeconds }]),
    summarise('its longest snapshot', 's', [{ value: await snapshots }]),
    posts,
    quiet,
  ];
  for (const { name, median, unit } of measured) say(`    ${name}: ${formatted(median)} ${unit}`);
  return {
    measured,
    goals: [
      {
        text: 'transfer, hot, large: during ledger verify ÷ after it',
        atMost: RATIO_MAX,
        got: posts.median / quiet.median,
      },
    ],
  };
}

/** The median latency of one caller, in milliseconds. */
async function measurePosts(post: () => Promise<unknown>): Promise<Sample> {
  const { details } = await callInParallel(1, ROUND_SECONDS, post);
  return { value: details?.['p50 ms'] ?? Number.NaN, details: { 'p99 ms': details?.['p99 ms'] ?? Number.NaN } };
}

async function runVerify({ url }: BenchBook): Promise<Verification> {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN, 'ledger', 'verify', '--json'], {
    env: { ...process.env, DATABASE_URL: serviceUrl(url, new URL(url).pathname) },
  }).catch((failure: { code?: unknown; stdout: string }) => {
    if (failure.code !== EXIT.failed) throw failure;
    return failure; // with violations
  });
  return JSON.parse(stdout) as Verification;
}

/** Returns the longest time, in seconds, for which a statement or transaction has held a snapshot, until `isOver`. */
async function watchSnapshots(url: string, isOver: () => boolean): Promise<number> {
  const sql = postgres(url, { max: 1 });
  let longest = 0;
  try {
    while (!isOver()) {
      const [row] = await sql<{ seconds: number }[]>`
        SELECT coalesce(max(extract(epoch FROM clock_timestamp() - xact_start)), 0)::float AS seconds
        FROM pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() AND datname = current_database()`;
      longest = Math.max(longest, row?.seconds ?? 0);
      await sleep(SNAPSHOT_EVERY_MS);
    }
  } finally {
    await sql.end();
  }
  return longest;
}
