// `wallets …`: freeze, unfreeze and close a wallet, and show what stands in the way.
import type { Command } from 'commander';
import { text } from '../api/schemas.ts';
import { parseId, publicId, type Uuid } from '../ids.ts';
import { CURRENCY, type Kobo } from '../money.ts';
import type { Wallet } from '../resources/wallets/queries.ts';
import { type InFlight, reportWallet, type StatusChange, setWalletStatus } from '../resources/wallets/status.ts';
import { addCommand, OPERATOR_OPTION, operatorName, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { chooseOrganisation } from './organisations.ts';
import { printJson, printLine, printTable, timeText } from './print.ts';

const REASON_MAX = 500;

const ORGANISATION_OPTION = [
  '--organisation <id>',
  'whose wallet (default: the quick start’s organisation, or the only one)',
] as const;

export function addWalletCommands(program: Command): void {
  const group = program.command('wallets').description('show, freeze, unfreeze and close wallets');
  addShow(group);
  addChange(group, {
    name: 'freeze',
    wanted: 'frozen',
    description: 'stop all money of a wallet at once; reads still work',
    reason: 'reported stolen',
  });
  addChange(group, {
    name: 'unfreeze',
    wanted: 'active',
    description: 'let the money of a frozen wallet move again',
    reason: 'owner confirmed',
  });
  addChange(group, {
    name: 'close',
    wanted: 'closed',
    description: 'close a wallet for ever; it must be empty, with nothing in flight',
    reason: 'customer left',
  });
}

interface Change {
  name: string;
  wanted: Wallet['status'];
  description: string;
  /** For the example in its help. */
  reason: string;
}

function addChange(group: Command, { name, wanted, description, reason }: Change): void {
  addCommand(group, `${name} <id>`, description, `wallets ${name} svc_01k5…_wlt --reason "${reason}"`)
    .requiredOption('--reason <text>', 'why, for the audit trail')
    .option(...ORGANISATION_OPTION)
    .option(...OPERATOR_OPTION)
    .action(async (id: string, options: { reason: string; organisation?: string; operator?: string; json?: true }) => {
      const act = { operator: operatorName(options.operator), reason: checkReason(options.reason) };
      const change = await withDatabase('application', async (sql, settings) => {
        const organisationId = await chooseOrganisation(sql, settings, options.organisation);
        return await setWalletStatus(sql, organisationId, requireWalletId(id), wanted, act);
      });
      requireDone(id, change);
      if (options.json) return printJson({ id, status: wanted, changed: change.outcome === 'changed' });
      printLine(
        change.outcome === 'changed' ? `The wallet ${id} is ${wanted}.` : `The wallet ${id} was ${wanted} before.`,
      );
    });
}

function checkReason(reason: string): string {
  const parsed = text(REASON_MAX).safeParse(reason.trim());
  if (parsed.success) return parsed.data;
  throw new CommandError(`--reason must say why, in 1 to ${REASON_MAX} characters.`, EXIT.usage);
}

function requireWalletId(id: string): Uuid {
  const uuid = parseId('wallet', id);
  if (uuid === null) throw new CommandError(`${id} is not a wallet id: one looks like svc_…_wlt.`, EXIT.usage);
  return uuid;
}

/** Throws why a change was not made, and what can be done about it. */
function requireDone(id: string, change: StatusChange): void {
  switch (change.outcome) {
    case 'changed':
    case 'unchanged':
      return;
    case 'not_found':
      throw noSuchWallet(id);
    case 'closed':
      throw new CommandError(`The wallet ${id} is closed, for ever. Create a new one for its owner.`);
    case 'settlement':
      throw new CommandError(
        `${id} is the organisation's settlement wallet, which cannot be closed. It can be frozen.`,
      );
    case 'balance':
      throw new CommandError(`The wallet ${id} holds ${nairaText(change.balance)}. Move the money out, then close it.`);
    case 'in_flight':
      throw new CommandError(
        `The wallet ${id} has money in flight (${inFlightText(change.inFlight)}). Wait for its end, then close it.`,
      );
  }
}

const noSuchWallet = (id: string): CommandError =>
  new CommandError(`There is no wallet ${id} in this organisation. Another one may have it: --organisation ID.`);

function addShow(group: Command): void {
  addCommand(
    group,
    'show <id>',
    'show a wallet, what is in flight, and what operators did to it',
    'wallets show svc_01k5…_wlt',
  )
    .option(...ORGANISATION_OPTION)
    .action(async (id: string, options: { organisation?: string; json?: true }) => {
      const report = await withDatabase('application', async (sql, settings) => {
        const organisationId = await chooseOrganisation(sql, settings, options.organisation);
        return await reportWallet(sql, organisationId, requireWalletId(id));
      });
      if (report === null) throw noSuchWallet(id);
      const { wallet, environment, inFlight, audit } = report;
      const { kind, status, kycStatus, externalReference, balance, createdAt } = wallet;
      if (options.json) {
        const facts = { kind, environment, status, kycStatus, externalReference, balance, currency: CURRENCY };
        return printJson({ id: publicId('wallet', wallet.id), ...facts, createdAt, inFlight, audit });
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
      printTable(
        ['When (UTC)', 'Who', 'What', 'Why'],
        audit.map((entry) => [timeText(entry.createdAt), entry.operator, entry.action, entry.reason ?? '-']),
        'No operator changed it so far.',
      );
    });
}

/** What is in flight, as people say it. */
const IN_FLIGHT_WORDS: Readonly<Record<string, string>> = {
  payments: 'open payments',
  inboundCredits: 'credits being posted',
  withdrawals: 'withdrawals',
  refunds: 'refunds',
  payouts: 'payouts',
  payoutItems: 'payout items to it',
};

const inFlightText = (inFlight: InFlight): string =>
  Object.entries(inFlight)
    .map(([kind, number]) => `${number} ${IN_FLIGHT_WORDS[kind] ?? kind}`)
    .join(', ');

const nairaText = (amount: Kobo): string =>
  `${CURRENCY} ${(amount / 100).toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: 2 })}`;
