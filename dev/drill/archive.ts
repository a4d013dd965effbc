// A server whose log is archived, and its restore to a point in time from a base backup and the archive, with
// Postgres's own means. docs/scaling.md has the same with a tool.
import { chownSync, mkdirSync, realpathSync } from 'node:fs';
import postgres from 'postgres';
import { copyFiles } from '../baseBackup.ts';
import { locateFiles } from '../postgresFiles.ts';
import { until } from '../until.ts';

const ARCHIVED_WITHIN_MS = 20_000;

/** The folder of the archive of a data directory, which Postgres may write to. */
export async function archiveOf(dataFolder: string): Promise<string> {
  const { folder, account } = await locateFiles(dataFolder);
  const archive = `${folder}.archive`;
  mkdirSync(archive, { recursive: true });
  if (account !== undefined) chownSync(archive, account.uid, account.gid);
  return archive;
}

/** The settings with which a server archives its log. The rename makes a file of the archive complete or absent. */
export const archiving = (archive: string): Record<string, string> => ({
  archive_mode: 'on',
  archive_command: `test ! -f "${archive}/%f" && cp "%p" "${archive}/%f.part" && mv "${archive}/%f.part" "${archive}/%f"`,
});

/** The settings with which a copy recovers to a time and then accepts writes. */
export const recovering = (archive: string, to: Date): Record<string, string> => ({
  restore_command: `cp "${archive}/%f" "%p"`,
  // A server that starts does not know the letter Z.
  recovery_target_time: to.toISOString().replace('Z', '+00'),
  recovery_target_action: 'promote',
});

interface Server {
  adminUrl: string;
  folder: string;
}

/** Makes a base backup in another folder, from which a server can be started. */
export async function backUp({ adminUrl, folder }: Server, to: string): Promise<void> {
  await withSql(adminUrl, async (sql) => {
    await copyFiles(sql, realpathSync(folder), await locateFiles(to), 'recovery');
  });
}

/** Resolves when everything that was written until now is in the archive. */
export async function archiveNow({ adminUrl }: Server): Promise<void> {
  await withSql(adminUrl, async (sql) => {
    const [current] = await sql<{ file: string }[]>`SELECT pg_walfile_name(pg_switch_wal()) AS file`;
    const isArchived = async (): Promise<true | undefined> => {
      const [row] = await sql<{ last: string | null }[]>`SELECT last_archived_wal AS last FROM pg_stat_archiver`;
      return (row?.last ?? '') >= (current?.file ?? '') || undefined;
    };
    await until('the log to be archived', isArchived, ARCHIVED_WITHIN_MS);
  });
}

/** Resolves when a server that recovers accepts writes. */
export async function untilRecovered(adminUrl: string, withinMs: number): Promise<void> {
  await withSql(adminUrl, async (sql) => {
    const isOver = async (): Promise<true | undefined> => {
      const [row] = await sql<{ over: boolean }[]>`SELECT NOT pg_is_in_recovery() AS over`;
      return row?.over || undefined;
    };
    await until('the recovery to end', isOver, withinMs);
  });
}

async function withSql(url: string, work: (sql: postgres.Sql) => Promise<void>): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    await work(sql);
  } finally {
    await sql.end();
  }
}
