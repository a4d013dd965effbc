// Archives: a closed month of a book is written to a file, and its postings are moved out of the database; or back. The
// statements are in src/ledger/sql/archive.sql, the file in archiveFile.ts, the reasons in docs/decisions/0058.
import type { Sql } from '../database/pool.ts';
import { publicId, type Uuid } from '../ids.ts';
import type { Book, Environment } from '../money.ts';
import { ArchiveFileError, type ArchiveFiles, checkArchive, readSeals, writeArchive } from './archiveFile.ts';
import type { Month } from './closing.ts';

/** Months after its end before a month may be archived: what is returned or repeated late finds its postings. */
export const MONTHS_KEPT = 3;

/** Postings that a statement moves: about a second. */
const POSTINGS_MAX = 20_000;

/** What the archive of a month holds, or why there is none. */
export interface ArchivePlan {
  /** As `ledger.plan_archive` describes them. */
  outcome: 'ready' | 'begun' | 'archived' | 'not_closed' | 'too_recent' | 'unsealed' | 'not_next' | 'empty';
  /** The month that comes first; null when nothing is sealed. */
  nextPeriod: Month | null;
  firstSeal: number;
  /** Null when the month has none. */
  lastSeal: number | null;
  sealedUntil: Date | null;
  postings: number;
}

interface PlanRow extends ArchivePlan {
  /** Kobo, as text. */
  amount: string;
  digestBefore: Buffer | null;
  digest: Buffer | null;
}

/** Who archives or restores. */
export interface Deciding {
  id: Uuid;
  name: string;
}

/** What was moved. `changed`: false when it was complete before. */
export interface Moved {
  changed: boolean;
  files: ArchiveFiles;
  postings: number;
}

/** What stands in the way of an archive or restore; the message says what to do. */
export class ArchiveError extends Error {
  override readonly name = 'ArchiveError';
}

/** What the archive of a month would hold. */
export async function planArchive(owner: Sql, book: Book, month: Month): Promise<ArchivePlan> {
  const { amount: _amount, digestBefore: _before, digest: _digest, ...plan } = await readPlan(owner, book, month);
  return plan;
}

async function readPlan(owner: Sql, { organisationId, environment }: Book, month: Month): Promise<PlanRow> {
  const [row] = await owner<PlanRow[]>`
    SELECT outcome, to_char(next_period, 'YYYY-MM') AS next_period, first_seal, last_seal, sealed_until,
           coalesce(posting_count, 0) AS postings, coalesce(amount, 0)::text AS amount, digest_before, digest
    FROM ledger.plan_archive(${organisationId}, ${environment}, ${`${month}-01`}::date, ${MONTHS_KEPT})`;
  if (row === undefined) throw new Error('ledger.plan_archive returned no row');
  return row;
}

/**
 * Writes the file of a month, and moves its postings out of the database. It may be interrupted anywhere; the next call
 * continues. `advance` is called after each statement. The plan must be `ready`, `begun` or `archived`; throws an
 * ArchiveError when a posting is not what its seal says, or a file that postings were moved to has changed.
 */
export async function archiveMonth(
  owner: Sql,
  book: Book,
  month: Month,
  folder: string,
  operator: Deciding,
  { advance = () => {}, postingsMax = POSTINGS_MAX }: { advance?: (moved: number) => void; postingsMax?: number } = {},
): Promise<Moved> {
  const plan = await readPlan(owner, book, month);
  const { organisationId, environment } = book;
  const [known] = await owner<{ manifestDigest: Buffer; hasMoved: boolean }[]>`
    SELECT manifest_digest, archived_seal >= first_seal AS has_moved FROM ledger.archives
    WHERE organisation_id = ${organisationId} AND environment = ${environment} AND period = ${`${month}-01`}::date`;
  let files: ArchiveFiles;
  if (known?.hasMoved) {
    files = await checkArchive(folder, nameOf(book, month), known.manifestDigest);
  } else {
    files = await writeFile(owner, book, month, folder, plan, advance);
    await owner`
      SELECT ledger.begin_archive(${organisationId}, ${environment}, ${`${month}-01`}::date, ${MONTHS_KEPT},
                                  ${files.manifestDigest}, ${operator.id}, ${operator.name})`;
  }
  const changed = plan.outcome !== 'archived';
  for (let isMore = changed; isMore; advance(postingsMax)) {
    const [row] = await owner<{ isMore: boolean }[]>`
      SELECT ledger.move_to_archive(${organisationId}, ${environment}, ${`${month}-01`}::date, ${postingsMax}) AS is_more`;
    isMore = row?.isMore ?? false;
  }
  return { changed, files, postings: files.manifest.postings };
}

/**
 * Writes the file from the newest seal to the oldest: so a restore, which puts the newest back first, reads it once.
 */
async function writeFile(
  owner: Sql,
  book: Book,
  month: Month,
  folder: string,
  plan: PlanRow,
  advance: (read: number) => void,
): Promise<ArchiveFiles> {
  const { organisationId, environment } = book;
  const { firstSeal, lastSeal, sealedUntil, digest } = plan;
  if (lastSeal === null || sealedUntil === null || digest === null) throw new Error(`${month} has no seals`);
  const openings = await owner<{ account: string; id: string; balance: string; entries: string }[]>`
    SELECT a.code AS account, a.id::text, b.balance::text, b.entries::text FROM ledger.archived_balances b
    JOIN ledger.accounts a ON a.organisation_id = b.organisation_id AND a.id = b.account_id
    WHERE b.organisation_id = ${organisationId} AND b.environment = ${environment}`;
  async function* seals(): AsyncGenerator<string> {
    for (let seal = lastSeal ?? 0; seal >= firstSeal; seal -= 1) {
      const [row] = await owner<{ lines: string | null; isIntact: boolean }[]>`
        SELECT lines, is_intact FROM ledger.archive_lines(${organisationId}, ${environment}, ${seal})`;
      if (row?.lines === null || row?.lines === undefined || !row.isIntact) {
        throw new ArchiveError(
          `Seal ${seal} of this book does not match its postings. Run: npm run cli -- ledger verify`,
        );
      }
      yield row.lines;
      advance(row.lines.length);
    }
  }
  return await writeArchive(folder, nameOf(book, month), {
    head: {
      organisation: publicId('organisation', organisationId),
      environment,
      period: month,
      seals: {
        first: firstSeal,
        last: lastSeal,
        until: sealedUntil.toISOString(),
        digestBefore: plan.digestBefore?.toString('hex') ?? null,
        digest: digest.toString('hex'),
      },
      amount: plan.amount,
    },
    openings: new Map(openings.map(({ account, ...opening }) => [account, opening])),
    seals: seals(),
  });
}

/**
 * Puts the postings of the file of a month back. The file is compared with its manifest and the manifest with the
 * database before, and what is put back with the seals. It may be interrupted anywhere; the next call continues.
 * Throws an ArchiveError when the month is not the last one that is archived, or a file has changed.
 */
export async function restoreMonth(
  owner: Sql,
  book: Book,
  month: Month,
  folder: string,
  operator: Deciding,
  { advance = () => {}, postingsMax = POSTINGS_MAX }: { advance?: (moved: number) => void; postingsMax?: number } = {},
): Promise<Moved | { changed: false }> {
  const { organisationId, environment } = book;
  const archives = await owner<{ period: Month; manifestDigest: Buffer; archivedSeal: number }[]>`
    SELECT to_char(period, 'YYYY-MM') AS period, manifest_digest, archived_seal FROM ledger.archives
    WHERE organisation_id = ${organisationId} AND environment = ${environment} ORDER BY period DESC`;
  const archive = archives.find(({ period }) => period === month);
  if (archive === undefined) return { changed: false };
  const [last] = archives;
  if (last !== undefined && last !== archive) {
    throw new ArchiveError(
      `Months are restored from the last one back. First: npm run cli -- ledger restore ${last.period}`,
    );
  }
  const files = await checkArchive(folder, nameOf(book, month), archive.manifestDigest);
  await owner`
    SELECT ledger.begin_restore(${organisationId}, ${environment}, ${`${month}-01`}::date, ${operator.id}, ${operator.name})`;
  for await (const { first, lines } of readSeals(files.file, archive.archivedSeal, postingsMax)) {
    await owner`
      SELECT ledger.move_from_archive(${organisationId}, ${environment}, ${`${month}-01`}::date, ${first},
                                      ${`[${lines.join(',')}]`}::text::jsonb)`;
    advance(lines.length);
  }
  return { changed: true, files, postings: files.manifest.postings };
}

const nameOf = ({ organisationId, environment }: Book, month: Month): string =>
  `${publicId('organisation', organisationId)}-${environment}-${month}`;

/** An archive that the database knows, and how its files are. */
export interface ListedArchive {
  environment: Environment;
  period: Month;
  postings: number;
  /** Of `postings`; fewer while it is on its way to the file or back. */
  moved: number;
  archivedUntil: Date;
  /** Without a folder: null. `damage`: what is wrong with its files. */
  files: { damage: string | null } | null;
}

/** The archives of an organisation, by book and month; with a folder, each compared with its files there. */
export async function listArchives(sql: Sql, organisationId: Uuid, folder: string | null): Promise<ListedArchive[]> {
  const rows = await sql<(Omit<ListedArchive, 'files'> & { manifestDigest: Buffer })[]>`
    SELECT environment, to_char(period, 'YYYY-MM') AS period, posting_count AS postings, moved_postings AS moved, archived_until,
           manifest_digest
    FROM ledger.archives WHERE organisation_id = ${organisationId} ORDER BY environment, period`;
  const listed: ListedArchive[] = [];
  for (const { manifestDigest, ...archive } of rows) {
    const name = nameOf({ organisationId, environment: archive.environment }, archive.period);
    listed.push({
      ...archive,
      files: folder === null ? null : { damage: await damageOf(folder, name, manifestDigest) },
    });
  }
  return listed;
}

async function damageOf(folder: string, name: string, manifestDigest: Buffer): Promise<string | null> {
  try {
    await checkArchive(folder, name, manifestDigest);
    return null;
  } catch (error) {
    if (error instanceof ArchiveFileError) return error.message;
    throw error;
  }
}
