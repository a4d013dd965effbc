// `reconciliation …`: compare the rails' statements with the ledger now, and show the reports.
import { randomUUID } from 'node:crypto';
import { type Command, InvalidArgumentError } from 'commander';
import { publicId } from '../ids.ts';
import { listReports } from '../reconciliation/queries.ts';
import type { Reconciled, ReconciliationInput } from '../workflows/reconciliation/messages.ts';
import { addCommand, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { printJson, printLeftOut, printLine, printTable, timeText } from './print.ts';
import { withTemporal } from './temporal.ts';

const REPORTS_DEFAULT = 30;
const DAY_MS = 86_400_000;

export function addReconciliationCommands(program: Command): void {
  const group = program.command('reconciliation').description("compare the rails' statements with the ledger");

  addCommand(
    group,
    'run',
    'run a reconciliation now, on a worker: of each book from where it is reconciled to until now, or of a period; exits 1 when there are breaks, or a bank fails',
    'reconciliation run --from 2026-01-01 --to 2026-01-02',
  )
    .option('--from <time>', 'start of a period, ISO 8601 (default: 24 hours before its end)')
    .option('--to <time>', 'end of a period, ISO 8601 (default: now)')
    .action(async (options: { from?: string; to?: string; json?: true }) => {
      const input = periodOf(options);
      const reconciled = await withTemporal(
        async (client): Promise<Reconciled> =>
          await client.workflow.execute('reconciliation', {
            taskQueue: process.env.TEMPORAL_TASK_QUEUE || 'manilla',
            workflowId: `reconciliation-${randomUUID()}`,
            args: [input],
          }),
      );
      if (reconciled.breaks + reconciled.failed > 0) process.exitCode = EXIT.failed;
      if (options.json) return printJson({ ...input, ...reconciled });
      const { breaks, opened, books, lines, failed } = reconciled;
      printLine(`${breaks} breaks in ${books} books and ${lines} lines; ${opened} new review cases.`);
      if (failed > 0)
        printLine(`The bank of ${failed} books failed: the worker's log has the reason. Run it again later.`);
      if (breaks > 0) printLine('List the breaks: npm run cli -- reconciliation show');
    });

  addCommand(group, 'show', 'show the newest reports and their breaks', 'reconciliation show --limit 100 --json')
    .option('--limit <number>', 'the maximum number of reports', positive, REPORTS_DEFAULT)
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
      if (options.json) {
        printJson(
          reports.map(({ organisationId, ...report }) => ({
            ...report,
            organisation: publicId('organisation', organisationId),
          })),
        );
        return;
      }
      printTable(
        ['Created (UTC)', 'Organisation', 'Book', 'Rail', 'From', 'To', 'Lines', 'Breaks'],
        reports.map((report) => [
          timeText(report.createdAt),
          publicId('organisation', report.organisationId),
          report.environment,
          report.rail,
          timeText(report.periodFrom),
          timeText(report.periodTo),
          String(report.lineCount),
          String(report.breakCount),
        ]),
        'There is no reconciliation report yet. Create one: npm run cli -- reconciliation run',
      );
      if (breaks.length === 0) return;
      printTable(
        ['Break', 'Line', 'Reference', 'Ledger (kobo)', 'Statement (kobo)', 'At (UTC)'],
        breaks.map(({ kind, line, reference, ledgerAmount, statementAmount, at }) => [
          kind,
          line,
          reference,
          String(ledgerAmount ?? '-'),
          String(statementAmount ?? '-'),
          timeText(new Date(at)),
        ]),
        '',
      );
    });
}

/** The period of the options; null without any. */
function periodOf(options: { from?: string; to?: string }): ReconciliationInput | null {
  if (options.from === undefined && options.to === undefined) return null;
  const to = readTime(options.to) ?? new Date();
  const from = readTime(options.from) ?? new Date(to.getTime() - DAY_MS);
  return { from: from.toISOString(), to: to.toISOString() };
}

function positive(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number, 1 to 999999.');
  return Number(text);
}

function readTime(text: string | undefined): Date | null {
  if (text === undefined) return null;
  const time = new Date(text);
  if (Number.isNaN(time.getTime()))
    throw new CommandError(`${text} is not a valid time. Write it as 2026-01-31T12:00:00Z.`);
  return time;
}
