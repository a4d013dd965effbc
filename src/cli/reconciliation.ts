// `reconciliation …`: compare the rails' statements, or one in a file, with the ledger now, and show the reports.
import { readFileSync } from 'node:fs';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { readDatabaseTime } from '../database/clock.ts';
import { publicId } from '../ids.ts';
import { Journal } from '../ledger/journal.ts';
import type { AuditRow } from '../ledger/movement.ts';
import type { Environment } from '../money.ts';
import { listReports } from '../reconciliation/queries.ts';
import { type ImportedStatement, reconcileImported } from '../reconciliation/reconcile.ts';
import {
  CSV_HEADER,
  parseCamt053,
  parseCsvStatement,
  type StatementFile,
  StatementFileError,
} from '../reconciliation/statementFile.ts';
import type { Reconciled } from '../workflows/maintenance/messages.ts';
import { addCommand, environmentOption, organisationOption, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { periodOf, time, wholeNumber } from './options.ts';
import { chooseOrganisation } from './organisations.ts';
import { moneyText, printJson, printLeftOut, printLine, printRows, timeText } from './print.ts';
import { signIn } from './signIn.ts';
import { runMaintenance } from './temporal.ts';

const REPORTS_DEFAULT = 30;

export function addReconciliationCommands(program: Command): void {
  const group = program.command('reconciliation').description("compare the rails' statements with the ledger");

  addCommand(
    group,
    'run',
    'run a reconciliation now, on a worker: of each book from where it is reconciled to until now, or of a period; exits 1 when there are breaks, or a bank fails',
    'reconciliation run --from 2026-01-01 --to 2026-01-02',
  )
    .option('--from <time>', 'start of a period, ISO 8601 (default: 24 hours before its end)', time)
    .option('--to <time>', 'end of a period, ISO 8601 (default: now)', time)
    .action(async (options: { from?: Date; to?: Date; json?: true }) => {
      const input = periodOf(options);
      const reconciled = await runMaintenance<Reconciled>('reconciliation', input);
      if (reconciled.breaks + reconciled.failed > 0) process.exitCode = EXIT.failed;
      if (options.json) return printJson({ ...input, ...reconciled });
      const { breaks, opened, books, lines, failed } = reconciled;
      printLine(`${breaks} breaks in ${books} books and ${lines} lines; ${opened} new review cases.`);
      if (failed > 0)
        printLine(`The bank of ${failed} books failed: the worker's log has the reason. Run it again later.`);
      if (breaks > 0) printLine('List the breaks: npm run cli -- reconciliation show');
    });

  addCommand(
    group,
    'import <file>',
    `compare a book with a statement in a file, for a bank without an API: CSV with the header \`${CSV_HEADER.join(',')}\` (amounts in kobo; a row of the kind closing_balance for the balance), or camt.053; a wrong file changes nothing; exits 1 when there are breaks`,
    'reconciliation import statement.csv --rail providus --environment live',
  )
    .requiredOption('--rail <name>', 'the bank: its clearing account is clearing:<name>', railName)
    .addOption(environmentOption('the book').makeOptionMandatory())
    .addOption(organisationOption('the book'))
    .addOption(new Option('--format <name>', 'default: by the name of the file').choices(['csv', 'camt.053']))
    .option('--from <time>', 'start of the statement, ISO 8601 (default: its first line)', time)
    .option('--to <time>', 'end of the statement, ISO 8601 (default: the time of its balance, or its last line)', time)
    .action(async (file: string, options: ImportOptions) => {
      const { result, statement } = await withDatabase('application', async (sql, settings) => {
        const operator = await signIn(sql, settings, 'reconciliation import');
        const imported = readStatement(file, options);
        const organisationId = await chooseOrganisation(sql, settings, options.organisation);
        const book = { organisationId, environment: options.environment };
        const compared = { book, rail: options.rail };
        const journal = new Journal(sql);
        const audit: AuditRow = {
          operatorId: operator.id,
          action: 'reconciliation.import',
          subject: options.rail,
          reason: null,
        };
        await journal.post({ book, rows: { audit_log: [audit] } });
        const now = (await readDatabaseTime(sql)).getTime();
        return {
          statement: imported,
          result: await reconcileImported({ sql, journal }, compared, imported, now),
        };
      });
      if (result.breaks > 0) process.exitCode = EXIT.failed;
      if (options.json) return printJson({ ...statement.period, ...result });
      const { lines, breaks, opened, waiting, gap } = result;
      printLine(`${breaks} breaks in ${lines} lines; ${opened} new review cases.`);
      if (breaks > 0) printLine('List the breaks: npm run cli -- reconciliation show');
      if (waiting !== null) {
        printLine(
          `Lines from ${timeText(waiting)} on wait for flows in progress: import them again when these have ended.`,
        );
      }
      if (gap !== null)
        printLine(`Import the statement from ${timeText(gap)} to ${timeText(statement.period.from)} too.`);
    });

  addCommand(group, 'show', 'show the newest reports and their breaks', 'reconciliation show --limit 100 --json')
    .option('--limit <number>', 'the maximum number of reports', wholeNumber(999_999), REPORTS_DEFAULT)
    .action(async (options: { limit: number; json?: true }) => {
      const { reports, total } = await withDatabase('application', (sql) => listReports(sql, options.limit));
      printLeftOut(reports.length, total, 'the newest', 'See more with --limit.');
      const breaks = reports.flatMap((report) => report.breaks);
      const breakTotal = reports.reduce((sum, report) => sum + report.breakCount, 0);
      printLeftOut(
        breaks.length,
        breakTotal,
        'breaks listed in these reports',
        'Each has a review case: npm run cli -- reviews list',
      );
      printRows(
        options,
        reports.map(({ organisationId, ...report }) => ({
          ...report,
          organisation: publicId('organisation', organisationId),
        })),
        {
          'Created (UTC)': (row) => timeText(row.createdAt),
          Organisation: (row) => row.organisation,
          Book: (row) => row.environment,
          Rail: (row) => row.rail,
          From: (row) => timeText(row.periodFrom),
          To: (row) => timeText(row.periodTo),
          Lines: (row) => String(row.lineCount),
          Breaks: (row) => String(row.breakCount),
        },
        'There is no reconciliation report yet. Create one: npm run cli -- reconciliation run',
      );
      if (breaks.length === 0 || options.json) return;
      printRows(
        options,
        breaks,
        {
          Break: (row) => row.kind,
          Line: (row) => row.line,
          Reference: (row) => row.reference,
          Ledger: (row) => moneyText(row.ledgerAmount),
          Statement: (row) => moneyText(row.statementAmount),
          'At (UTC)': (row) => timeText(new Date(row.at)),
        },
        '',
      );
    });
}

interface ImportOptions {
  rail: string;
  environment: Environment;
  organisation?: string;
  format?: 'csv' | 'camt.053';
  from?: Date;
  to?: Date;
  json?: true;
}

/** Reads the whole file before anything is changed. */
function readStatement(file: string, options: ImportOptions): ImportedStatement {
  const format = options.format ?? (file.endsWith('.xml') ? 'camt.053' : 'csv');
  const { lines, closing } = parseFile(file, format);
  const times = lines.map(({ at }) => at.getTime());
  const from = options.from ?? new Date(times.reduce((one, other) => Math.min(one, other), Infinity));
  const to = options.to ?? closing?.at ?? new Date(times.reduce((one, other) => Math.max(one, other), -Infinity) + 1);
  if (!(from < to)) throw new CommandError('The statement has no period. Add --from and --to.');
  if (to.getTime() > Date.now()) throw new CommandError('The statement ends in the future. Correct its time, or --to.');
  const outside = lines.find(({ at }) => at < from || at >= to);
  if (outside !== undefined) {
    throw new CommandError(
      `${file}: the line ${outside.reference} is outside of the statement. Correct --from or --to.`,
    );
  }
  return { period: { from, to }, lines, closingBalance: closing?.balance ?? null };
}

function parseFile(file: string, format: 'csv' | 'camt.053'): StatementFile {
  try {
    const text = readFileSync(file, 'utf8');
    return format === 'csv' ? parseCsvStatement(text) : parseCamt053(text);
  } catch (error) {
    const isExpected = error instanceof StatementFileError || (error as { code?: unknown }).code !== undefined;
    if (!isExpected) throw error;
    throw new CommandError(`${file}: ${(error as Error).message}. Nothing was imported.`);
  }
}

function railName(text: string): string {
  if (!/^[a-z0-9_]{1,40}$/.test(text)) throw new InvalidArgumentError('It must be lower-case letters, digits or _.');
  return text;
}
