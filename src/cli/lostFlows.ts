// `flows lost`, `flows import`: after a restore of the database to an earlier time, the flows whose resource it does
// not have, and the adjustments for those that the bank has paid (docs/operating.md).
import type { Command } from 'commander';
import type { Sql } from '../database/pool.ts';
import { publicId } from '../ids.ts';
import type { LostFlow } from '../recovery/lostFlows.ts';
import { addCommand, withDatabase } from './command.ts';
import { evidenceOption, reasonOption, time } from './options.ts';
import { moneyText, printLine, printRows, timeText } from './print.ts';
import { signIn } from './signIn.ts';
import { withTemporal } from './temporal.ts';

/** The reference of each transfer is added to the evidence. */
const TEXT_MAX = 400;
const SINCE = ['--since <time>', 'the time that the database was restored to, ISO 8601', time] as const;
const NONE = 'The database has the resource of every flow that started since.';

export function addLostFlowCommands(group: Command): void {
  addLost(group);
  addImport(group);
}

async function listLost(sql: Sql, since: Date): Promise<LostFlow[]> {
  const { findLostFlows } = await import('../recovery/lostFlows.ts');
  const taskQueue = process.env.TEMPORAL_TASK_QUEUE || 'manilla';
  return await withTemporal(async (client) => {
    const lost: LostFlow[] = [];
    for await (const flow of findLostFlows({ sql, client }, { taskQueue, since })) lost.push(flow);
    return lost;
  });
}

function addLost(group: Command): void {
  addCommand(
    group,
    'lost',
    'after a restore of the database: list the flows whose resource it does not have, and what the bank has paid of them by the last reconciliation',
    'flows lost --since 2026-01-31T12:00:00Z',
  )
    .requiredOption(...SINCE)
    .option('--end', 'end those that run: they cannot continue')
    .action(async (options: { since: Date; end?: true; json?: true }) => {
      const { findPaidLines } = await import('../recovery/lostTransfers.ts');
      const [lost, paid] = await withDatabase('application', async (sql) => {
        const flows = await listLost(sql, options.since);
        return [flows, await findPaidLines(sql, flows)] as const;
      });
      if (options.end) await end(lost.filter(({ isRunning }) => isRunning));
      const stateOf = ({ isRunning }: LostFlow): string => {
        if (!isRunning) return 'ended before';
        return options.end ? 'ended' : 'running';
      };
      const rows = lost.map((flow) => ({
        flow: flow.kind,
        id: flow.id,
        organisation: publicId('organisation', flow.organisationId),
        environment: flow.environment,
        walletId: flow.walletId,
        amount: flow.amount,
        startedAt: flow.startedAt,
        state: stateOf(flow),
        paidAt: paid.get(flow.id)?.at ?? null,
      }));
      printRows(
        options,
        rows,
        {
          Flow: (row) => row.flow,
          Id: (row) => row.id,
          Organisation: (row) => row.organisation,
          Book: (row) => row.environment,
          Wallet: (row) => row.walletId ?? '-',
          Amount: (row) => moneyText(row.amount),
          'Started (UTC)': (row) => timeText(row.startedAt),
          State: (row) => row.state,
          'Paid by the bank (UTC)': (row) => timeText(row.paidAt),
        },
        NONE,
      );
      if (paid.size > 0 && !options.json) printLine('Import what the bank has paid: npm run cli -- flows import');
    });
}

async function end(flows: readonly LostFlow[]): Promise<void> {
  await withTemporal(async (client) => {
    for (const { id } of flows)
      await client.workflow.getHandle(id).terminate('the database does not have its resource');
  });
}

function addImport(group: Command): void {
  addCommand(
    group,
    'import',
    'after a restore of the database: request an adjustment for each lost transfer that the bank has paid; another operator approves them; a repetition requests none twice',
    'flows import --since 2026-01-31T12:00:00Z --reason "restored to 12:00" --evidence "ticket 1234"',
  )
    .requiredOption(...SINCE)
    .addOption(reasonOption(TEXT_MAX))
    .addOption(evidenceOption(TEXT_MAX))
    .action(async (options: { since: Date; reason: string; evidence: string; json?: true }) => {
      const { reason, evidence } = options;
      const { importPaidTransfers } = await import('../recovery/lostTransfers.ts');
      const { Journal } = await import('../ledger/journal.ts');
      const imported = await withDatabase('application', async (sql, settings) => {
        const { id: requestedBy } = await signIn(sql, settings, 'flows import');
        const lost = await listLost(sql, options.since);
        return await importPaidTransfers({ sql, journal: new Journal(sql) }, lost, { reason, evidence, requestedBy });
      });
      printRows(
        options,
        imported,
        {
          Adjustment: (row) => row.adjustment,
          Reference: (row) => row.reference,
          'Debited account': (row) => row.debit,
          Amount: (row) => moneyText(row.amount),
          Outcome: (row) => row.refused ?? 'requested',
        },
        'The last reconciliation found no payment of a lost transfer: npm run cli -- reconciliation run --from ...',
      );
    });
}
