// Flows of which the database does not have the resource. A flow is started after its resource is committed, so there
// are none, unless the database was restored to an earlier time than Temporal.
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { inBatches } from '../concurrency/batches.ts';
import type { Sql } from '../database/pool.ts';
import { ALL_ORGANISATIONS, parseId, type Uuid } from '../ids.ts';
import type { Book, Kobo } from '../money.ts';
import { TABLES } from '../resources/tables.ts';
import { onTaskQueues } from '../workflows/flows.ts';
import { AMOUNT_KOBO, ENVIRONMENT, ORGANISATION_ID, WALLET_ID } from '../workflows/searchAttributes.ts';

/** The flows that are looked at, whose workflow id is the public id of their resource. */
const KINDS = ['payment', 'withdrawal', 'refund', 'payout', 'payoutItem', 'reviewCase', 'hold'] as const;
type Kind = (typeof KINDS)[number];

/** Flows that are compared with the database at once. */
const BATCH = 200;

export interface LostFlow extends Book {
  kind: Kind;
  /** Workflow id, which is also the reference of its transfer at the bank, if it has one. */
  id: string;
  resourceId: Uuid;
  /** Public id; null: the flow does not name one. */
  walletId: string | null;
  amount: Kobo | null;
  startedAt: Date;
  isRunning: boolean;
}

type Dependencies = { sql: Sql; client: Client };

/** The lost flows among all that started after this time. */
export async function* findLostFlows(
  { sql, client }: Dependencies,
  { taskQueue, since }: { taskQueue: string; since: Date },
): AsyncGenerator<LostFlow> {
  const flows = client.workflow.list({ query: startedAfter(since, taskQueue) });
  for await (const batch of inBatches(flows, BATCH)) yield* await lostAmong(sql, batch);
}

/** Among the newest that run or have ended, which a restore loses first, since the rail was last resumed. */
export async function findNewestLostFlow({ sql, client }: Dependencies, taskQueue: string): Promise<LostFlow | null> {
  const since = await lastResume(sql);
  for (const state of ['=', '!=']) {
    const query = `${startedAfter(since, taskQueue)} AND ExecutionStatus ${state} 'Running'`;
    const newest: WorkflowExecutionInfo[] = [];
    for await (const flow of client.workflow.list({ query, pageSize: BATCH })) {
      newest.push(flow);
      if (newest.length === BATCH) break;
    }
    const [lost] = await lostAmong(sql, newest);
    if (lost !== undefined) return lost;
  }
  return null;
}

const startedAfter = (since: Date, taskQueue: string): string =>
  `WorkflowType IN ('${KINDS.join("', '")}') AND StartTime > '${since.toISOString()}' AND ${onTaskQueues(taskQueue)}`;

async function lastResume(sql: Sql): Promise<Date> {
  const [row] = await sql<{ at: Date }[]>`
    SELECT coalesce(max(created_at), 'epoch') AS at FROM audit_log
    WHERE organisation_id = ${ALL_ORGANISATIONS} AND action = 'rail.resume'`;
  return row?.at ?? new Date(0);
}

async function lostAmong(sql: Sql, flows: readonly WorkflowExecutionInfo[]): Promise<LostFlow[]> {
  const parsed = flows.flatMap((flow) => parse(flow) ?? []);
  const lost = await Promise.all(
    KINDS.map(async (kind) => {
      const ofKind = parsed.filter((flow) => flow.kind === kind);
      if (ofKind.length === 0) return [];
      const rows = await sql<{ id: Uuid }[]>`
        SELECT id FROM ${sql(TABLES[kind])} JOIN unnest(${ofKind.map((flow) => flow.organisationId)}::uuid[],
          ${ofKind.map((flow) => flow.resourceId)}::uuid[]) AS asked (organisation_id, id) USING (organisation_id, id)`;
      const known = new Set(rows.map(({ id }) => id));
      return ofKind.filter(({ resourceId }) => !known.has(resourceId));
    }),
  );
  return lost.flat();
}

/** Null: a flow that was started by hand. */
function parse({ type, workflowId, startTime, status, typedSearchAttributes }: WorkflowExecutionInfo): LostFlow | null {
  const kind = KINDS.find((one) => one === type);
  const organisationId = parseId('organisation', typedSearchAttributes.get(ORGANISATION_ID) ?? '');
  const environment = typedSearchAttributes.get(ENVIRONMENT);
  const resourceId = kind === undefined ? null : parseId(kind, workflowId);
  if (kind === undefined || resourceId === null || organisationId === null) return null;
  return {
    kind,
    id: workflowId,
    resourceId,
    organisationId,
    environment: environment === 'live' ? 'live' : 'test',
    walletId: typedSearchAttributes.get(WALLET_ID) ?? null,
    amount: typedSearchAttributes.get(AMOUNT_KOBO) ?? null,
    startedAt: startTime,
    isRunning: status.name === 'RUNNING',
  };
}
