// pgbench TPC-B, the standard Postgres benchmark: transactions a second of Postgres alone on this machine, with its C
// client and without a service.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { outputOf } from './machine.ts';
import { formatted, type Sample, type Series } from './measure.ts';
import type { Bench } from './stage.ts';

const run = promisify(execFile);

const SCALE = 50;
const CLIENTS = [4, 8, 16, 32];
const UNIT = 'transactions/s';

/** The note of a stage without TPC-B figures. */
export const NO_PGBENCH = 'pgbench is not installed: no TPC-B figures.';

/**
 * TPC-B with the fastest client count of a trial on this machine: in the default protocol, and with prepared
 * statements.
 */
export async function prepareTpcb(
  bench: Bench,
  seconds: number,
): Promise<{ simple: Series; prepared: Series } | undefined> {
  if (outputOf('pgbench', ['--version']) === undefined) return undefined;
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

/** Creates pgbench's tables in a database. */
async function initialisePgbench(url: string, scale: number): Promise<void> {
  await run('pgbench', ['--initialize', '--quiet', `--scale=${scale}`, url]);
}

/** Runs TPC-B. The protocol defaults to `simple`, as in pgbench. */
async function runPgbench(
  url: string,
  options: { clients: number; seconds: number; protocol?: 'simple' | 'prepared' },
): Promise<Sample> {
  const { stdout } = await run('pgbench', [
    `--client=${options.clients}`,
    `--jobs=${Math.min(2, options.clients)}`,
    `--time=${options.seconds}`,
    `--protocol=${options.protocol ?? 'simple'}`,
    '--no-vacuum',
    url,
  ]);
  const figure = (pattern: RegExp): number => {
    const found = pattern.exec(stdout)?.[1];
    if (found === undefined) throw new Error(`The output of pgbench does not match ${pattern}:\n${stdout}`);
    return Number(found);
  };
  return {
    value: figure(/^tps = ([\d.]+)/m),
    details: { 'mean ms': figure(/^latency average = ([\d.]+) ms/m) },
  };
}
