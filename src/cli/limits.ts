// `limits …`: set and show the limits of wallets by tier: the policy of an organisation, and the ceiling of policies.
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import type { Sql } from '../database/pool.ts';
import { ALL_ORGANISATIONS, type Uuid } from '../ids.ts';
import {
  CONTRACT_TIER1,
  findProblems,
  LIMITS,
  type Policy,
  type PolicyProblem,
  policySchema,
  TIERS,
  type Tier,
} from '../ledger/limits.ts';
import type { Operator } from '../resources/operators.ts';
import { readPolicy, setPolicy } from '../resources/wallets/limits.ts';
import { setTier } from '../resources/wallets/queries.ts';
import { reportWallet } from '../resources/wallets/status.ts';
import { type BookOptions, inOrganisation, notInOrganisation, type OrganisationOptions, requireId } from './books.ts';
import { addCommand, example } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { environmentOption, evidenceOption, organisationOption, reasonOption } from './options.ts';
import { printResult, printRows } from './print.ts';
import { type SignedCommand, signedIn } from './signIn.ts';

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
    .addHelpText('after', example('limits set limits.json --environment live --reason "agreed with the bank"'))
    .action(async (file: string, options: Options & { reason: string }) => {
      const policy = await inBook('limits set', options, async (sql, organisationId, { proof }) => {
        const { environment, reason } = options;
        const read = readPolicyFile(file);
        const policy = options.ceiling ? read : { tier1: CONTRACT_TIER1, ...read };
        const ceiling = options.ceiling
          ? null
          : await readPolicy(sql, { organisationId: ALL_ORGANISATIONS, environment });
        refuse(findProblems(policy, ceiling));
        await setPolicy(sql, { organisationId, environment }, policy, { proof, reason });
        return policy;
      });
      printResult(options, policy, `Set the limits of ${Object.keys(policy).join(', ')}.`);
    });

  add('show', 'show a policy')
    .addHelpText('after', example('limits show --environment live'))
    .action(async (options: Options) => {
      const policy = await inBook('limits show', options, (sql, organisationId) =>
        readPolicy(sql, { organisationId, environment: options.environment }),
      );
      const shown: Policy = policy ?? (options.ceiling ? {} : { tier1: CONTRACT_TIER1 });
      const rows = TIERS.flatMap((tier) =>
        LIMITS.flatMap((limit) => {
          const maximum = shown[tier]?.[limit];
          return maximum === undefined ? [] : [{ tier, limit, maximum }];
        }),
      );
      printRows(options, rows, ['tier', 'limit', 'maximum'], 'No limits.');
    });

  addCommand(group, 'tier <id> <tier>', "give a wallet another tier of its organisation's policy, by evidence")
    .addOption(reasonOption())
    .addOption(evidenceOption(200))
    .addOption(organisationOption('the wallet'))
    .addHelpText('after', example('limits tier svc_01k5…_wlt tier3 --reason "visited" --evidence "report 12"'))
    .action(async (id: string, tier: Tier, options: OrganisationOptions & { reason: string; evidence: string }) => {
      const { reason, evidence } = options;
      await inOrganisation('limits tier', options, async (sql, organisationId, { proof }) => {
        const report = await reportWallet(
          sql,
          organisationId,
          requireId('wallet', id, 'a wallet id, such as svc_…_wlt.'),
        );
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

/** Runs `work` in the organisation, or the nil organisation, which has the ceiling. */
const inBook = <Result>(
  command: SignedCommand,
  options: Options,
  work: (sql: Sql, organisationId: Uuid, operator: Operator) => Promise<Result>,
): Promise<Result> =>
  options.ceiling
    ? signedIn(command, (sql, operator) => work(sql, ALL_ORGANISATIONS, operator))
    : inOrganisation(command, options, work);

function readPolicyFile(file: string): Policy {
  let json: unknown;
  try {
    json = JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new CommandError(`${file} cannot be read as JSON: ${(error as Error).message}`, EXIT.usage);
  }
  const parsed = policySchema.safeParse(json);
  if (parsed.success) return parsed.data;
  refuse(parsed.error.issues.map(({ path, code, message }) => ({ field: path.join('.'), code, message })));
  return {};
}

function refuse(problems: readonly (Omit<PolicyProblem, 'code'> & { code: string })[]): void {
  if (problems.length === 0) return;
  const texts = problems.map(({ field, code, message }) => `${field} ${message} (${code})`);
  throw new CommandError(`The policy was not set: ${texts.join('; ')}.`, EXIT.usage);
}
