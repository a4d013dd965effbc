// `wallets …`: freeze, unfreeze and close a wallet, show its balance, debt, money in flight and audit log, and end its
// debt.
import type { Uuid } from '../ids.ts';
import { type AccountCode, OPERATING_LOSS, walletReceivable } from '../ledger/chart.ts';
import { Journal } from '../ledger/journal.ts';
import { AMOUNT_MAX, CURRENCY, type Kobo, nairaText } from '../money.ts';
import { requestAdjustment } from '../resources/adjustments/request.ts';
import type { Wallet } from '../resources/wallets/queries.ts';
import { type InFlight, reportWallet, type StatusChange, setWalletStatus } from '../resources/wallets/status.ts';
import { printRequested, type RequestOptions } from './adjustments.ts';
import { inOrganisation, notInOrganisation, type OrganisationOptions, requireId } from './books.ts';
import { addCommand, type Command } from './command.ts';
import { CommandError } from './failure.ts';
import { evidenceOption, matching, organisationOption, reasonOption, wholeNumber } from './options.ts';
import { printAudit, printFields, printJson, printResult } from './print.ts';

/** Accounts with money at a bank. */
const BANK_ACCOUNT = /^(clearing|float|settlement):[a-z0-9_]+$/;
const BANK_ADVICE = 'It must be an account with money at a bank, such as settlement:bank or clearing:bank.';

export function addWalletCommands(program: Command): void {
  const group = program.command('wallets').description('show, freeze, unfreeze and close wallets');

  addCommand(group, 'show <id>', 'show a wallet, its money in flight and its audit log')
    .example('wallets show svc_01k5…_wlt')
    .addOption(organisationOption('the wallet'))
    .action(async (id: string, options: OrganisationOptions) => {
      const report = await inOrganisation('wallets show', options, (sql, organisationId) =>
        reportWallet(sql, organisationId, requireWalletId(id)),
      );
      if (report === null) throw notInOrganisation(`wallet ${id}`);
      const { wallet, environment, inFlight, audit } = report;
      const { kind, status, kycStatus, externalReference, balance, heldBalance, amountOwed, createdAt } = wallet;
      const money = { balance, heldBalance, amountOwed, currency: CURRENCY };
      const view = { kind, environment, status, kycStatus, externalReference, ...money, createdAt };
      if (options.json) return printJson({ id, ...view, inFlight, audit });
      printFields('Wallet', id, { ...view, inFlight: inFlightText(inFlight) || 'nothing' });
      printAudit(audit, 'No operator has changed it.');
    });
  addChange(
    group,
    'freeze',
    'frozen',
    'block all movements of a wallet at once; it can still be read',
    'reported stolen',
  );
  addChange(group, 'unfreeze', 'active', 'allow movements of a frozen wallet again', 'owner confirmed');
  const close = 'close a wallet permanently; its balance must be zero, with nothing in flight';
  addChange(group, 'close', 'closed', close, 'customer left');
  addDebtCommand(
    group,
    'write-off',
    'request that what a wallet owes is booked as a loss',
    () => OPERATING_LOSS,
  ).example('wallets write-off svc_01k5…_wlt --reason "cannot be reached" --evidence "ticket 1234"');
  addDebtCommand<{ into: AccountCode }>(
    group,
    'debt-paid',
    'request that a debt is booked as paid to a bank account of ours',
    ({ into }) => into,
  )
    .requiredOption(
      '--into <account>',
      'where the money is, such as settlement:bank',
      matching(BANK_ACCOUNT, BANK_ADVICE),
    )
    .example('wallets debt-paid svc_01k5…_wlt --into settlement:bank --reason "paid in cash" --evidence "receipt 12"');
}

/** `because`: the reason of its example. */
const addChange = (
  group: Command,
  name: 'freeze' | 'unfreeze' | 'close',
  status: Wallet['status'],
  description: string,
  because: string,
): Command =>
  addCommand(group, `${name} <id>`, description)
    .example(`wallets ${name} svc_01k5…_wlt --reason "${because}"`)
    .addOption(reasonOption())
    .addOption(organisationOption('the wallet'))
    .action(async (id: string, options: OrganisationOptions & { reason: string }) => {
      const { reason } = options;
      const change = await inOrganisation(`wallets ${name}`, options, (sql, organisationId, { proof }) =>
        setWalletStatus(sql, organisationId, requireWalletId(id), status, { proof, reason }),
      );
      const changed = change.outcome === 'changed';
      if (!changed && change.outcome !== 'unchanged') throw new CommandError(refusalOf(id, change));
      printResult(options, { id, status, changed }, `The wallet ${id} ${changed ? 'is' : 'was already'} ${status}.`);
    });

/** Adds a command that requests an adjustment of what a wallet owes: another operator approves it. */
function addDebtCommand<Options>(
  group: Command,
  name: 'write-off' | 'debt-paid',
  description: string,
  debitOf: (options: Options) => AccountCode,
): Command {
  return addCommand(group, `${name} <id>`, `${description}; another operator approves it`)
    .option('--amount <kobo>', 'the amount in kobo (default: all that it owes)', wholeNumber(AMOUNT_MAX, ' of kobo'))
    .addOption(reasonOption())
    .addOption(evidenceOption())
    .addOption(organisationOption('the wallet'))
    .action(async (id: string, options: Options & RequestOptions & { amount?: Kobo }) => {
      const { reason, evidence } = options;
      const outcome = await inOrganisation(`wallets ${name}`, options, async (sql, organisationId, { proof }) => {
        const report = await reportWallet(sql, organisationId, requireWalletId(id));
        if (report === null) throw notInOrganisation(`wallet ${id}`);
        const { environment, wallet } = report;
        const { amount = wallet.amountOwed } = options;
        if (wallet.amountOwed === 0) throw new CommandError(`The wallet ${id} owes nothing.`);
        if (amount > wallet.amountOwed)
          throw new CommandError(
            `The wallet ${id} owes ${nairaText(wallet.amountOwed)}. Give at most that as --amount.`,
          );
        const posting = { debit: debitOf(options), credit: walletReceivable(wallet.id), amount };
        const book = { organisationId, environment };
        const grounds = { reason, evidence, proof, corrects: id };
        return await requestAdjustment({ sql, journal: new Journal(sql) }, book, [posting], grounds);
      });
      printRequested(options, outcome);
    });
}

const requireWalletId = (id: string): Uuid => requireId('wallet', id, 'a wallet id, such as svc_…_wlt.');

/** Why a change was refused and what to do. */
function refusalOf(id: string, change: StatusChange): string {
  switch (change.outcome) {
    case 'debt':
      return (
        `WALLET_OWES: the wallet ${id} owes ${nairaText(change.amountOwed)}. Its next credits repay it; or record what was ` +
        `paid otherwise (npm run cli -- wallets debt-paid ${id}), or write it off (wallets write-off ${id}).`
      );
    case 'balance':
      return `The wallet ${id} holds ${nairaText(change.balance)}. Move the money out, then close it.`;
    case 'in_flight':
      return `The wallet ${id} has money in flight (${inFlightText(change.inFlight)}). Wait until it has ended, then close it.`;
    case 'closed':
      return `The wallet ${id} is permanently closed. Create a new one for its owner.`;
    case 'settlement':
      return `${id} is the organisation's settlement wallet, which cannot be closed. Freeze it instead: npm run cli -- wallets freeze ${id}`;
    default:
      return notInOrganisation(`wallet ${id}`).message;
  }
}

/** Labels of the kinds of money in flight. */
const IN_FLIGHT_LABELS: Readonly<Record<string, string>> = {
  payments: 'open payments',
  inboundCredits: 'credits being posted',
  withdrawals: 'withdrawals',
  refunds: 'refunds',
  holds: 'holds',
  payouts: 'payouts',
  payoutItems: 'payout items to it',
  adjustments: 'adjustments to decide',
};

const inFlightText = (inFlight: InFlight): string =>
  Object.entries(inFlight)
    .map(([kind, number]) => `${number} ${IN_FLIGHT_LABELS[kind] ?? kind}`)
    .join(', ');
