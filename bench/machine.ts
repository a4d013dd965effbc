// On what a figure was measured: without it no figure says anything.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import postgres from 'postgres';

/** The machine and the versions of what ran on it, by name. */
export type Machine = Record<string, string>;

/** Describes this machine and the server behind the URL. */
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
      pgbench: said('pgbench', ['--version']) ?? 'not installed',
      commit: said('git', ['describe', '--always', '--dirty']) ?? 'unknown',
    };
  } finally {
    await sql.end();
  }
}

/** What a program prints; undefined where it is missing. */
export function said(program: string, args: string[]): string | undefined {
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
