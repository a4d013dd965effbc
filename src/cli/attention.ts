// `attention …`: list the flows that are parked for an operator, show one, retry one or many, resolve one.
import type { Client } from '@temporalio/client';
import type { Command } from 'commander';
import { createOperatorCodes } from '../resources/operators.ts';
import { refuseResolution } from '../workflows/attention/decide.ts';
import type { Resolution, ResolveAction, ResolveAnswer, RetryRequest } from '../workflows/attention/messages.ts';
import { addCommand, withDatabase } from './command.ts';
import { CommandError } from './failure.ts';
import { printJson, printLine, printTable, timeText } from './print.ts';
import { createCode, signIn } from './signIn.ts';
import { isNoFlow, refusalOf, withTemporal } from './temporal.ts';

/** One parked flow. */
interface ParkedFlow {
  id: string;
  flow: string;
  attention: string;
  since: Date | null;
  /** Kobo. */
  amount: number | null;
}

/** Retry signals in flight at a time, so that many retries do not overload a rail that has just recovered. */
const RETRY_CONCURRENCY = 20;

export function addAttentionCommands(program: Command): void {
  const group = program
    .command('attention')
    .description('list, show and resolve flows that are parked for an operator');
  addList(group);
  addShow(group);
  addRetry(group);
  addResolve(group);
}

async function listParked(client: Client, filter?: string): Promise<ParkedFlow[]> {
  const query = `Attention IS NOT NULL AND ExecutionStatus = 'Running'${filter === undefined ? '' : ` AND (${filter})`}`;
  const parked: ParkedFlow[] = [];
  const { AMOUNT_KOBO, ATTENTION, ATTENTION_SINCE } = await import('../workflows/searchAttributes.ts');
  for await (const { workflowId, type, typedSearchAttributes } of client.workflow.list({ query })) {
    parked.push({
      id: workflowId,
      flow: type,
      attention: typedSearchAttributes.get(ATTENTION) ?? '',
      since: typedSearchAttributes.get(ATTENTION_SINCE) ?? null,
      amount: typedSearchAttributes.get(AMOUNT_KOBO) ?? null,
    });
  }
  return parked.toSorted((a, b) => (a.since?.getTime() ?? 0) - (b.since?.getTime() ?? 0));
}

function addList(group: Command): void {
  addCommand(
    group,
    'list',
    'list parked flows, the longest parked first',
    'attention list --query "WalletId = \'svc_…_wlt\'"',
  )
    .option('--query <query>', 'filter by search attributes, with the syntax of the Temporal UI')
    .action(async (options: { query?: string; json?: true }) => {
      const parked = await withTemporal((client) => listParked(client, options.query));
      if (options.json) return printJson(parked);
      printTable(
        ['Flow', 'Id', 'Attention', 'Since (UTC)', 'Kobo'],
        parked.map(({ id, flow, attention, since, amount }) => [
          flow,
          id,
          attention,
          timeText(since),
          String(amount ?? '-'),
        ]),
        'No flow is parked.',
      );
    });
}

function addShow(group: Command): void {
  addCommand(
    group,
    'show <id>',
    'show the status of a flow and what it waits for, as in the Temporal UI',
    'attention show svc_01k5…_wth',
  ).action(async (id: string, options: { json?: true }) => {
    const report = await withTemporal(async (client) => {
      const handle = client.workflow.getHandle(id);
      const described = await orNotFound(id, handle.describe());
      const { ATTENTION } = await import('../workflows/searchAttributes.ts');
      const metadata = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
      return {
        id,
        flow: described.type,
        status: described.status.name,
        attention: described.typedSearchAttributes.get(ATTENTION) ?? null,
        details: metadata.currentDetails ?? '',
      };
    });
    if (options.json) return printJson(report);
    printLine(`${report.flow} ${id} (${report.status})\n\n${report.details}`);
  });
}

function addRetry(group: Command): void {
  addCommand(
    group,
    'retry [id]',
    'retry one parked flow, or all that match a query',
    'attention retry --query "Attention = \'rail_unreachable\'" --reason "the bank is back"',
  )
    .option('--query <query>', 'the parked flows to retry, by search attributes')
    .requiredOption('--reason <text>', 'the reason, recorded in the audit log')
    .action(async (id: string | undefined, options: { query?: string; reason: string; json?: true }) => {
      if ((id === undefined) === (options.query === undefined)) {
        throw new CommandError('Give either a flow id or --query.');
      }
      const retried = await withDatabase('application', async (sql, settings) => {
        const operator = await signIn(sql, settings, 'attention retry');
        return await withTemporal(async (client) => {
          /** Returns those of the flows that are running. */
          const signal = async (ids: readonly string[]): Promise<string[]> => {
            const { codes } = await createOperatorCodes(sql, operator.id, ids);
            const signalled = await Promise.all(
              Array.from(codes, async ([flow, code]) => {
                const request: RetryRequest = { reason: options.reason, code };
                return (await isRunning(client.workflow.getHandle(flow).signal('retry', request))) ? [flow] : [];
              }),
            );
            return signalled.flat();
          };
          if (id !== undefined) {
            const signalled = await signal([id]);
            if (signalled.length === 0) throw noSuchFlow(id);
            return signalled;
          }
          // A flow that has ended since it was listed needs no retry, and does not keep the others from theirs.
          const parked = (await listParked(client, options.query)).map((flow) => flow.id);
          const signalled: string[] = [];
          for (let first = 0; first < parked.length; first += RETRY_CONCURRENCY) {
            signalled.push(...(await signal(parked.slice(first, first + RETRY_CONCURRENCY))));
          }
          return signalled;
        });
      });
      if (options.json) return printJson(retried.map((flow) => ({ id: flow })));
      printLine(
        `Sent retry to ${retried.length} ${retried.length === 1 ? 'flow' : 'flows'}. See which are still parked: npm run cli -- attention list`,
      );
    });
}

function addResolve(group: Command): void {
  addCommand(
    group,
    'resolve <id>',
    'resolve one parked flow; complete, fail and return need two operators',
    'attention resolve svc_01k5…_wth --action fail --reason "confirmed by the bank" --evidence TICKET-1',
  )
    .requiredOption(
      '--action <action>',
      'retry, complete, fail, return, dismiss or set_aside; `attention show` explains the choices of a flow',
    )
    .requiredOption('--reason <text>', 'the reason, recorded in the audit log')
    .option('--evidence <text>', "the evidence for the decision, for example the bank's ticket")
    .action(async (id: string, options: { action: string; reason: string; evidence?: string; json?: true }) => {
      const code = await createCode('attention resolve', id);
      const resolution: Resolution = {
        action: options.action as ResolveAction, // validated by the flow
        reason: options.reason,
        code,
        ...(options.evidence !== undefined && { evidence: options.evidence }),
      };
      const answer = await withTemporal(async (client) => {
        const handle = client.workflow.getHandle(id);
        const described = await orNotFound(id, handle.describe());
        if (described.status.name !== 'RUNNING') throw new CommandError(refuseResolution(null, null) ?? '');
        try {
          return await handle.executeUpdate<ResolveAnswer, [Resolution]>('resolve', { args: [resolution] });
        } catch (error) {
          const refusal = refusalOf(error);
          if (refusal !== null) throw new CommandError(refusal);
          throw error;
        }
      });
      if (options.json) return printJson({ id, ...answer });
      printLine(answer.message);
    });
}

/** False when the flow that was signalled has ended. */
async function isRunning(signalled: Promise<void>): Promise<boolean> {
  try {
    await signalled;
    return true;
  } catch (error) {
    if (isNoFlow(error)) return false;
    throw error;
  }
}

async function orNotFound<Result>(id: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (isNoFlow(error)) throw noSuchFlow(id);
    throw error;
  }
}

const noSuchFlow = (id: string): CommandError =>
  new CommandError(`There is no running flow ${id}. List the parked flows: npm run cli -- attention list`);
