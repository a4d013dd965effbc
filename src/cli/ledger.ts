// `ledger …`: prove that the books are whole.
import { SingleBar } from 'cli-progress';
import type { Command } from 'commander';
import { type Finding, type Progress, verifyLedger } from '../ledger/verify.ts';
import { addCommand, withDatabase } from './command.ts';
import { EXIT } from './failure.ts';
import { printJson, printLine, printTable } from './print.ts';

/** What each finding means, in the words of the person who reads it. */
const MEANINGS: Record<Finding['kind'], string> = {
  BOOK_UNBALANCED: 'the balances of the book do not add up to zero',
  BALANCE_MISMATCH: 'the balance is not the sum of its postings',
  RUNNING_BALANCE_MISMATCH: 'a balance after a posting does not follow from the one before',
  NEGATIVE_BALANCE: 'the balance is below zero',
  ACCOUNT_OUTSIDE_BOOK: 'a posting names an account that is not in its book',
  TRANSACTION_OUTSIDE_BOOK: 'a posting names a transaction that is not in its book',
  TRANSACTION_EMPTY: 'a transaction has no posting',
  REVERSAL_OUTSIDE_BOOK: 'a reversal names a transaction that is not in its book',
  REVERSED_TWICE: 'a transaction was reversed more than once',
};

/** Below this many rows a verification takes a moment, and a bar in a log is noise. */
const LARGE = 100_000;

export function addLedgerCommands(program: Command): void {
  const group = program.command('ledger').description('look after the books');

  addCommand(
    group,
    'verify',
    'prove that every balance equals its postings and every book adds up to zero; exits 1 on any finding',
    'ledger verify --json',
  ).action(async (options: { json?: true }) => {
    const verification = await withDatabase('owner', (sql) => {
      const bar = new Bar();
      return verifyLedger(sql, { onProgress: (progress) => bar.show(progress) }).finally(() => bar.stop());
    });
    const { books, accounts, postings, transactions, findings, truncated } = verification;
    if (findings.length > 0) process.exitCode = EXIT.failed;
    if (options.json) {
      printJson(verification);
      return;
    }
    if (findings.length > 0) {
      printTable(
        ['Finding', 'Organisation', 'Book', 'Account', 'Transaction', 'Posting', 'Expected', 'Found'],
        findings.map((finding) => [
          MEANINGS[finding.kind],
          finding.organisation,
          finding.environment,
          finding.account ?? '-',
          finding.transaction ?? '-',
          finding.posting ?? '-',
          finding.expected,
          finding.found,
        ]),
        '',
      );
    }
    const verdict =
      findings.length === 0 ? 'The books are whole' : `${truncated ? 'More than ' : ''}${findings.length} findings`;
    printLine(`${verdict}: ${books} books, ${accounts} accounts, ${transactions} transactions, ${postings} postings.`);
  });
}

/** A progress bar on standard error: always on a terminal, and as a line every few seconds in the log of a large ledger. */
class Bar {
  #bar: SingleBar | undefined;

  show({ done, total }: Progress): void {
    if (!process.stderr.isTTY && total < LARGE) return;
    if (this.#bar === undefined) {
      this.#bar = new SingleBar({
        stream: process.stderr,
        format: 'verifying {bar} {percentage}% | {value} of {total} rows | {eta_formatted} left',
        noTTYOutput: true,
        notTTYSchedule: 5_000,
        hideCursor: true,
        etaBuffer: 50,
      });
      this.#bar.start(total, done);
    } else {
      this.#bar.update(done);
    }
  }

  stop(): void {
    this.#bar?.stop();
  }
}
