// `fees …`: set and show what is charged: the schedule of an organisation, and that of all organisations.
import { z } from 'zod';
import { parseId } from '../ids.ts';
import { listFees, setFees } from '../ledger/feeSchedules.ts';
import { type FeeRule, feeSchedule } from '../ledger/fees.ts';
import { findWallets } from '../resources/wallets/queries.ts';
import { type BookOptions, inOrganisation } from './books.ts';
import { addCommand, type Command } from './command.ts';
import { fieldsRefused, readJsonFile } from './jsonFile.ts';
import { environmentOption, organisationOption, reasonOption } from './options.ts';
import { printResult, printRows, timeText } from './print.ts';

interface Options extends BookOptions {
  allOrganisations?: true;
}

/** A row for a version, then one for each rule and tier of it. */
type Row = Partial<FeeRule> & { effectiveFrom?: Date; feeBearer?: string | undefined; volume?: number };

const feesFile = feeSchedule.extend({
  effectiveFrom: z.iso
    .datetime({ offset: true })
    .transform((time) => new Date(time))
    .refine((time) => time > new Date(), 'must be in the future')
    .optional(),
});

export function addFeeCommands(program: Command): void {
  const group = program.command('fees').description('set and show what is charged');
  const add = (usage: string, description: string): Command =>
    addCommand(group, usage, description)
      .addOption(environmentOption().makeOptionMandatory())
      .addOption(organisationOption('the schedule'))
      .option('--all-organisations', 'the schedule of all organisations, which has no wallets, in place of one');

  add('set <file>', 'set a schedule from a JSON file, from now on or its time effectiveFrom')
    .addOption(reasonOption())
    .example('fees set fees.json --environment live --reason "agreed in November"')
    .action(async (file: string, options: Options & { reason: string }) => {
      const { environment, reason, allOrganisations } = options;
      const set = await inOrganisation(
        'fees set',
        options,
        async (sql, organisationId, { proof }) => {
          const book = { organisationId, environment };
          const { effectiveFrom = null, ...schedule } = readJsonFile(file, feesFile);
          const ids = schedule.rules.map(({ walletId = '' }) => parseId('wallet', walletId));
          const named = ids.filter((id) => id !== null);
          const found = await findWallets(sql, book, named);
          const unknown = ids.flatMap((id, index) =>
            id === null || found.some((wallet) => wallet.id === id) ? [] : [`rules.${index}.walletId`],
          );
          const message = 'must be a wallet of the organisation';
          if (unknown.length > 0) throw fieldsRefused(unknown.map((field) => ({ field, code: 'unknown', message })));
          return { ...schedule, effectiveFrom: await setFees(sql, book, schedule, { effectiveFrom, proof, reason }) };
        },
        allOrganisations,
      );
      printResult(options, set, `Set the fees from ${timeText(set.effectiveFrom)} UTC on.`);
    });

  add('show', 'show the schedules that it has, had or will have')
    .example('fees show --environment live')
    .action(async (options: Options) => {
      const { environment, allOrganisations } = options;
      const stored = await inOrganisation(
        'fees show',
        options,
        (sql, organisationId) => listFees(sql, { organisationId, environment }),
        allOrganisations,
      );
      const rows = stored.flatMap<Row>(({ effectiveFrom, schedule: { feeBearer, rules } }) => [
        { effectiveFrom, feeBearer },
        ...rules.flatMap(({ tiers = [], ...rule }) => [rule, ...tiers.map((tier) => ({ ...rule, ...tier }))]),
      ]);
      printRows(
        options,
        rows,
        ['effectiveFrom', 'feeBearer', 'movement', 'rail', 'walletId', 'volume', 'basisPoints', 'min', 'max', 'flat'],
        'No schedule.',
        stored.map(({ effectiveFrom, schedule }) => ({ effectiveFrom, ...schedule })),
      );
    });
}
