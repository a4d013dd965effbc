// pgbench's TPC-B, the yardstick that everybody knows: transactions a second of Postgres itself on this machine, with
// its own C client and no service around it.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Sample } from './measure.ts';

const run = promisify(execFile);

/** Fills a database with pgbench's tables. */
export async function initialisePgbench(url: string, scale: number): Promise<void> {
  await run('pgbench', ['--initialize', '--quiet', `--scale=${scale}`, url]);
}

/** Runs TPC-B. The protocol is pgbench's own default unless said otherwise. */
export async function runPgbench(
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
