// `rail …`: pause the rail of an environment, so that it sends no transfers, resume it, limit its calls a second, and
// show the rails with their contracts.
import { isDeepStrictEqual } from 'node:util';
import { Argument, type Command, InvalidArgumentError } from 'commander';
import { text } from '../api/schemas.ts';
import type { Sql } from '../database/pool.ts';
import { publicId } from '../ids.ts';
import { ENVIRONMENTS, type Environment } from '../money.ts';
import type { LimitScope } from '../rail/callSlots.ts';
import { providerNamed } from '../rail/providers.ts';
import { SANDBOX_SCOPE } from '../rail/sandbox/capabilities.ts';
import { listContracts, type StoredContract } from '../resources/railContracts.ts';
import { listRailLimits, type RailLimit, setRailLimit } from '../resources/railLimits.ts';
import { listRailPauses, pauseRail, resumeRail } from '../resources/railPauses.ts';
import { addCommand, organisationOption, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { chooseOrganisation } from './organisations.ts';
import { printJson, printLine, printTable, timeText } from './print.ts';
import { addCheck } from './railCheck.ts';
import { addContractCommands, callbackPath, requireContract } from './railContracts.ts';
import { addRequery } from './railRequery.ts';
import type { Settings } from './settings.ts';
import { signIn } from './signIn.ts';

const REASON_MAX = 500;

export function addRailCommands(program: Command): void {
  const group = program
    .command('rail')
    .description('pause and resume outgoing transfers to banks, and limit the calls to them');
  addChange(group, {
    name: 'pause',
    description: 'send no new transfers to the bank; withdrawals, refunds and payouts are still accepted and wait',
    reason: 'the bank announced maintenance',
    change: pauseRail,
    done: 'is paused: no new transfer is sent. List the waiting flows: npm run cli -- attention list',
    unchanged: 'was already paused. See: npm run cli -- rail show',
  });
  addChange(group, {
    name: 'resume',
    description: 'send transfers again; waiting flows continue within a minute',
    reason: 'the maintenance is over',
    change: resumeRail,
    done: 'is resumed. Waiting flows are signalled and continue within a minute.',
    unchanged: 'was not paused.',
  });
  addLimit(group);
  addContractCommands(group);
  addCheck(group);
  addRequery(group);
  addShow(group);
}

interface Change {
  name: 'pause' | 'resume';
  description: string;
  /** For the example in its help. */
  reason: string;
  change: typeof pauseRail;
  /** The rest of the output line when the state changed, and when it did not. */
  done: string;
  unchanged: string;
}

function addChange(group: Command, { name, description, reason: example, change, done, unchanged }: Change): void {
  addCommand(group, name, description, `rail ${name} live --reason "${example}"`)
    .addArgument(new Argument('<environment>', 'the environment of the rail').choices(ENVIRONMENTS))
    .requiredOption('--reason <text>', 'the reason, recorded in the audit log')
    .action(async (environment: Environment, options: { reason: string; json?: true }) => {
      const reason = checkReason(options.reason);
      const changed = await withDatabase('application', async (sql, settings) =>
        change(sql, environment, { operator: await signIn(sql, settings, `rail ${name}`), reason }),
      );
      if (options.json) return printJson({ environment, paused: name === 'pause', changed });
      printLine(`The ${environment} rail ${changed ? done : unchanged}`);
    });
}

interface LimitOptions {
  organisation?: string;
  reason: string;
  json?: true;
}

function addLimit(group: Command): void {
  addCommand(
    group,
    'limit',
    'limit the calls a second of a contract, or on test those to the sandbox bank, of all processes together; they follow within seconds',
    'rail limit live 20 --organisation ID --reason "agreed with the bank"',
  )
    .addArgument(new Argument('<environment>', 'the environment of the rail').choices(ENVIRONMENTS))
    .argument('<calls>', 'calls a second, or `default` for what the rail declares', callsPerSecond)
    .addOption(organisationOption('the contract; live only'))
    .requiredOption('--reason <text>', 'the reason, recorded in the audit log')
    .action(async (environment: Environment, calls: number | 'default', options: LimitOptions) => {
      const reason = checkReason(options.reason);
      const limit = calls === 'default' ? null : calls;
      const { scope, changed } = await withDatabase('application', async (sql, settings) => {
        const operator = await signIn(sql, settings, 'rail limit');
        const found = await scopeOf(sql, settings, environment, options.organisation);
        const note = { operator, reason };
        return { scope: found, changed: await setRailLimit(sql, { ...found, callsPerSecond: limit }, note) };
      });
      const { rail, organisationId } = scope;
      const organisation = environment === 'test' ? null : publicId('organisation', organisationId);
      if (options.json) return printJson({ environment, rail, organisation, callsPerSecond: limit, changed });
      const what = organisation === null ? 'The sandbox bank' : `The contract of ${organisation} with ${rail}`;
      const text = limit === null ? 'the calls that it declares' : `${limit} calls a second`;
      printLine(`${what} ${changed ? 'is limited' : 'was already limited'} to ${text}.`);
    });
}

/** Whose calls are limited: those of a contract, or on test of all organisations. */
async function scopeOf(
  sql: Sql,
  settings: Settings,
  environment: Environment,
  organisation: string | undefined,
): Promise<LimitScope> {
  if (environment === 'test') {
    if (organisation === undefined) return SANDBOX_SCOPE;
    throw new CommandError('The sandbox bank has one limit for all organisations: omit --organisation.', EXIT.usage);
  }
  const book = { organisationId: await chooseOrganisation(sql, settings, organisation), environment };
  const { rail } = await requireContract(sql, book);
  return { ...book, rail };
}

const CALLS_MAX = 10_000;

function callsPerSecond(value: string): number | 'default' {
  if (value === 'default') return value;
  if (/^[1-9]\d{0,4}$/.test(value) && Number(value) <= CALLS_MAX) return Number(value);
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${CALLS_MAX}, or default.`);
}

function checkReason(reason: string): string {
  const parsed = text(REASON_MAX).safeParse(reason.trim());
  if (parsed.success) return parsed.data;
  throw new CommandError(`--reason must have 1 to ${REASON_MAX} characters.`, EXIT.usage);
}

function addShow(group: Command): void {
  addCommand(
    group,
    'show',
    'show which rails are paused, by whom and why, the limits of calls, and the contracts with what they can do',
    'rail show',
  ).action(async (options: { json?: true }) => {
    const [pauses, limits, contracts] = await withDatabase(
      'application',
      async (sql) => [await listRailPauses(sql), await listRailLimits(sql), await listContracts(sql)] as const,
    );
    const rails = ENVIRONMENTS.map((environment) => {
      const pause = pauses.find((row) => row.environment === environment);
      return {
        environment,
        paused: pause !== undefined,
        since: pause?.pausedAt ?? null,
        operator: pause?.operator ?? null,
        reason: pause?.reason ?? null,
        callsPerSecond: environment === 'test' ? limitOf(limits, SANDBOX_SCOPE) : null,
        contracts: contracts
          .filter((row) => row.environment === environment)
          .map((contract) => contractView(contract, limitOf(limits, contract))),
      };
    });
    if (options.json) return printJson(rails);
    printTable(
      ['Rail', 'State', 'Since (UTC)', 'Operator', 'Reason', 'Calls a second'],
      rails.map(({ environment, paused, since, operator, reason, callsPerSecond: limit }) => [
        environment,
        paused ? 'paused' : 'active',
        timeText(since),
        operator ?? '-',
        reason ?? '-',
        environment === 'live' ? 'by contract' : String(limit ?? 'default'),
      ]),
      '',
    );
    for (const contract of rails.flatMap(({ contracts: connected }) => connected)) {
      printLine('');
      const { changedSince, ...shown } = contract;
      const note = changedSince.length === 0 ? {} : { changedSince: `${CHANGED}${changedSince.join(', ')}` };
      for (const [name, value] of Object.entries({ ...shown, ...note })) {
        printLine(`${name.padEnd(16)}${typeof value === 'string' ? value : JSON.stringify(value)}`);
      }
    }
  });
}

/** What operators have set; null: nothing. */
const limitOf = (limits: readonly RailLimit[], scope: LimitScope): number | null =>
  limits.find(
    ({ organisationId, environment, rail }) =>
      organisationId === scope.organisationId && environment === scope.environment && rail === scope.rail,
  )?.callsPerSecond ?? null;

/** The flows read what the adapter declares, not what is stored with the contract. */
function capabilitiesOf({ rail, capabilities: stored }: StoredContract) {
  const capabilities = providerNamed(rail)?.capabilities ?? stored;
  return { capabilities, changedSince: differences(stored, capabilities).toSorted() };
}

const fieldsOf = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;

/** The names of the fields that differ, such as `oneOff.amount`. */
function differences(before: unknown, after: unknown, name = ''): string[] {
  const [one, other] = [fieldsOf(before), fieldsOf(after)];
  if (one === null || other === null) return isDeepStrictEqual(before, after) ? [] : [name];
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].flatMap((key) => differences(one[key], other[key], name === '' ? key : `${name}.${key}`));
}

const CHANGED = 'since it was connected or rotated the adapter declares otherwise: ';

const contractView = (contract: StoredContract, callsPerSecond: number | null) => ({
  rail: contract.rail,
  organisation: publicId('organisation', contract.organisationId),
  contract: publicId('railContract', contract.id),
  callbackPath: callbackPath(contract),
  connectedAt: contract.connectedAt,
  closingAt: contract.closingAt,
  version: contract.version,
  callsPerSecond,
  balance: contract.available === null ? null : { available: contract.available, readAt: contract.readAt },
  check:
    contract.passed === null
      ? null
      : {
          passed: contract.passed,
          adapterVersion: contract.adapterVersion,
          checkedAt: contract.checkedAt,
          summary: contract.summary,
          untried: contract.untried,
        },
  ...capabilitiesOf(contract),
});
