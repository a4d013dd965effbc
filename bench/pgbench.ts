// pgbench's TPC-B, the yardstick that everybody knows: transactions a second of Postgres itself on this machine, with
// its own C client and no service around it.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { said } from './machine.ts';
import { formatted, type Sample, type Series } from './measure.ts';
import type { Bench } from './stage.ts';

const run = promisify(execFile);

const SCALE = 50;
const CLIENTS = [4, 8, 16, 32];
const UNIT = 'transactions/s';

/** What a stage says that has no TPC-B beside it. */
export const NO_PGBENCH = 'pgbench is not installed here: no TPC-B.';

/** TPC-B with as many clients as are best here, in the protocol that is pgbench's own default and with prepared statements. */
export async function prepareTpcb(
  bench: Bench,
  seconds: number,
): Promise<{ simple: Series; prepared: Series } | undefined> {
  if (said('pgbench', ['--version']) === undefined) return undefined;
  const url = await bench.createDatabase('empty');
  await initialisePgbench(url, SCALE);
  let best = { clients: 0, value: 0 };
  for (const clients of CLIENTS) {
    const { value } = await runPgbench(url, { clients, seconds });
    bench.say(`    pgbench TPC-B, ${clients} clients: ${formatted(value)} ${UNIT}`);
    if (value > best.value) best = { clients, value };
  }
  const { clients } = best;
  return {
    simple: {
      name: `pgbench TPC-B, scale ${SCALE}, ${clients} clients (the best of ${CLIENTS.join(', ')})`,
      unit: UNIT,
      measure: () => runPgbench(url, { clients, seconds }),
    },
    prepared: {
      name: `pgbench TPC-B, ${clients} clients, prepared statements`,
      unit: UNIT,
      measure: () => runPgbench(url, { clients, seconds, protocol: 'prepared' }),
    },
  };
}

/** Fills a database with pgbench's tables. */
async function initialisePgbench(url: string, scale: number): Promise<void> {
  await run('pgbench', ['--initialize', '--quiet', `--scale=${scale}`, url]);
}

/** Runs TPC-B. The protocol is pgbench's own default unless said otherwise. */
async function runPgbench(
  url: string,
  wanted: { clients: number; seconds: number; protocol?: 'simple' | 'prepared' },
): Promise<Sample> {
  const { stdout } = await run('pgbench', [
    `--client=${wanted.clients}`,
    `--jobs=${Math.min(2, wanted.clients)}`,
    `--time=${wanted.seconds}`,
    `--protocol=${wanted.protocol ?? 'simple'}`,
    '--no-vacuum',
    url,
  ]);
  const figure = (pattern: RegExp): number => {
    const found = pattern.exec(stdout)?.[1];
    if (found === undefined) throw new Error(`pgbench did not say what was asked of it:\n${stdout}`);
    return Number(found);
  };
  return {
    value: figure(/^tps = ([\d.]+)/m),
    details: { 'mean ms': figure(/^latency average = ([\d.]+) ms/m) },
  };
}
