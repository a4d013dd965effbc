// `ledger archive | restore | archives`: move the postings of a closed month to a file, put them back, and list what is
// archived. They run with the login of the owner of the database, because the service's may not delete postings.
import type { Command } from 'commander';
import type { Sql } from '../database/pool.ts';
import {
  ArchiveError,
  type ArchivePlan,
  archiveMonth,
  listArchives,
  MONTHS_KEPT,
  type Moved,
  planArchive,
  restoreMonth,
} from '../ledger/archive.ts';
import { ArchiveFileError } from '../ledger/archiveFile.ts';
import type { Month } from '../ledger/closing.ts';
import type { Book } from '../money.ts';
import { verifyBooks } from '../verification/verifyBooks.ts';
import { addBookCommand, type BookOptions, chooseBook } from './books.ts';
import { addCommand, organisationOption, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { chooseOrganisation } from './organisations.ts';
import { printJson, printLine, printTable, timeText } from './print.ts';
import { type SignedCommand, signIn } from './signIn.ts';

interface ArchiveOptions extends BookOptions {
  folder: string;
}

/** Checks that run at once before an archive. */
const JOBS = 2;

export function addArchiveCommands(group: Command): void {
  const addMove = (usage: string, description: string): Command =>
    addBookCommand(
      group,
      `${usage} <month>`,
      description,
      `${usage} 2026-01 --environment live --folder /archive`,
    ).requiredOption('--folder <path>', 'where the files of archives are');

  addMove('archive', 'move the postings of a closed month to a file; repeat it after an interruption').action(
    async (month: Month, options: ArchiveOptions) => {
      const moved = await move('ledger archive', month, options, async (sql, book, operator) => {
        const plan = await planArchive(sql, book, month);
        requireArchivable(month, plan);
        if (plan.outcome === 'empty') return { changed: false as const };
        if (plan.outcome === 'ready') await requireVerified(sql, book);
        return await archiveMonth(sql, book, month, options.folder, operator);
      });
      printMoved(
        month,
        options,
        moved,
        `The postings of ${month} are archived`,
        `There is nothing of ${month} to archive`,
      );
    },
  );
  addMove('restore', 'put the postings of an archived month back; repeat it after an interruption').action(
    async (month: Month, options: ArchiveOptions) => {
      const moved = await move('ledger restore', month, options, (sql, book, operator) =>
        restoreMonth(sql, book, month, options.folder, operator),
      );
      printMoved(month, options, moved, `The postings of ${month} are restored`, `${month} is not archived`);
    },
  );
  addList(group);
}

const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/;

/** Signs in, and turns what stands in the way into the error of a command. */
async function move<Result>(
  command: SignedCommand,
  month: Month,
  options: ArchiveOptions,
  work: (sql: Sql, book: Book, operator: Awaited<ReturnType<typeof signIn>>) => Promise<Result>,
): Promise<Result> {
  if (!MONTH.test(month)) throw new CommandError(`${month} is not a month. Write it as 2026-11.`, EXIT.usage);
  try {
    return await withDatabase(
      'owner',
      async (sql, settings) => {
        const operator = await signIn(sql, settings, command);
        return await work(sql, await chooseBook(sql, settings, options), operator);
      },
      JOBS,
    );
  } catch (error) {
    if (error instanceof ArchiveError || error instanceof ArchiveFileError) throw new CommandError(error.message);
    throw error;
  }
}

/** Throws an error that says why the month is not archived and what to do. */
function requireArchivable(month: Month, { outcome, nextPeriod }: ArchivePlan): void {
  switch (outcome) {
    case 'ready':
    case 'begun':
    case 'archived':
    case 'empty':
      return;
    case 'not_closed':
      throw new CommandError(`The period ${month} is not closed. First: npm run cli -- ledger close-period ${month}`);
    case 'too_recent':
      throw new CommandError(
        `${month} stays in the database until ${MONTHS_KEPT} months after its end: transfers that are returned late need it.`,
      );
    case 'not_next':
      throw new CommandError(`Months are archived in their order. First: npm run cli -- ledger archive ${nextPeriod}`);
    case 'unsealed':
      throw new CommandError(
        `${month} has postings that are not sealed yet. Workers seal every few minutes: see docs/operating.md, alert LedgerNotSealed.`,
      );
  }
}

/** What is archived is no longer compared with its resources, so it is compared before. */
async function requireVerified(sql: Sql, { organisationId }: Book): Promise<void> {
  const { findings } = await verifyBooks(sql, { only: organisationId, jobs: JOBS });
  if (findings.length === 0) return;
  throw new CommandError(
    `The ledger has ${findings.length} violations; nothing was archived. See: npm run cli -- ledger verify`,
  );
}

function printMoved(
  month: Month,
  { json, environment }: ArchiveOptions,
  moved: Moved | { changed: false },
  done: string,
  nothing: string,
): void {
  const files = 'files' in moved ? moved.files : null;
  if (json) {
    const of = files && { file: files.file, manifest: files.manifestFile, postings: files.manifest.postings };
    printJson({ period: month, environment, changed: moved.changed, ...of });
  } else if (files === null) {
    printLine(`${nothing}.`);
  } else {
    printLine(`${done}: ${files.manifest.postings} postings, ${files.file}, manifest ${files.manifestFile}.`);
  }
}

function addList(group: Command): void {
  addCommand(group, 'archives', 'list what is archived, and compare its files', 'ledger archives --folder /archive')
    .addOption(organisationOption('the archives'))
    .option('--folder <path>', 'compare the files in this folder; exits 1 when one is missing or was changed')
    .action(async (options: { organisation?: string; folder?: string; json?: true }) => {
      const archives = await withDatabase('application', async (sql, settings) =>
        listArchives(sql, await chooseOrganisation(sql, settings, options.organisation), options.folder ?? null),
      );
      if (archives.some(({ files }) => files !== null && files.damage !== null)) process.exitCode = EXIT.failed;
      if (options.json) return printJson(archives);
      printTable(
        ['Book', 'Month', 'Postings', 'Moved', 'Archived until (UTC)', 'Files'],
        archives.map(({ environment, period, postings, moved, archivedUntil, files }) => [
          environment,
          period,
          String(postings),
          String(moved),
          timeText(archivedUntil),
          files === null ? '-' : (files.damage ?? 'unchanged'),
        ]),
        'Nothing is archived.',
      );
    });
}
