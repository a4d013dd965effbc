// Seals a large book, and verifies it with `ledger verify` as its own process: first one check at a time while this
// process posts to its hot account, until the command is killed; then, from where it stopped, several checks at once.
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import postgres from 'postgres';
import { serviceUrl } from '../dev/postgres.ts';
import { EXIT } from '../src/cli/failure.ts';
import { sealNext } from '../src/verification/seals.ts';
import type { Checkpoint, Verification } from '../src/verification/verify.ts';
import { type BenchBook, newTransfer, pickPair } from './book.ts';
import type { Grown } from './growth.ts';
import { callInParallel, formatted, type Measured, type Sample, summarise } from './measure.ts';
import { type Bench, type Goal, superuserUrl } from './stage.ts';

const ROUND_SECONDS = 5;
const ROUNDS = 3;
/** Rounds of postings beside the verification before it is killed. */
const ROUNDS_BESIDE = 6;
/** Twice the cores of the machine, since a job also waits for the disk and for the process of the command. */
const JOBS = 4;
/** The longest acceptable verification, the part before the kill included. */
const SECONDS_MAX = 600;
const SEAL_LAG_MS = 60_000;
/** Less than a seal takes at a time. */
const POSTINGS_OF_SEAL = 15_000;
const SNAPSHOT_EVERY_MS = 100;
/** The highest acceptable latency of a hot transfer during the verification relative to one after it. */
const RATIO_MAX = 1.3;

const MAIN = fileURLToPath(new URL('../src/cli/main.ts', import.meta.url));

/**
 * Seals everything that was generated, a part after the other up to the time of its end: left to itself, each seal
 * looks for its end among all postings that are not sealed.
 */
export async function sealAll(book: BenchBook, grown: Grown, say: (line: string) => void): Promise<Measured> {
  const startedAt = performance.now();
  let seals = 0;
  for (let posting = POSTINGS_OF_SEAL; posting < grown.postings; posting += POSTINGS_OF_SEAL) {
    const until = grown.timeAt(posting / grown.postings);
    seals += (await sealNext(book.sql, Date.now() - until.getTime())).seals;
  }
  for (let isBehind = true; isBehind; ) {
    const sealed = await sealNext(book.sql, SEAL_LAG_MS);
    seals += sealed.seals;
    isBehind = sealed.isBehind;
  }
  const measured = summarise(`sealing the large book, ${seals} seals`, 's', [{ value: secondsSince(startedAt) }]);
  say(`    ${measured.name}: ${formatted(measured.median)} s`);
  return measured;
}

const secondsSince = (startedAt: number): number => (performance.now() - startedAt) / 1000;

/** Throws when the book has a violation. */
export async function verifyInParts(
  book: BenchBook,
  { say, adminUrl }: Bench,
): Promise<{ measured: Measured[]; goals: Goal[] }> {
  const post = async (): Promise<void> => {
    const { source, destination } = pickPair(book, 'hot');
    const { outcome } = await book.journal.post(newTransfer(book.book, source, destination));
    if (outcome !== 'posted') throw new Error(`a transfer was ${outcome}`);
  };
  const folder = await mkdtemp(path.join(tmpdir(), 'manilla-verify-'));
  const checkpoint = path.join(folder, 'checkpoint.json');
  let isVerified = false;
  const snapshots = watchSnapshots(superuserUrl(adminUrl, book.url), () => isVerified);
  try {
    const killedAt = performance.now();
    const killed = await verifyUntilKilled(book, checkpoint, () => measurePosts(post));
    const besideSeconds = secondsSince(killedAt);
    const rowsBefore = await rowsRead(checkpoint);
    const resumedAt = performance.now();
    const { postings, findings } = await runVerify(book, checkpoint, JOBS);
    const restSeconds = secondsSince(resumedAt);
    isVerified = true;
    if (findings.length > 0) {
      throw new Error(`The generated book has violations: ${JSON.stringify(findings.slice(0, 5))}`);
    }
    const after: Sample[] = [];
    for (let round = 0; round < ROUNDS; round += 1) after.push(await measurePosts(post));

    const during = summarise('transfer, hot, large, during the verification', 'ms', killed);
    const quiet = summarise('transfer, hot, large, after it', 'ms', after);
    const measured = [
      summarise('ledger verify, one check at a time, while posting, until it was killed', 's', [
        { value: besideSeconds, details: { rows: rowsBefore } },
      ]),
      summarise(`ledger verify --jobs ${JOBS} of the rest of ${formatted(postings)} postings`, 's', [
        { value: restSeconds },
      ]),
      summarise('its longest snapshot', 's', [{ value: await snapshots }]),
      during,
      quiet,
    ];
    for (const { name, median, unit } of measured) say(`    ${name}: ${formatted(median)} ${unit}`);
    return {
      measured,
      goals: [
        {
          text: 'transfer, hot, large: during ledger verify ÷ after it',
          atMost: RATIO_MAX,
          got: during.median / quiet.median,
        },
        {
          text: 'ledger verify of the large book, killed and resumed, in seconds',
          atMost: SECONDS_MAX,
          got: besideSeconds + restSeconds,
        },
      ],
    };
  } finally {
    isVerified = true;
    await snapshots.catch(() => {});
    await rm(folder, { recursive: true });
  }
}

/** Kills the command after some rounds of `measure`, unless it ends before. Returns the rounds that it ran beside. */
async function verifyUntilKilled(
  book: BenchBook,
  checkpoint: string,
  measure: () => Promise<Sample>,
): Promise<Sample[]> {
  const killer = new AbortController();
  let hasEnded = false;
  const verification = runVerify(book, checkpoint, 1, killer.signal)
    .catch((error: unknown) => {
      if (!killer.signal.aborted) throw error;
    })
    .finally(() => {
      hasEnded = true;
    });
  const samples: Sample[] = [];
  while (!hasEnded && samples.length < ROUNDS_BESIDE) samples.push(await measure());
  // The last round lasted longer than a command that has ended.
  if (hasEnded && samples.length > 1) samples.pop();
  killer.abort();
  await verification;
  return samples;
}

/** How many rows the killed command had read by its last checkpoint; 0 without one. */
async function rowsRead(checkpoint: string): Promise<number> {
  const text = await readFile(checkpoint, 'utf8').catch(() => null);
  if (text === null) return 0;
  const { checks } = (JSON.parse(text) as { checkpoint: Checkpoint }).checkpoint;
  const counts = Object.values(checks).map((one) => one.counts);
  return counts.reduce((sum, one) => sum + one.postings + one.entries + one.transactions + one.sealed, 0);
}

/** The median latency of one caller, in milliseconds. */
async function measurePosts(post: () => Promise<unknown>): Promise<Sample> {
  const { details } = await callInParallel(1, ROUND_SECONDS, post);
  return { value: details?.['p50 ms'] ?? Number.NaN, details: { 'p99 ms': details?.['p99 ms'] ?? Number.NaN } };
}

/** Runs the command. `signal` kills it: as `kill -9` does, without a last word. */
async function runVerify(
  { url }: BenchBook,
  checkpoint: string,
  jobs: number,
  signal?: AbortSignal,
): Promise<Verification> {
  const words = [MAIN, 'ledger', 'verify', '--json', '--resume', checkpoint, '--jobs', String(jobs)];
  const { stdout } = await promisify(execFile)(process.execPath, words, {
    env: { ...process.env, DATABASE_URL: serviceUrl(url, new URL(url).pathname) },
    killSignal: 'SIGKILL',
    ...(signal && { signal }),
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
