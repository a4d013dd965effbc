// `ledger sweep-fees`: move fee income to the settlement wallet.
import type { Command } from 'commander';
import { publicId } from '../ids.ts';
import { Journal } from '../ledger/journal.ts';
import { type Kobo, nairaText } from '../money.ts';
import { type SweepOutcome, sweepFees } from '../resources/feeSweeps/sweep.ts';
import { addBookCommand, type BookOptions, chooseBook } from './books.ts';
import { withDatabase } from './command.ts';
import { CommandError } from './failure.ts';
import { wholeNumber } from './options.ts';
import { printJson, printLine } from './print.ts';
import { signIn } from './signIn.ts';

/** In kobo: the largest amount with 15 digits. */
const AMOUNT_MAX = 999_999_999_999_999;

export function addSweepFees(group: Command): void {
  addBookCommand(
    group,
    'sweep-fees',
    'move fee income to the settlement wallet; a key is swept once',
    'sweep-fees --environment live --key november',
  )
    .option('--amount <kobo>', 'the amount in kobo (default: all of the income)', wholeNumber(AMOUNT_MAX, ' of kobo'))
    .option('--key <text>', 'a name for the sweep (default: the date, so a repeat on the same day sweeps nothing)')
    .action(async (options: BookOptions & { amount?: Kobo; key?: string }) => {
      const { key = new Date().toISOString().slice(0, 'YYYY-MM-DD'.length), amount } = options;
      const outcome = await withDatabase('application', async (sql, settings) => {
        const operator = await signIn(sql, settings, 'ledger sweep-fees');
        const book = await chooseBook(sql, settings, options);
        return await sweepFees(sql, new Journal(sql), book, { key, amount, operatorId: operator.id });
      });
      const sweep = requireSwept(outcome);
      const changed = outcome.outcome === 'swept';
      const [id, wallet] = [publicId('feeSweep', sweep.id), publicId('wallet', sweep.walletId)];
      if (options.json) return printJson({ id, key, walletId: wallet, amount: sweep.amount, changed });
      printLine(
        changed
          ? `Swept ${nairaText(sweep.amount)} to the settlement wallet ${wallet} (${id}).`
          : `${nairaText(sweep.amount)} was already swept with the key ${key}. To sweep more, give another --key.`,
      );
    });
}

/** Throws an error that says why nothing was swept and what to do. */
function requireSwept(outcome: SweepOutcome) {
  switch (outcome.outcome) {
    case 'swept':
    case 'unchanged':
      return outcome.sweep;
    case 'too_much':
      throw new CommandError(`The fee income is ${nairaText(outcome.income)}. Sweep at most that, if it is positive.`);
    case 'refused':
      throw new CommandError(
        `The settlement wallet refused the money (${outcome.code}). See: npm run cli -- organisations list, then wallets show ID`,
      );
  }
}
