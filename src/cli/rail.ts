// `rail …`: pause the rail of an environment, so that it sends no transfers, resume it, and show the rails with their
// contracts.
import { isDeepStrictEqual } from 'node:util';
import { Argument, type Command } from 'commander';
import { publicId } from '../ids.ts';
import { ENVIRONMENTS, type Environment } from '../money.ts';
import { providerNamed } from '../rail/providers.ts';
import { listContracts, type StoredContract } from '../resources/rails/contracts.ts';
import { listRailPauses, pauseRail, resumeRail } from '../resources/rails/pauses.ts';
import { addCommand, withDatabase } from './command.ts';
import { reasonOption } from './options.ts';
import { printJson, printLine, printTable, timeText } from './print.ts';
import { addCheck } from './railCheck.ts';
import { addContractCommands, callbackPath } from './railContracts.ts';
import { addRequery } from './railRequery.ts';
import { signIn } from './signIn.ts';

export function addRailCommands(program: Command): void {
  const group = program
    .command('rail')
    .description('pause and resume outgoing transfers to banks, and connect contracts with providers');
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
    .addOption(reasonOption())
    .action(async (environment: Environment, options: { reason: string; json?: true }) => {
      const { reason } = options;
      const changed = await withDatabase('application', async (sql, settings) =>
        change(sql, environment, { operator: await signIn(sql, settings, `rail ${name}`), reason }),
      );
      if (options.json) return printJson({ environment, paused: name === 'pause', changed });
      printLine(`The ${environment} rail ${changed ? done : unchanged}`);
    });
}

function addShow(group: Command): void {
  addCommand(
    group,
    'show',
    'show which rails are paused, by whom and why, and the contracts with what they can do',
    'rail show',
  ).action(async (options: { json?: true }) => {
    const [pauses, contracts] = await withDatabase(
      'application',
      async (sql) => [await listRailPauses(sql), await listContracts(sql)] as const,
    );
    const rails = ENVIRONMENTS.map((environment) => {
      const pause = pauses.find((row) => row.environment === environment);
      return {
        environment,
        paused: pause !== undefined,
        since: pause?.pausedAt ?? null,
        operator: pause?.operator ?? null,
        reason: pause?.reason ?? null,
        contracts: contracts.filter((row) => row.environment === environment).map(contractView),
      };
    });
    if (options.json) return printJson(rails);
    printTable(
      ['Rail', 'State', 'Since (UTC)', 'Operator', 'Reason'],
      rails.map(({ environment, paused, since, operator, reason }) => [
        environment,
        paused ? 'paused' : 'active',
        timeText(since),
        operator ?? '-',
        reason ?? '-',
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

const contractView = (contract: StoredContract) => ({
  rail: contract.rail,
  organisation: publicId('organisation', contract.organisationId),
  contract: publicId('railContract', contract.id),
  callbackPath: callbackPath(contract),
  connectedAt: contract.connectedAt,
  closingAt: contract.closingAt,
  version: contract.version,
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
