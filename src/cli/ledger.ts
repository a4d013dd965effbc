// `ledger …`: verify the integrity of the ledger, and list what is in transit, in reserve and in suspense. The
// commands for accountants are in accounting.ts.
import { readFile } from 'node:fs/promises';
import { SingleBar } from 'cli-progress';
import type { Command } from 'commander';
import type { Sql } from '../database/pool.ts';
import { nairaText } from '../money.ts';
import { listOpenItems } from '../verification/openItems.ts';
import { parseSeals } from '../verification/seals.ts';
import type { Finding, Verification } from '../verification/verify.ts';
import { verifyBooks } from '../verification/verifyBooks.ts';
import { addAccountingCommands } from './accounting.ts';
import { type OrganisationOptions, ofOrganisation } from './books.ts';
import { CheckpointFile } from './checkpointFile.ts';
import { addCommand, example, withDatabase } from './command.ts';
import { addDayProofCommands } from './dayProofs.ts';
import { EXIT } from './failure.ts';
import { organisationOption, wholeNumber } from './options.ts';
import { printJson, printLeftOut, printLine, printRows } from './print.ts';
import type { Settings } from './settings.ts';

/** A description of each kind of violation. */
const MEANINGS: Record<Finding['kind'], string> = {
  BOOK_UNBALANCED: 'the balances of the book do not sum to zero',
  BALANCE_MISMATCH: 'the balance is not the sum of its postings',
  RUNNING_BALANCE_MISMATCH: 'a running balance does not follow from the previous one and the posting',
  ENTRY_MISSING: 'the numbers of the entries of an account have a gap, or do not end with its last number',
  NEGATIVE_BALANCE: 'the balance is negative',
  ACCOUNT_OUTSIDE_BOOK: 'a posting references an account that is not in its book',
  TRANSACTION_OUTSIDE_BOOK: 'a posting references a transaction that is not in its book',
  TRANSACTION_EMPTY: 'a transaction has no posting',
  REVERSAL_OUTSIDE_BOOK: 'a reversal references a transaction that is not in its book',
  REVERSED_TWICE: 'a transaction was reversed more than once',
  RESOURCE_MISMATCH: 'the transactions of a resource do not match its status',
  UNEXPLAINED_TRANSACTION: 'a transaction is not one of the resource that it names',
  DECISION_MISSING: 'something was decided without proof of who decided',
  PAYMENT_MISMATCH: 'an amount of a payment is not the sum of its credits, review cases or refunds',
  REFUND_EXCEEDS_CREDIT: 'a refund began when its payment had received less that stayed',
  SEAL_MISMATCH: 'sealed history was changed',
  SEAL_MISSING: 'a seal is missing',
  BANK_BALANCE_MISMATCH: 'a clearing account is not the balance that the bank last reported',
  SHORTFALL: 'the banks hold less than what customers and the state are owed',
  DEBT_MISMATCH: 'what a wallet owes is not the balance of its receivable',
  HELD_MISMATCH: 'what is held for a wallet is not the sum of its open holds',
  SUSPENSE_MISMATCH: 'a suspense account does not hold what its open review cases and partly paid payments say',
};

/** The violations that compare amounts. */
const OF_AMOUNTS: ReadonlySet<Finding['kind']> = new Set([
  'BOOK_UNBALANCED',
  'BALANCE_MISMATCH',
  'RUNNING_BALANCE_MISMATCH',
  'NEGATIVE_BALANCE',
  'RESOURCE_MISMATCH',
  'BANK_BALANCE_MISMATCH',
  'SUSPENSE_MISMATCH',
  'SHORTFALL',
  'DEBT_MISMATCH',
  'HELD_MISMATCH',
]);

const findingText = (kind: Finding['kind'], value: string): string =>
  OF_AMOUNTS.has(kind) && /^-?\d+$/.test(value) ? nairaText(BigInt(value)) : value;

/** With fewer rows a verification takes seconds, so a log (no TTY) gets no progress lines. */
const PROGRESS_ROWS_MIN = 100_000;

export function addLedgerCommands(program: Command): void {
  const group = program.command('ledger').description('verify the ledger; open items, reports and period close');

  addCommand(
    group,
    'open-items',
    'list what is in transit, in reserve and in suspense, for which resource and since when, the oldest first',
  )
    .addHelpText('after', example('ledger open-items --json'))
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
    .addHelpText('after', example('ledger verify --json'))
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
  const file = resume === undefined ? null : new CheckpointFile(resume, databaseUrl);
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
