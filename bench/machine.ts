// Describes the machine and the software versions of a benchmark run.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import postgres from 'postgres';

/** Properties of the machine and versions of the software on it, by name. */
export type Machine = Record<string, string>;

/** Describes this machine and the Postgres server of the URL. */
export async function describeMachine(adminUrl: string): Promise<Machine> {
  const sql = postgres(adminUrl, { max: 1, onnotice: () => {} });
  try {
    const [server] = await sql<{ version: string; settings: string }[]>`
      SELECT current_setting('server_version') AS version,
             string_agg(name || '=' || current_setting(name), ' ' ORDER BY name) AS settings
      FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'shared_buffers', 'max_wal_size', 'wal_sync_method')`;
    const cpus = os.cpus();
    return {
      processor: `${cpus.length} × ${cpus[0]?.model.trim() ?? 'unknown'}`,
      memory: `${Math.round(os.totalmem() / 2 ** 30)} GB`,
      system: `${os.type()} ${os.release()} ${os.arch()}`,
      'load before': os.loadavg()[0]?.toFixed(1) ?? '–',
      node: process.versions.node,
      postgres: `${server?.version} (${server?.settings})`,
      packages: ['postgres', 'koa', '@temporalio/worker', 'autocannon']
        .map((name) => `${name} ${installedVersion(name)}`)
        .join(', '),
      pgbench: outputOf('pgbench', ['--version']) ?? 'not installed',
      commit: outputOf('git', ['describe', '--always', '--dirty']) ?? 'unknown',
    };
  } finally {
    await sql.end();
  }
}

/**
 * CPU time of all processors since boot, in ticks. `stolen`: steal time, which the host gave to other virtual machines.
 */
export interface ProcessorTime {
  all: number;
  stolen: number;
}

/** Returns null where the system does not report it (only Linux does). */
export function processorTime(): ProcessorTime | null {
  try {
    return parseProcessorTime(readFileSync('/proc/stat', 'utf8'));
  } catch {
    return null;
  }
}

/**
 * The first line of `/proc/stat`: user, nice, system, idle, iowait, irq, softirq, steal. The guest times are part of
 * user.
 */
export function parseProcessorTime(stat: string): ProcessorTime {
  const ticks = (/^cpu +(.*)$/m.exec(stat)?.[1] ?? '').split(' ').slice(0, 8).map(Number);
  return { all: ticks.reduce((sum, one) => sum + one, 0), stolen: ticks[7] ?? 0 };
}

/** The share of the time between the two that was stolen; null where the system does not report it. */
export function describeStealTime(before: ProcessorTime | null, after: ProcessorTime | null): string | null {
  if (before === null || after === null || after.all === before.all) return null;
  const share = (after.stolen - before.stolen) / (after.all - before.all);
  return `Stolen processor time: ${(share * 100).toFixed(1)} %.`;
}

/** Returns the output of a program; undefined when it is not installed or fails. */
export function outputOf(program: string, args: string[]): string | undefined {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return undefined;
  }
}

function installedVersion(name: string): string {
  const file = new URL(`../node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
