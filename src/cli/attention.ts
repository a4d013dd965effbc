// `attention …`: list the flows that are parked for an operator, show one, retry one or many, resolve one.
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { parseId, publicId } from '../ids.ts';
import { listShortfalls } from '../ledger/safeguarding.ts';
import { nairaText } from '../money.ts';
import { type FailingFlow, listFailingFlows } from '../recovery/failingFlows.ts';
import { createBatchCode } from '../resources/operators.ts';
import { findWaitingFlow } from '../resources/outbox.ts';
import { findProviderMessage } from '../resources/rails/providerMessages.ts';
import { refuseResolution } from '../workflows/attention/decide.ts';
import type { Resolution, RetryRequest } from '../workflows/attention/messages.ts';
import { onTaskQueues } from '../workflows/flows.ts';
import { addCommand, type Command, withDatabase } from './command.ts';
import { CommandError, EXIT } from './failure.ts';
import { printLine, printResult, printRows, timeText } from './print.ts';
import { createCode, signedIn } from './signIn.ts';
import { flowsQueue, nullIfNoFlow, sendDecision, withTemporal } from './temporal.ts';

/** Workflow ids that fit into one list query of Temporal. */
const IDS_PER_QUERY = 100;

export function addAttentionCommands(program: Command): void {
  const group = program
    .command('attention')
    .description('list, show and resolve flows that are parked for an operator');

  addCommand(
    group,
    'list',
    'list books with a shortfall, parked flows, the longest parked first, and failing or stalled ones',
  )
    .example('attention list --query "WalletId = \'svc_…_wlt\'"')
    .option('--query <query>', 'filter by search attributes, with the syntax of the Temporal UI')
    .action(async (options: { query?: string; json?: true }) => {
      const parked = await withTemporal((client) => listParked(client, options.query));
      const failing = await listFailing(options.query);
      const short = options.query === undefined ? await listShort() : [];
      printRows(
        options,
        [...short, ...parked, ...failing],
        ['flow', 'id', 'attention', 'since', 'amount'],
        'No flow is parked, failing or stalled, and no book has a shortfall.',
      );
      if (options.json) return;
      for (const { id, error } of [...short, ...failing]) printLine(`${id}: ${error}`);
    });

  addCommand(group, 'show <id>', 'show the status of a flow and what it waits for, as in the Temporal UI')
    .example('attention show svc_01k5…_wth')
    .action(async (id: string, options: { json?: true }) => {
      const report = await withTemporal(async (client) => {
        const handle = client.workflow.getHandle(id);
        const described = await nullIfNoFlow(handle.describe());
        if (described === null) return null;
        const { ATTENTION, ORGANISATION_ID } = await import('../workflows/searchAttributes.ts');
        const metadata = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
        return {
          id,
          flow: described.type,
          status: described.status.name,
          attention: described.typedSearchAttributes.get(ATTENTION) ?? null,
          details: metadata.currentDetails ?? '',
          organisation: described.typedSearchAttributes.get(ORGANISATION_ID),
        };
      });
      const { organisation, ...shown } = report ?? (await unstartedView(id));
      const organisationId = parseId('organisation', organisation ?? '');
      const last =
        organisationId === null
          ? null
          : await withDatabase('application', (sql) => findProviderMessage(sql, organisationId, id));
      printResult(
        options,
        { ...shown, providerMessage: last },
        `${shown.flow} ${id} (${shown.status})\n\n${shown.details}`,
        last !== null && `\nLast message of the provider, at ${timeText(last.receivedAt)} UTC: ${last.message}.`,
      );
    });

  addCommand(group, 'retry [id]', 'retry one parked flow, or all that match a query')
    .example('attention retry --query "Attention = \'rail_unreachable\'" --reason "the bank is back"')
    .option('--query <query>', 'the parked flows to retry, by search attributes')
    .requiredOption('--reason <text>', 'the reason, recorded in the audit log')
    .action(async (id: string | undefined, options: { query?: string; reason: string; json?: true }) => {
      if ((id === undefined) === (options.query === undefined)) {
        throw new CommandError('Give either a flow id or --query.');
      }
      const { query, reason } = options;
      if (id !== undefined) {
        const { code } = await createCode('attention retry', id, 'retry');
        const request: RetryRequest = { reason, code };
        await withTemporal((client) => orNotFound(id, client.workflow.getHandle(id).signal('retry', request)));
        return printResult(options, { flows: 1 }, `Sent retry to 1 flow. ${STILL_PARKED}`);
      }
      const batch = await withTemporal((client) => startRetries(client, query ?? '', reason));
      if (!options.json) {
        printLine(`Started the batch ${batch} in Temporal. It continues if you interrupt this command.`);
      }
      const { flows, failed } = await withTemporal((client) => untilDone(client, batch, options.json !== true));
      if (failed > 0) process.exitCode = EXIT.failed;
      const line = `Sent retry to ${flows} ${flows === 1 ? 'flow' : 'flows'}, ${failed} failed. ${STILL_PARKED}`;
      printResult(options, { batch, flows, failed }, line);
    });

  addCommand(group, 'resolve <id>', 'resolve one parked flow; complete, fail and return need two operators')
    .example('attention resolve svc_01k5…_wth --action fail --reason "confirmed by the bank" --evidence TICKET-1')
    .requiredOption(
      '--action <action>',
      'retry, complete, fail, return, dismiss or set_aside; `attention show` explains the choices of a flow',
    )
    .requiredOption('--reason <text>', 'the reason, recorded in the audit log')
    .option('--evidence <text>', "the evidence for the decision, for example the bank's ticket")
    .action(async (id: string, { json, ...decision }: Omit<Resolution, 'code'> & { json?: true }) => {
      const { code } = await createCode('attention resolve', id, decision.action);
      const resolution: Resolution = { ...decision, code }; // validated by the flow
      const { status } = await withTemporal((client) => orNotFound(id, client.workflow.getHandle(id).describe()));
      if (status.name !== 'RUNNING') throw new CommandError(refuseResolution(null, null) ?? '');
      await sendDecision({ json }, id, { name: 'resolve', args: [resolution] }, noSuchFlow(id));
    });
}

/** A payment has no flow until its first credit or its end. */
async function unstartedView(id: string) {
  const waiting = await withDatabase('application', (sql) => findWaitingFlow(sql, id));
  if (waiting === null) throw new CommandError(noSuchFlow(id));
  const { organisationId, workflow, summary, state, startsAt, lastError } = waiting;
  const problem = lastError === null ? '' : ` The last attempt failed: ${lastError}.`;
  return {
    id,
    flow: workflow,
    status: 'NOT STARTED',
    attention: null,
    details: `**${state}**: ${summary}. The flow starts at ${timeText(startsAt)} UTC, or with the next news.${problem}`,
    organisation: publicId('organisation', organisationId),
  };
}

/** Of this installation: another one may use the same namespace. */
const parkedQuery = (filter?: string): string =>
  `Attention IS NOT NULL AND ExecutionStatus = 'Running' AND ${onTaskQueues(flowsQueue())}` +
  (filter === undefined ? '' : ` AND (${filter})`);

async function listParked(client: Client, filter?: string) {
  const { AMOUNT_KOBO, ATTENTION, ATTENTION_SINCE } = await import('../workflows/searchAttributes.ts');
  const flows = client.workflow.list({ query: parkedQuery(filter) });
  const parked = await Array.fromAsync(flows, ({ workflowId, type, typedSearchAttributes }) => ({
    id: workflowId,
    flow: type,
    attention: typedSearchAttributes.get(ATTENTION) ?? '',
    since: typedSearchAttributes.get(ATTENTION_SINCE) ?? null,
    amount: typedSearchAttributes.get(AMOUNT_KOBO) ?? null,
  }));
  return parked.toSorted((a, b) => (a.since?.getTime() ?? 0) - (b.since?.getTime() ?? 0));
}

const TO_DO = {
  activity: 'It is retried; fix the cause, and the flow continues by itself',
  workflow_task: 'Deploy the version before, or a fix; the flow then continues by itself',
  stalled: 'Check that workers poll its task queue and have free slots; if they do, restart Temporal',
};

function problemOf({ task, activity, problem, attempt, since, error }: FailingFlow): string {
  const name = activity ?? 'the workflow task';
  if (problem === 'failing') return `${name} fails, attempt ${attempt}: ${error}. ${TO_DO[task]}.`;
  const minutes = Math.floor((Date.now() - since.getTime()) / 60_000);
  return `${name}: ${error} for ${minutes} ${minutes === 1 ? 'minute' : 'minutes'}. ${TO_DO.stalled}.`;
}

/** Books whose banks hold less than what is owed. */
async function listShort() {
  const short = await withDatabase('application', (sql) => listShortfalls(sql));
  return short.map(({ organisationId, environment, amount }) => ({
    id: publicId('organisation', organisationId),
    flow: `${environment} book`,
    attention: 'shortfall',
    since: null,
    amount,
    error: `pay ${nairaText(amount)} of own money in at the provider, as funding (docs/operating.md, shortfall).`,
  }));
}

/** Flows with a task that does not get done, as the last scan found them; with a filter, those that match. */
async function listFailing(filter?: string) {
  const failing = await withDatabase('application', (sql) => listFailingFlows(sql));
  const matching = filter === undefined || failing.length === 0 ? null : await idsMatching(failing, filter);
  return failing
    .filter(({ workflowId }) => matching === null || matching.has(workflowId))
    .map((flow) => ({
      id: flow.workflowId,
      flow: flow.workflow,
      attention: `${flow.task}_${flow.problem}`,
      since: flow.since,
      amount: null,
      error: problemOf(flow),
    }));
}

async function idsMatching(failing: readonly FailingFlow[], filter: string): Promise<Set<string>> {
  const found = new Set<string>();
  await withTemporal(async (client) => {
    for (let first = 0; first < failing.length; first += IDS_PER_QUERY) {
      const ids = failing.slice(first, first + IDS_PER_QUERY).map(({ workflowId }) => `'${workflowId}'`);
      const query = `WorkflowId IN (${ids.join(', ')}) AND (${filter})`;
      for await (const { workflowId } of client.workflow.list({ query })) found.add(workflowId);
    }
  });
  return found;
}

const STILL_PARKED = 'See which are still parked: npm run cli -- attention list';

/** Starts a batch operation that signals every parked flow of the query. Returns its job id. */
async function startRetries(client: Client, query: string, reason: string): Promise<string> {
  const batch = randomUUID();
  const code = await signedIn('attention retry', (sql, operator) =>
    createBatchCode(sql, operator, { batch, query, reason }),
  );
  const { encodeToPayloads } = await import('@temporalio/common/lib/internal-non-workflow/codec-helpers.js');
  const request: RetryRequest = { reason, code, batch };
  await client.workflowService.startBatchOperation({
    namespace: client.options.namespace,
    jobId: batch,
    reason: 'attention retry: the reason is in the audit log', // not encrypted
    visibilityQuery: parkedQuery(`(${query}) AND Attention NOT IN ('review', 'reconciliation_break')`), // need a decision
    signalOperation: {
      signal: 'retry',
      input: { payloads: (await encodeToPayloads(client.options.loadedDataConverter, request)) ?? [] },
    },
  });
  return batch;
}

const POLL_MS = 500;
/** temporal.api.enums.v1.BatchOperationState */
const RUNNING = 1;

async function untilDone(client: Client, jobId: string, isShown: boolean): Promise<{ flows: number; failed: number }> {
  const { namespace } = client.options;
  for (let shown = ''; ; await new Promise((resolve) => setTimeout(resolve, POLL_MS))) {
    const job = await client.workflowService.describeBatchOperation({ namespace, jobId });
    const [flows, failed] = [Number(job.completeOperationCount), Number(job.failureOperationCount)];
    const progress = `${flows + failed} of ${Number(job.totalOperationCount)} flows`;
    if (isShown && progress !== shown) printLine(progress);
    shown = progress;
    if (job.state !== RUNNING) return { flows, failed };
  }
}

async function orNotFound<Result>(id: string, call: Promise<Result>): Promise<Result> {
  const found = await nullIfNoFlow(call);
  if (found === null) throw new CommandError(noSuchFlow(id));
  return found;
}

const noSuchFlow = (id: string): string =>
  `There is no running flow ${id}. List the parked flows: npm run cli -- attention list`;
