// `ledger …`: verify the integrity of the ledger, and list what is in transit, in reserve and in suspense. The
// commands for accountants are in accounting.ts.
import { readFile } from 'node:fs/promises';
import { SingleBar } from 'cli-progress';
import type { Sql } from '../database/pool.ts';
import { nairaText } from '../money.ts';
import { listOpenItems } from '../verification/openItems.ts';
import { parseSeals } from '../verification/seals.ts';
import { type FindingKind, MEANINGS, type Verification } from '../verification/verify.ts';
import { verifyBooks } from '../verification/verifyBooks.ts';
import { addAccountingCommands } from './accounting.ts';
import { type OrganisationOptions, ofOrganisation } from './books.ts';
import { checkpointFile } from './checkpointFile.ts';
import { addCommand, type Command, withDatabase } from './command.ts';
import { addDayProofCommands } from './dayProofs.ts';
import { EXIT } from './failure.ts';
import { organisationOption, wholeNumber } from './options.ts';
import { printJson, printLeftOut, printLine, printRows } from './print.ts';
import type { Settings } from './settings.ts';

/** The violations that compare numbers which are no amounts. */
const OF_COUNTS: ReadonlySet<FindingKind> = new Set(['ENTRY_MISSING', 'TRANSACTION_EMPTY', 'REVERSED_TWICE']);

const findingText = (kind: FindingKind, value: string): string =>
  !OF_COUNTS.has(kind) && /^-?\d+$/.test(value) ? nairaText(BigInt(value)) : value;

/** With fewer rows a verification takes seconds, so a log (no TTY) gets no progress lines. */
const PROGRESS_ROWS_MIN = 100_000;

export function addLedgerCommands(program: Command): void {
  const group = program.command('ledger').description('verify the ledger; open items, reports and period close');

  addCommand(
    group,
    'open-items',
    'list what is in transit, in reserve and in suspense, for which resource and since when, the oldest first',
  )
    .example('ledger open-items --json')
    .addOption(organisationOption('the items'))
    .action(async (options: OrganisationOptions) => {
      const { items, total } = await ofOrganisation(options, (sql, organisationId) =>
        listOpenItems(sql, organisationId, ITEMS_MAX),
      );
      const advice = 'Most flows end within minutes: see the alerts and `attention list`.';
      printLeftOut(items.length, total, 'the oldest', advice);
      printRows(
        options,
        items,
        ['since', 'environment', 'account', 'resource', 'amount'],
        'Nothing is in transit, in reserve or in suspense.',
      );
    });

  addCommand(
    group,
    'verify',
    'verify that every balance is the sum of its postings, that every book sums to zero, and that the transactions of every resource match its status; exits 1 on violations',
  )
    .example('ledger verify --json')
    .option('--seals <file>', 'seals that were published (SEAL_FILE, or the log of the worker), to compare')
    .option('--resume <file>', 'keep a checkpoint in this file, and continue from it after an interruption')
    .option('--jobs <number>', 'checks that run at once, each with its own connection', wholeNumber(99), 1)
    .action(async (options: VerifyOptions) => {
      const verification = await withDatabase(
        'application',
        (sql, settings) => runVerify(sql, settings, options),
        options.jobs,
      );
      const { books, accounts, postings, transactions, findings, truncated } = verification;
      if (findings.length > 0) process.exitCode = EXIT.failed;
      if (options.json) return printJson(verification);
      if (findings.length > 0) {
        printRows({}, findings, [
          { Violation: ({ kind }) => MEANINGS[kind] },
          'organisation',
          'environment',
          'resource',
          'account',
          'transaction',
          'posting',
          { Expected: ({ kind, expected }) => findingText(kind, expected) },
          { Found: ({ kind, found }) => findingText(kind, found) },
        ]);
      }
      const verdict =
        findings.length === 0 ? 'The ledger is ok' : `${truncated ? 'More than ' : ''}${findings.length} violations`;
      printLine(
        `${verdict}: ${books} books, ${accounts} accounts, ${transactions} transactions, ${postings} postings.`,
      );
      if (findings.length > 0) printLine('What to do: docs/operating.md, alert LedgerIntegrityViolation.');
    });
  addAccountingCommands(group);
  addDayProofCommands(group);
}

interface VerifyOptions {
  seals?: string;
  resume?: string;
  jobs: number;
  json?: true;
}

async function runVerify(
  sql: Sql,
  { databaseUrl }: Settings,
  { seals, resume, jobs }: VerifyOptions,
): Promise<Verification> {
  const publishedSeals = seals === undefined ? [] : parseSeals(await readFile(seals, 'utf8'));
  const file = resume === undefined ? null : checkpointFile(resume, databaseUrl);
  let bar: SingleBar | undefined;
  try {
    const verification = await verifyBooks(sql, {
      publishedSeals,
      jobs,
      from: file?.read() ?? null,
      onProgress: ({ done, total, checkpoint }) => {
        if (bar !== undefined) bar.update(done);
        else if (process.stderr.isTTY || total >= PROGRESS_ROWS_MIN) bar = startBar(total, done);
        file?.save(checkpoint);
      },
    });
    file?.remove();
    return verification;
  } finally {
    bar?.stop();
  }
}

/** The maximum number of items in a list; the oldest are listed first. */
const ITEMS_MAX = 1_000;

/** Progress on standard error: a bar on a terminal, else a line every five seconds. */
function startBar(total: number, done: number): SingleBar {
  const bar = new SingleBar({
    stream: process.stderr,
    format: 'verifying {bar} {percentage}% | {value} of {total} rows | {eta_formatted} remaining',
    noTTYOutput: true,
    notTTYSchedule: 5_000,
    hideCursor: true,
    etaBuffer: 50,
  });
  bar.start(total, done);
  return bar;
}
