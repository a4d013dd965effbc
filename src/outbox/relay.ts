// The outbox relay: turns outbox rows into workflow starts, signals and event deliveries, within milliseconds of the
// commit. A row is leased, handled and deleted. When handling fails it becomes due again after a backoff, so no message
// is lost. Each kind has a lane of its own, so that a backlog of one holds no other: what is urgent (money that someone
// waits for, the starts of payouts), items of payouts, expiries of payments, and events. In each, sandbox messages come
// after live ones, and those of the organisations are taken in turns.
import type { Client } from '@temporalio/client';
import { GroupCommit } from '../concurrency/groupCommit.ts';
import { PollingLoop, together } from '../concurrency/pollingLoop.ts';
import type { Sql } from '../database/pool.ts';
import { publicId } from '../ids.ts';
import type { Book } from '../money.ts';
import type { Log } from '../telemetry/log.ts';
import { outboxMessages } from '../telemetry/metrics.ts';
import type { SpanAttributes } from '../telemetry/span.ts';
import { inSpan } from '../telemetry/tracing.ts';
import type { DispatchEvent, EventMessage } from '../webhooks/dispatcher.ts';
import { bookOf, FLOW_TOPIC, type FlowMessage, SCHEDULED_TOPIC } from '../workflows/flows.ts';
import { startFlow } from './startFlow.ts';

/** When a process dies, its messages become due again after this lease. Longer than the slowest handling. */
const LEASE_SECONDS = 60;
/** The retry backoff of a failed message doubles from 1 s up to this. */
const RETRY_DELAY_MAX_SECONDS = 15;
/** Urgent starts and signals at a time. */
const URGENT_CONCURRENCY = 25;
/**
 * Other starts at a time. A start takes 10 to 50 ms, so that is more than a hundred a second, and few enough that a
 * burst of them does not delay the urgent ones and the workers' tasks at the server.
 */
const START_CONCURRENCY = 8;
const EVENT_CONCURRENCY = 100;
const DELETION_BATCH_MAX = 500;

/** The values of `outbox.priority`. */
const URGENT = 1;
const NOT_URGENT = 2;

type EventToDispatch = Omit<EventMessage, 'book'>;

interface OutboxRow<Message = FlowMessage | EventToDispatch> extends Book {
  id: number;
  message: Message & { traceparent?: string };
  attempts: number;
}

export interface RelayDependencies {
  /**
   * `synchronous_commit = off`: leases and deletions may be lost in a crash, because a message may be handled twice.
   */
  asyncCommitSql: Sql;
  client: Client;
  taskQueue: string;
  dispatchEvent: DispatchEvent;
  log: Log;
}

/** The polling loops of one process. Start them with the worker; stop them before the connection pools are closed. */
export function createRelay(dependencies: RelayDependencies): ReturnType<typeof together> {
  const { asyncCommitSql: sql, client, taskQueue, log, dispatchEvent } = dependencies;

  const deletions = new GroupCommit<OutboxRow, void>({
    partitionOf: (row) => row.organisationId,
    commit: async (organisationId, rows) => {
      await sql`
        DELETE FROM outbox WHERE organisation_id = ${organisationId} AND id = ANY (${rows.map((row) => row.id)}::bigint[])`;
      return rows.map(() => ({ status: 'fulfilled', value: undefined }));
    },
    entriesMax: DELETION_BATCH_MAX,
  });

  const loop = <Message extends FlowMessage | EventToDispatch>(
    { topic, priority }: { topic: string; priority: number },
    concurrency: number,
    handle: (row: OutboxRow<Message>) => Promise<void>,
  ): PollingLoop<OutboxRow<Message>> => {
    let last: Pick<OutboxRow, 'organisationId' | 'environment'> | undefined; // whose turn was the last one
    return new PollingLoop({
      concurrency,
      claim: async (max) => {
        const rows = await sql<OutboxRow<Message>[]>`
          SELECT organisation_id, environment, id, message, attempts
          FROM ledger.claim_messages(
            ${topic}, ${priority}, ${last?.organisationId ?? null}, ${last?.environment ?? null}, ${max},
            ${LEASE_SECONDS})`;
        last = rows.at(-1);
        return rows;
      },
      handle: async (row) => {
        try {
          await traced(row, () => handle(row));
        } catch (error) {
          outboxMessages.inc({ topic, outcome: 'failed' });
          await reschedule(sql, row, error);
          log.warn(
            { err: error, topic, ...idsOf(row), attempts: row.attempts },
            'an outbox message could not be handled yet; it will be retried',
          );
          return;
        }
        outboxMessages.inc({ topic, outcome: 'handled' });
        await deletions.add(row);
      },
      onError: (error) => log.error({ err: error, topic }, 'the outbox could not be read; retrying'),
    });
  };

  const start = ({ message }: OutboxRow<FlowMessage>) => startFlow(client, taskQueue, message);
  return together([
    loop({ topic: FLOW_TOPIC, priority: URGENT }, URGENT_CONCURRENCY, start),
    loop({ topic: FLOW_TOPIC, priority: NOT_URGENT }, START_CONCURRENCY, start),
    loop({ topic: SCHEDULED_TOPIC, priority: NOT_URGENT }, START_CONCURRENCY, start),
    loop({ topic: 'event', priority: NOT_URGENT }, EVENT_CONCURRENCY, (row: OutboxRow<EventToDispatch>) =>
      dispatchEvent({ book: bookOf(row), ...row.message }),
    ),
  ]);
}

/** Runs `work` in a child span of the request or activity that wrote the message, where that was traced. */
async function traced(row: OutboxRow, work: () => Promise<void>): Promise<void> {
  const { message, attempts, environment } = row;
  const { traceparent } = message;
  if (traceparent === undefined) return await work();
  const { workflowId, eventId } = idsOf(row);
  const attributes: SpanAttributes = {
    'manilla.environment': environment,
    'manilla.outbox.attempt': attempts,
    temporalWorkflowID: workflowId,
    'manilla.event': eventId,
  };
  await inSpan(spanNameOf(message), { kind: 'producer', parent: traceparent, attributes }, work);
}

function spanNameOf(message: OutboxRow['message']): string {
  if (!('workflow' in message)) return 'deliver event';
  return `${message.signal === undefined ? 'StartWorkflow' : 'SignalWithStartWorkflow'}:${message.workflow}`;
}

/** The public id that a message refers to, for logs and spans. */
const idsOf = ({ message }: OutboxRow): { workflowId?: string; eventId?: string } =>
  'workflow' in message ? { workflowId: message.id } : { eventId: publicId('event', message.eventId) };

async function reschedule(sql: Sql, row: OutboxRow, error: unknown): Promise<void> {
  const delaySeconds = Math.min(RETRY_DELAY_MAX_SECONDS, 2 ** (row.attempts - 1));
  await sql`
    UPDATE outbox SET available_at = now() + make_interval(secs => ${delaySeconds}), last_error = ${String(error).slice(0, 500)}
    WHERE organisation_id = ${row.organisationId} AND id = ${row.id}`;
}
