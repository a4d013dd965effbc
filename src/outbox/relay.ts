// The outbox relay: turns outbox rows into workflow starts, signals and event deliveries, within milliseconds of the
// commit. A row is leased, handled and deleted. When handling fails it becomes due again after a backoff, so no message
// is lost.
import type { Client } from '@temporalio/client';
import { GroupCommit } from '../concurrency/groupCommit.ts';
import { PollingLoop } from '../concurrency/pollingLoop.ts';
import type { Sql } from '../database/pool.ts';
import { publicId, type Uuid } from '../ids.ts';
import type { Book, Environment } from '../money.ts';
import type { Log } from '../telemetry/log.ts';
import { outboxMessages } from '../telemetry/metrics.ts';
import type { SpanAttributes } from '../telemetry/span.ts';
import { inSpan } from '../telemetry/tracing.ts';
import type { Dispatcher, EventMessage } from '../webhooks/dispatcher.ts';
import { FLOW_TOPIC, type FlowMessage } from '../workflows/flows.ts';
import { startFlow } from './startFlow.ts';

/** When a process dies, its messages become due again after this lease. Longer than the slowest handling. */
const LEASE_SECONDS = 60;
/** The retry backoff of a failed message doubles from 1 s up to this. */
const RETRY_DELAY_MAX_SECONDS = 15;
const FLOW_CONCURRENCY = 50;
const EVENT_CONCURRENCY = 100;
const DELETION_BATCH_MAX = 500;

interface OutboxRow {
  organisationId: Uuid;
  environment: Environment;
  id: number;
  message: Record<string, unknown>;
  attempts: number;
}

export interface RelayDependencies {
  /**
   * `synchronous_commit = off`: leases and deletions may be lost in a crash, because a message may be handled twice.
   */
  asyncCommitSql: Sql;
  client: Client;
  taskQueue: string;
  dispatcher: Dispatcher;
  log: Log;
}

/** The polling loops of one process. Start them with the worker; stop them before the connection pools are closed. */
export function createRelay(dependencies: RelayDependencies): { start: () => void; stop: () => Promise<void> } {
  const { asyncCommitSql: sql, client, taskQueue, log, dispatcher } = dependencies;

  const deletions = new GroupCommit<OutboxRow, void>({
    partitionOf: (row) => row.organisationId,
    commit: async (organisationId, rows) => {
      await sql`
        DELETE FROM outbox WHERE organisation_id = ${organisationId} AND id = ANY (${rows.map((row) => row.id)}::bigint[])`;
      return rows.map(() => ({ status: 'fulfilled', value: undefined }));
    },
    entriesMax: DELETION_BATCH_MAX,
  });

  const loop = (
    topic: string,
    concurrency: number,
    handle: (row: OutboxRow) => Promise<void>,
  ): PollingLoop<OutboxRow> =>
    new PollingLoop<OutboxRow>({
      concurrency,
      // MATERIALIZED: the subquery runs once. A plan cached while the outbox was empty would run it again for each row.
      claim: (max) => sql<OutboxRow[]>`
        WITH due AS MATERIALIZED (
          SELECT organisation_id, id FROM outbox WHERE topic = ${topic} AND available_at <= now()
          ORDER BY available_at, id LIMIT ${max} FOR UPDATE SKIP LOCKED
        )
        UPDATE outbox o SET available_at = now() + make_interval(secs => ${LEASE_SECONDS}), attempts = attempts + 1
        FROM due
        WHERE o.organisation_id = due.organisation_id AND o.id = due.id
        RETURNING o.organisation_id, o.environment, o.id, o.message, o.attempts`,
      handle: async (row) => {
        try {
          await traced(topic, row, () => handle(row));
        } catch (error) {
          outboxMessages.inc({ topic, outcome: 'failed' });
          await reschedule(sql, row, error);
          const ids = idsOf(row.message);
          log.warn(
            { err: error, topic, ...ids, attempts: row.attempts },
            'an outbox message could not be handled yet; it will be retried',
          );
          return;
        }
        await deletions.add(row);
        outboxMessages.inc({ topic, outcome: 'handled' });
      },
      onError: (error) => log.error({ err: error, topic }, 'the outbox could not be read; retrying'),
    });

  const loops = [
    loop(FLOW_TOPIC, FLOW_CONCURRENCY, (row) => startFlow(client, taskQueue, row.message as unknown as FlowMessage)),
    loop('event', EVENT_CONCURRENCY, (row) =>
      dispatcher.dispatchEvent({ book: bookOfRow(row), ...eventOf(row.message) }),
    ),
  ];
  return {
    start: () => {
      for (const polling of loops) polling.start();
    },
    stop: async () => {
      await Promise.all(loops.map((polling) => polling.stop()));
    },
  };
}

const bookOfRow = ({ organisationId, environment }: OutboxRow): Book => ({ organisationId, environment });

/** Runs `work` in a child span of the request or activity that wrote the message, where that was traced. */
async function traced(
  topic: string,
  { message, attempts, environment }: OutboxRow,
  work: () => Promise<void>,
): Promise<void> {
  const { traceparent } = message as { traceparent?: string };
  if (traceparent === undefined) return await work();
  const { workflow, signal } = message as { workflow?: string; signal?: object };
  const { workflowId, eventId } = idsOf(message);
  const attributes: SpanAttributes = {
    'manilla.environment': environment,
    'manilla.outbox.attempt': attempts,
    temporalWorkflowID: workflowId,
    'manilla.event': eventId,
  };
  const start = signal === undefined ? 'StartWorkflow' : 'SignalWithStartWorkflow';
  const name = topic === FLOW_TOPIC ? `${start}:${workflow}` : 'deliver event';
  await inSpan(name, { kind: 'producer', parent: traceparent, attributes }, work);
}

/** The public id that a message refers to, for logs and spans. */
function idsOf(message: Record<string, unknown>): { workflowId?: string; eventId?: string } {
  const { id, eventId } = message as { id?: string; eventId?: Uuid };
  if (eventId !== undefined) return { eventId: publicId('event', eventId) };
  return id === undefined ? {} : { workflowId: id };
}

/** Event messages carry plain UUIDs, not public ids. */
function eventOf(message: Record<string, unknown>): Omit<EventMessage, 'book'> {
  const { eventId, endpointId, redelivery, endpointClosed } = message as Partial<EventMessage> & { eventId: Uuid };
  return {
    eventId,
    ...(endpointId && { endpointId }),
    ...(redelivery && { redelivery }),
    ...(endpointClosed && { endpointClosed }),
  };
}

async function reschedule(sql: Sql, row: OutboxRow, error: unknown): Promise<void> {
  const delaySeconds = Math.min(RETRY_DELAY_MAX_SECONDS, 2 ** (row.attempts - 1));
  await sql`
    UPDATE outbox SET available_at = now() + make_interval(secs => ${delaySeconds}), last_error = ${String(error).slice(0, 500)}
    WHERE organisation_id = ${row.organisationId} AND id = ${row.id}`;
}
