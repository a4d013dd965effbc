// `limits …`: set and show the limits of wallets by tier: the policy of an organisation, and the ceiling of policies.
import { ALL_ORGANISATIONS } from '../ids.ts';
import { CONTRACT_TIER1, findProblems, LIMITS, type Policy, policySchema, TIERS, type Tier } from '../ledger/limits.ts';
import { readPolicy, setPolicy } from '../resources/wallets/limits.ts';
import { setTier } from '../resources/wallets/queries.ts';
import { reportWallet } from '../resources/wallets/status.ts';
import type { RequestOptions } from './adjustments.ts';
import { type BookOptions, inOrganisation, notInOrganisation, requireId } from './books.ts';
import { addCommand, type Command } from './command.ts';
import { CommandError } from './failure.ts';
import { fieldsRefused, readJsonFile } from './jsonFile.ts';
import { environmentOption, evidenceOption, organisationOption, reasonOption } from './options.ts';
import { printResult, printRows } from './print.ts';

interface Options extends BookOptions {
  ceiling?: true;
}

export function addLimitCommands(program: Command): void {
  const group = program.command('limits').description('set and show the limits of wallets by tier');
  const add = (usage: string, description: string): Command =>
    addCommand(group, usage, description)
      .addOption(environmentOption().makeOptionMandatory())
      .addOption(organisationOption('the policy'))
      .option('--ceiling', 'the ceiling of the policies of all organisations, in place of a policy');

  add('set <file>', 'set a policy from a JSON file, and the limits of all wallets of its tiers')
    .addOption(reasonOption())
    .example('limits set limits.json --environment live --reason "agreed with the bank"')
    .action(async (file: string, options: Options & { reason: string }) => {
      const policy = await inOrganisation(
        'limits set',
        options,
        async (sql, organisationId, { proof }) => {
          const { environment, reason } = options;
          const read: Policy = readJsonFile(file, policySchema);
          const policy = options.ceiling ? read : { tier1: CONTRACT_TIER1, ...read };
          const ceiling = options.ceiling
            ? null
            : await readPolicy(sql, { organisationId: ALL_ORGANISATIONS, environment });
          const problems = findProblems(policy, ceiling);
          if (problems.length > 0) throw fieldsRefused(problems);
          await setPolicy(sql, { organisationId, environment }, policy, { proof, reason });
          return policy;
        },
        options.ceiling,
      );
      printResult(options, policy, `Set the limits of ${Object.keys(policy).join(', ')}.`);
    });

  add('show', 'show a policy')
    .example('limits show --environment live')
    .action(async (options: Options) => {
      const policy = await inOrganisation(
        'limits show',
        options,
        (sql, organisationId) => readPolicy(sql, { organisationId, environment: options.environment }),
        options.ceiling,
      );
      const shown: Policy = policy ?? (options.ceiling ? {} : { tier1: CONTRACT_TIER1 });
      const limits = TIERS.flatMap((tier) => LIMITS.map((limit) => ({ tier, limit, maximum: shown[tier]?.[limit] })));
      const rows = limits.filter(({ maximum }) => maximum !== undefined);
      printRows(options, rows, ['tier', 'limit', 'maximum'], 'No limits.');
    });

  addCommand(group, 'tier <id> <tier>', "give a wallet another tier of its organisation's policy, by evidence")
    .addOption(reasonOption())
    .addOption(evidenceOption(200))
    .addOption(organisationOption('the wallet'))
    .example('limits tier svc_01k5…_wlt tier3 --reason "visited" --evidence "report 12"')
    .action(async (id: string, tier: Tier, options: RequestOptions) => {
      const { reason, evidence } = options;
      await inOrganisation('limits tier', options, async (sql, organisationId, { proof }) => {
        const uuid = requireId('wallet', id, 'a wallet id, such as svc_…_wlt.');
        const report = await reportWallet(sql, organisationId, uuid);
        if (report === null) throw notInOrganisation(`wallet ${id}`);
        const { wallet, environment } = report;
        if (wallet.kycStatus === 'none') throw new CommandError(`The wallet ${id} has no KYC details yet.`);
        const book = { organisationId, environment };
        const tiers = Object.keys((await readPolicy(sql, book)) ?? { tier1: CONTRACT_TIER1 });
        if (!tiers.includes(tier))
          throw new CommandError(`The policy has no ${tier}. Choose from ${tiers.join(', ')}.`);
        await setTier(sql, book, wallet.id, tier, { proof, reason: `${reason} (evidence: ${evidence})` });
      });
      printResult(options, { id, tier }, `The wallet ${id} is ${tier}.`);
    });
}
