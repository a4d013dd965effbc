// The second look at a payment's credit, a moment after it was signalled: where its flow has not placed it yet because
// much else is waiting, another flow places it too (docs/decisions/0021-priorities-and-fairness.md). Until the look the
// message stays in the outbox, leased, and the look deletes it, so that a credit placed in time costs no statement
// more.
import { GroupCommit } from '../concurrency/groupCommit.ts';
import type { Sql } from '../database/pool.ts';
import { requireUuid, type Uuid } from '../ids.ts';
import type { Log } from '../telemetry/log.ts';
import { secondLooks } from '../telemetry/metrics.ts';
import type { FlowMessage } from '../workflows/flows.ts';
import type { PaymentCreditInput } from '../workflows/paymentCredit/messages.ts';

/** Longer than a credit waits while its flow is not held up; much shorter than the lease of a message. */
const LOOK_AFTER_MS = 1_000;
const BATCH_MAX = 500;

/**
 * The most second flows that a process starts a second. A second flow adds half of the cost of a payment. If every
 * credit of an overloaded service had one, the service could stay overloaded with a load that it serves otherwise.
 */
const STARTS_PER_SECOND_MAX = 3;

/** A leased outbox row, and the flow that places its credit. */
interface SignalledCredit<Row> {
  row: Row;
  placement: FlowMessage & { input: PaymentCreditInput };
}

interface Dependencies<Row> {
  sql: Sql;
  start: (message: FlowMessage) => Promise<void>;
  deleteRow: (row: Row) => Promise<void>;
  log: Log;
}

export interface SecondLook<Row> {
  add: (credit: SignalledCredit<Row>) => void;
  /** Deletes the messages that have not been looked at. Their flows have the signal. */
  stop: () => Promise<void>;
}

export function createSecondLook<Row extends { organisationId: Uuid; id: number }>({
  sql,
  start,
  deleteRow,
  log,
}: Dependencies<Row>): SecondLook<Row> {
  const waiting = new Map<SignalledCredit<Row>, NodeJS.Timeout>();
  const running = new Set<Promise<void>>();

  const looks = new GroupCommit<SignalledCredit<Row>, 'placed' | 'open'>({
    partitionOf: ({ row }) => row.organisationId,
    commit: async (organisationId, credits) => {
      const deleted = await sql<{ id: number }[]>`
        DELETE FROM outbox o
        USING unnest(${credits.map(({ row }) => row.id)}::bigint[], ${credits.map(creditIdOf)}::uuid[]) AS looked (id, credit_id)
        WHERE o.organisation_id = ${organisationId} AND o.id = looked.id
          AND NOT EXISTS (
            SELECT FROM inbound_credits c
            WHERE c.organisation_id = ${organisationId} AND c.id = looked.credit_id AND c.status = 'received')
        RETURNING o.id`;
      const placed = new Set(deleted.map(({ id }) => id));
      return credits.map(({ row }) => ({ status: 'fulfilled', value: placed.has(row.id) ? 'placed' : 'open' }));
    },
    entriesMax: BATCH_MAX,
  });

  const run = (credit: SignalledCredit<Row>, work: () => Promise<void>): void => {
    waiting.delete(credit);
    const { inboundCreditId } = credit.placement.input;
    const done = work()
      // The message becomes due again when its lease ends.
      .catch((error: unknown) => log.warn({ err: error, inboundCreditId }, 'a credit could not be looked at again'))
      .finally(() => running.delete(done));
    running.add(done);
  };

  async function look(credit: SignalledCredit<Row>): Promise<void> {
    const isPlaced = (await looks.add(credit)) === 'placed';
    const starts = !isPlaced && takeStart();
    secondLooks.inc({ outcome: isPlaced ? 'placed' : starts ? 'started' : 'left' });
    if (isPlaced) return;
    if (starts) await start(credit.placement);
    await deleteRow(credit.row);
  }

  let current = { second: 0, starts: 0 };
  /** Whether a second flow may be started now. */
  function takeStart(): boolean {
    const second = Math.floor(performance.now() / 1_000);
    if (current.second !== second) current = { second, starts: 0 };
    current.starts += 1;
    return current.starts <= STARTS_PER_SECOND_MAX;
  }

  return {
    add: (credit) => {
      waiting.set(
        credit,
        setTimeout(() => run(credit, () => look(credit)), LOOK_AFTER_MS),
      );
    },
    stop: async () => {
      for (const [credit, timer] of waiting) {
        clearTimeout(timer);
        run(credit, () => deleteRow(credit.row));
      }
      await Promise.all(running);
    },
  };
}

const creditIdOf = ({ placement }: SignalledCredit<unknown>): Uuid =>
  requireUuid('inboundCredit', placement.input.inboundCreditId);
