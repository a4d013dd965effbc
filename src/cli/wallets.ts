// `wallets …`: freeze, unfreeze and close a wallet, and show its balance, money in flight and audit log.
import type { Command } from 'commander';
import { parseId, publicId, type Uuid } from '../ids.ts';
import { CURRENCY, nairaText } from '../money.ts';
import type { Wallet } from '../resources/wallets/queries.ts';
import { type InFlight, reportWallet, type StatusChange, setWalletStatus } from '../resources/wallets/status.ts';
import { addCommand, organisationOption } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { reasonOption } from './options.ts';
import { inOrganisation } from './organisations.ts';
import { printAudit, printJson, printLine, printTable, timeText } from './print.ts';

export function addWalletCommands(program: Command): void {
  const group = program.command('wallets').description('show, freeze, unfreeze and close wallets');
  addShow(group);
  addChange(group, {
    name: 'freeze',
    status: 'frozen',
    description: 'block all movements of a wallet at once; it can still be read',
    reason: 'reported stolen',
  });
  addChange(group, {
    name: 'unfreeze',
    status: 'active',
    description: 'allow movements of a frozen wallet again',
    reason: 'owner confirmed',
  });
  addChange(group, {
    name: 'close',
    status: 'closed',
    description: 'close a wallet permanently; its balance must be zero, with nothing in flight',
    reason: 'customer left',
  });
}

interface Change {
  name: 'freeze' | 'unfreeze' | 'close';
  status: Wallet['status'];
  description: string;
  /** For the example in its help. */
  reason: string;
}

function addChange(group: Command, { name, status, description, reason: example }: Change): void {
  addCommand(group, `${name} <id>`, description, `wallets ${name} svc_01k5…_wlt --reason "${example}"`)
    .addOption(reasonOption())
    .addOption(organisationOption('the wallet'))
    .action(async (id: string, options: { reason: string; organisation?: string; json?: true }) => {
      const { reason } = options;
      const change = await inOrganisation(`wallets ${name}`, options, (sql, organisationId, operator) =>
        setWalletStatus(sql, organisationId, requireWalletId(id), status, { operator, reason }),
      );
      requireDone(id, change);
      if (options.json) return printJson({ id, status, changed: change.outcome === 'changed' });
      printLine(
        change.outcome === 'changed' ? `The wallet ${id} is ${status}.` : `The wallet ${id} was already ${status}.`,
      );
    });
}

function requireWalletId(id: string): Uuid {
  const uuid = parseId('wallet', id);
  if (uuid === null) throw new CommandError(`${id} is not a wallet id, such as svc_…_wlt.`, EXIT.usage);
  return uuid;
}

/** Throws an error that says why a change was refused and what to do. */
function requireDone(id: string, change: StatusChange): void {
  switch (change.outcome) {
    case 'changed':
    case 'unchanged':
      return;
    case 'not_found':
      throw noSuchWallet(id);
    case 'closed':
      throw new CommandError(`The wallet ${id} is permanently closed. Create a new one for its owner.`);
    case 'settlement':
      throw new CommandError(
        `${id} is the organisation's settlement wallet, which cannot be closed. Freeze it instead: npm run cli -- wallets freeze ${id}`,
      );
    case 'balance':
      throw new CommandError(`The wallet ${id} holds ${nairaText(change.balance)}. Move the money out, then close it.`);
    case 'in_flight':
      throw new CommandError(
        `The wallet ${id} has money in flight (${inFlightText(change.inFlight)}). Wait until it has ended, then close it.`,
      );
  }
}

const noSuchWallet = (id: string): CommandError =>
  new CommandError(`There is no wallet ${id} in this organisation. To look in another one, add --organisation ID.`);

function addShow(group: Command): void {
  addCommand(group, 'show <id>', 'show a wallet, its money in flight and its audit log', 'wallets show svc_01k5…_wlt')
    .addOption(organisationOption('the wallet'))
    .action(async (id: string, options: { organisation?: string; json?: true }) => {
      const report = await inOrganisation('wallets show', options, (sql, organisationId) =>
        reportWallet(sql, organisationId, requireWalletId(id)),
      );
      if (report === null) throw noSuchWallet(id);
      const { wallet, environment, inFlight, audit } = report;
      const { kind, status, kycStatus, externalReference, balance, createdAt } = wallet;
      if (options.json) {
        const fields = { kind, environment, status, kycStatus, externalReference, balance, currency: CURRENCY };
        return printJson({ id: publicId('wallet', wallet.id), ...fields, createdAt, inFlight, audit });
      }
      printTable(
        ['Wallet', id],
        [
          ['Kind', kind],
          ['Environment', environment],
          ['Status', status],
          ['KYC', kycStatus],
          ['External reference', externalReference ?? '-'],
          ['Balance', nairaText(balance)],
          ['In flight', inFlightText(inFlight) || 'nothing'],
          ['Created (UTC)', timeText(createdAt)],
        ],
        '',
      );
      printAudit(audit, 'No operator has changed it.');
    });
}

/** Labels of the kinds of money in flight. */
const IN_FLIGHT_LABELS: Readonly<Record<string, string>> = {
  payments: 'open payments',
  inboundCredits: 'credits being posted',
  withdrawals: 'withdrawals',
  refunds: 'refunds',
  payouts: 'payouts',
  payoutItems: 'payout items to it',
  adjustments: 'adjustments to decide',
};

const inFlightText = (inFlight: InFlight): string =>
  Object.entries(inFlight)
    .map(([kind, number]) => `${number} ${IN_FLIGHT_LABELS[kind] ?? kind}`)
    .join(', ');
