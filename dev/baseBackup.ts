// A base backup of the embedded Postgres. The package has no pg_basebackup, so its files are copied while the server is
// in backup mode, as Postgres's manual describes it ("Making a Base Backup Using the Low Level API").
import { chownSync, cpSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type postgres from 'postgres';
import type { PostgresFiles } from './postgresFiles.ts';

/** What a base backup leaves out: the log, which is streamed or archived, and what belongs to the running server. */
const LEFT_OUT =
  /^(pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\/.|^postmaster\.|^(standby|recovery)\.signal$/;

/**
 * Copies the files of a running server. `use`: the copy becomes a standby of it, or is recovered from an archive to a
 * point in time.
 */
export async function copyFiles(
  sql: postgres.Sql,
  from: string,
  { folder, account }: PostgresFiles,
  use: 'standby' | 'recovery',
): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  await sql`SELECT pg_backup_start('copy', fast => true)`;
  cpSync(from, folder, {
    recursive: true,
    filter: (source) => !LEFT_OUT.test(path.relative(from, source)),
  });
  const [backup] = await sql<{ labelfile: string }[]>`SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)`;
  mkdirSync(path.join(folder, 'pg_wal', 'archive_status'), { recursive: true });
  writeFileSync(path.join(folder, 'backup_label'), backup?.labelfile ?? '');
  writeFileSync(path.join(folder, `${use}.signal`), '');
  if (account === undefined) return;
  chownSync(folder, account.uid, account.gid);
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    chownSync(path.join(folder, name), account.uid, account.gid);
  }
}
