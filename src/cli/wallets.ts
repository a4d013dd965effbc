// `wallets …`: freeze, unfreeze and close a wallet, and show its balance, money in flight and audit log.
import type { Command } from 'commander';
import { publicId, type Uuid } from '../ids.ts';
import { CURRENCY, nairaText } from '../money.ts';
import type { Wallet } from '../resources/wallets/queries.ts';
import { type InFlight, reportWallet, type StatusChange, setWalletStatus } from '../resources/wallets/status.ts';
import { inOrganisation, notInOrganisation, type OrganisationOptions, requireId } from './books.ts';
import { addCommand, example } from './command.ts';
import { CommandError } from './failure.ts';
import { organisationOption, reasonOption } from './options.ts';
import { printAudit, printJson, printResult, printTable, timeText } from './print.ts';

export function addWalletCommands(program: Command): void {
  const group = program.command('wallets').description('show, freeze, unfreeze and close wallets');

  addCommand(group, 'show <id>', 'show a wallet, its money in flight and its audit log')
    .addHelpText('after', example('wallets show svc_01k5…_wlt'))
    .addOption(organisationOption('the wallet'))
    .action(async (id: string, options: OrganisationOptions) => {
      const report = await inOrganisation('wallets show', options, (sql, organisationId) =>
        reportWallet(sql, organisationId, requireWalletId(id)),
      );
      if (report === null) throw notInOrganisation(`wallet ${id}`);
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
      );
      printAudit(audit, 'No operator has changed it.');
    });
  addChange(group, 'freeze', 'frozen', 'block all movements of a wallet at once; it can still be read').addHelpText(
    'after',
    example('wallets freeze svc_01k5…_wlt --reason "reported stolen"'),
  );
  addChange(group, 'unfreeze', 'active', 'allow movements of a frozen wallet again').addHelpText(
    'after',
    example('wallets unfreeze svc_01k5…_wlt --reason "owner confirmed"'),
  );
  addChange(
    group,
    'close',
    'closed',
    'close a wallet permanently; its balance must be zero, with nothing in flight',
  ).addHelpText('after', example('wallets close svc_01k5…_wlt --reason "customer left"'));
}

const addChange = (
  group: Command,
  name: 'freeze' | 'unfreeze' | 'close',
  status: Wallet['status'],
  description: string,
): Command =>
  addCommand(group, `${name} <id>`, description)
    .addOption(reasonOption())
    .addOption(organisationOption('the wallet'))
    .action(async (id: string, options: OrganisationOptions & { reason: string }) => {
      const { reason } = options;
      const change = await inOrganisation(`wallets ${name}`, options, (sql, organisationId, { proof }) =>
        setWalletStatus(sql, organisationId, requireWalletId(id), status, { proof, reason }),
      );
      requireDone(id, change);
      const changed = change.outcome === 'changed';
      printResult(options, { id, status, changed }, `The wallet ${id} ${changed ? 'is' : 'was already'} ${status}.`);
    });

const requireWalletId = (id: string): Uuid => requireId('wallet', id, 'a wallet id, such as svc_…_wlt.');

/** Throws an error that says why a change was refused and what to do. */
function requireDone(id: string, change: StatusChange): void {
  switch (change.outcome) {
    case 'changed':
    case 'unchanged':
      return;
    case 'not_found':
      throw notInOrganisation(`wallet ${id}`);
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
