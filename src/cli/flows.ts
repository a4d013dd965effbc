// `flows …`: open resources without a running flow, which the sweep restarts every half minute; and, after a restore of
// the database to an earlier time, flows whose resource it does not have, with the adjustments for those that the bank
// has paid (docs/operating.md).
import type { Sql } from '../database/pool.ts';
import { publicId } from '../ids.ts';
import { Journal } from '../ledger/journal.ts';
import type { LostFlow } from '../recovery/lostFlows.ts';
import { findPaidLines, importPaidTransfers } from '../recovery/lostTransfers.ts';
import type { MissingFlow } from '../recovery/missingFlows.ts';
import { addCommand, type Command, withDatabase } from './command.ts';
import { evidenceOption, reasonOption, time, wholeNumber } from './options.ts';
import { printLine, printRows } from './print.ts';
import { signedIn } from './signIn.ts';
import { flowsQueue, withTemporal } from './temporal.ts';

/** The default of the sweep: the start of a younger resource's flow may still be in the outbox. */
const AGE_MIN_SECONDS = 20;
/** Of a reason and its evidence, to which the reference of each transfer is added. */
const TEXT_MAX = 400;
const SINCE = ['--since <time>', 'the time that the database was restored to, ISO 8601', time] as const;

export function addFlowCommands(program: Command): void {
  const group = program
    .command('flows')
    .description('find missing flows of open resources, and flows without a resource');

  addCommand(
    group,
    'lost',
    'after a restore of the database: list the flows whose resource it does not have, and what the bank has paid of them by the last reconciliation',
  )
    .example('flows lost --since 2026-01-31T12:00:00Z')
    .requiredOption(...SINCE)
    .option('--end', 'end those that run: they cannot continue')
    .action(async (options: { since: Date; end?: true; json?: true }) => {
      const { lost, paid } = await withDatabase('application', async (sql) => {
        const flows = await listLost(sql, options.since);
        return { lost: flows, paid: await findPaidLines(sql, flows) };
      });
      if (options.end) {
        await withTemporal(async (client) => {
          for (const { id } of lost.filter(({ isRunning }) => isRunning))
            await client.workflow.getHandle(id).terminate('the database does not have its resource');
        });
      }
      printRows(
        options,
        lost.map((flow) => ({
          flow: flow.kind,
          id: flow.id,
          organisation: publicId('organisation', flow.organisationId),
          environment: flow.environment,
          walletId: flow.walletId,
          amount: flow.amount,
          startedAt: flow.startedAt,
          state: flow.isRunning ? (options.end ? 'ended' : 'running') : 'ended before',
          paidAt: paid.get(flow.id)?.at ?? null,
        })),
        ['flow', 'id', 'organisation', 'environment', 'walletId', 'amount', 'startedAt', 'state', 'paidAt'],
        'The database has the resource of every flow that started since.',
      );
      if (paid.size > 0 && !options.json) printLine('Import what the bank has paid: npm run cli -- flows import');
    });

  addCommand(
    group,
    'import',
    'after a restore of the database: request an adjustment for each lost transfer that the bank has paid; another operator approves them; a repetition requests none twice',
  )
    .example('flows import --since 2026-01-31T12:00:00Z --reason "restored to 12:00" --evidence "ticket 1234"')
    .requiredOption(...SINCE)
    .addOption(reasonOption(TEXT_MAX))
    .addOption(evidenceOption(TEXT_MAX))
    .action(async (options: { since: Date; reason: string; evidence: string; json?: true }) => {
      const { since, reason, evidence } = options;
      const imported = await signedIn('flows import', async (sql, { proof }) => {
        const grounds = { reason, evidence, proof };
        return await importPaidTransfers({ sql, journal: new Journal(sql) }, await listLost(sql, since), grounds);
      });
      printRows(
        options,
        imported,
        ['adjustment', 'reference', 'debit', 'amount', { Outcome: ({ refused }) => refused ?? 'requested' }],
        'The last reconciliation found no payment of a lost transfer: npm run cli -- reconciliation run --from ...',
      );
    });

  addCommand(group, 'missing', 'list open resources that have no running flow')
    .example('flows missing --start')
    .option('--start', 'restart the missing flows')
    .option(
      '--age <seconds>',
      'skip resources younger than this',
      wholeNumber(999_999_999, ' of seconds', 0),
      AGE_MIN_SECONDS,
    )
    .action(async (options: { start?: true; age: number; json?: true }) => {
      const { findMissingFlows, restartFlow } = await import('../recovery/missingFlows.ts');
      const missing = await withTemporal((client) =>
        withDatabase('application', async (sql) => {
          const flows: MissingFlow[] = [];
          for await (const flow of findMissingFlows({ sql, client }, { ageMinMs: options.age * 1000 })) {
            if (options.start) await restartFlow(sql, flow);
            flows.push(flow);
          }
          return flows;
        }),
      );
      printRows(
        options,
        missing.map(({ resource, start: { message } }) => ({
          id: message.id,
          flow: message.workflow,
          since: resource.createdAt,
          amount: message.input.amount ?? null,
          started: options.start ?? false,
        })),
        ['flow', 'id', 'since', 'amount'],
        `Every open resource older than ${options.age} s has a running flow.`,
      );
      if (missing.length > 0 && !options.json) {
        printLine(
          options.start
            ? 'The missing flows are being restarted.'
            : 'Restart them now with --start; otherwise the next sweep restarts them.',
        );
      }
    });
}

async function listLost(sql: Sql, since: Date): Promise<LostFlow[]> {
  const { findLostFlows } = await import('../recovery/lostFlows.ts');
  return await withTemporal((client) =>
    Array.fromAsync(findLostFlows({ sql, client }, { taskQueue: flowsQueue(), since })),
  );
}
