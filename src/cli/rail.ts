// `rail …`: pause the rail of an environment, so that it sends no transfers, resume it, ask it again for the credits of
// a period whose callbacks were lost, and show the rails with their contracts.
import { Argument } from 'commander';
import { publicId } from '../ids.ts';
import { ENVIRONMENTS, type Environment } from '../money.ts';
import { providerNamed } from '../rail/providers.ts';
import { listContracts, type StoredContract } from '../resources/rails/contracts.ts';
import { listRailPauses, pauseRail, resumeRail } from '../resources/rails/pauses.ts';
import type { CreditsPolled } from '../workflows/maintenance/messages.ts';
import { addCommand, type Command, withDatabase } from './command.ts';
import { EXIT } from './failure.ts';
import { addPeriod, type Period, periodOf, reasonOption } from './options.ts';
import { printJson, printLine, printResult, printRows } from './print.ts';
import { addCheck } from './railCheck.ts';
import { addContractCommands, callbackPath } from './railContracts.ts';
import { signedIn } from './signIn.ts';
import { runMaintenance } from './temporal.ts';

export function addRailCommands(program: Command): void {
  const group = program
    .command('rail')
    .description('pause and resume outgoing transfers to banks, and connect contracts with providers');
  addChange(group, {
    name: 'pause',
    description: 'send no new transfers to the bank; withdrawals, refunds and payouts are still accepted and wait',
    change: pauseRail,
    done: 'is paused: after a few seconds no transfer is sent. List the waiting flows: npm run cli -- attention list',
    unchanged: 'was already paused. See: npm run cli -- rail show',
  }).example('rail pause live --reason "the bank announced maintenance"');
  addChange(group, {
    name: 'resume',
    description: 'send transfers again; waiting flows continue within a minute',
    change: resumeRail,
    done: 'is resumed. Waiting flows are signalled and continue within a minute.',
    unchanged: 'was not paused.',
  }).example('rail resume live --reason "the maintenance is over"');
  addContractCommands(group);
  addCheck(group);

  addPeriod(
    addCommand(
      group,
      'requery',
      'ask the rails for the credits of a period now, on a worker, and import those that no callback reported; exits 1 when a bank fails',
    ).example('rail requery --from 2026-01-01 --to 2026-01-02'),
  ).action(async (options: Period & { json?: true }) => {
    const input = periodOf({ to: new Date(), ...options });
    const polled = await runMaintenance<CreditsPolled>('creditPolling', input);
    if (polled.failed > 0) process.exitCode = EXIT.failed;
    const line = `${polled.recovered} credits imported; ${polled.failed} of ${polled.books} banks failed.`;
    printResult(options, { ...input, ...polled }, line);
  });

  addCommand(group, 'show', 'show which rails are paused, by whom and why, and the contracts with what they can do')
    .example('rail show')
    .action(async (options: { json?: true }) => {
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
      const state = { State: ({ paused }: (typeof rails)[number]) => (paused ? 'paused' : 'active') };
      printRows({}, rails, ['environment', state, 'since', 'operator', 'reason']);
      for (const contract of rails.flatMap(({ contracts: connected }) => connected)) {
        printLine('');
        for (const [name, value] of Object.entries(contract)) {
          printLine(`${name.padEnd(16)}${typeof value === 'string' ? value : JSON.stringify(value)}`);
        }
      }
    });
}

interface Change {
  name: 'pause' | 'resume';
  description: string;
  change: typeof pauseRail;
  /** The rest of the output line when the state changed, and when it did not. */
  done: string;
  unchanged: string;
}

const addChange = (group: Command, { name, description, change, done, unchanged }: Change): Command =>
  addCommand(group, name, description)
    .addArgument(new Argument('<environment>', 'the environment of the rail').choices(ENVIRONMENTS))
    .addOption(reasonOption())
    .action(async (environment: Environment, options: { reason: string; json?: true }) => {
      const { reason } = options;
      const changed = await signedIn(`rail ${name}`, (sql, { proof }) => change(sql, environment, { proof, reason }));
      const line = `The ${environment} rail ${changed ? done : unchanged}`;
      printResult(options, { environment, paused: name === 'pause', changed }, line);
    });

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
  /** Null: this version has no adapter for the rail. */
  capabilities: providerNamed(contract.rail)?.capabilities ?? null,
});
