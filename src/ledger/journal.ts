// The journal: the only writer of the books. It gathers the movements of one process, posts each batch with one statement
// (`ledger.post`), and gives every movement an outcome of its own.

import { GroupCommit } from '../concurrency/groupCommit.ts';
import { isContention, isOutage, isStatementTimeout, violatedUnique } from '../database/errors.ts';
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import { journalBatchSeconds, journalBatchSize, journalMovements } from '../telemetry/metrics.ts';
import { currentTraceparent } from '../telemetry/tracing.ts';
import { batchColumns } from './batch.ts';
import type { AccountCode } from './chart.ts';
import type { Movement, PostResult, RefusalCode } from './movement.ts';
import { POST } from './postStatements.ts';

/** Past this many movements a statement gains no speed and its callers wait longer. */
const BATCH_MAX = 500;

/** And past this many postings and rows. A full payout has twice as many: it is a batch by itself. */
const BATCH_WEIGHT_MAX = 1_000;

/** A movement of so many postings and rows does not stand in the way of lighter ones: it waits in a queue of its own. */
const HEAVY_FROM = 100;

/** From so many callers on, two statements at a time are better than one: one is made here while the database works on the other. */
const PIPELINE_FROM = 32;

/** A lost connection or a deadlock is tried again after these pauses; then the caller hears of it. */
const RETRY_PAUSES_MS = [10, 100, 500];

/** SQLSTATE of `ledger.post` for a row that somebody else changed first. */
const STALE_VERSION = 'ML001';

const partitionOf = ({ book }: Movement): string => `${book.organisationId}/${book.environment}`;

/** How many postings and rows a movement has. */
function weightOf({ transaction, rows = {} }: Movement): number {
  let weight = transaction?.postings.length ?? 0;
  for (const table of Object.values(rows)) weight += table.length;
  return weight;
}

export class Journal {
  readonly #sql: Sql;
  readonly #group: GroupCommit<Movement, PostResult>;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#group = new GroupCommit({
      partitionOf,
      commit: (_, movements) => recordMetrics(movements, this.#commit(movements)),
      entriesMax: BATCH_MAX,
      weightOf,
      weightMax: BATCH_WEIGHT_MAX,
      heavyFrom: HEAVY_FROM,
      pipelineFrom: PIPELINE_FROM,
    });
  }

  /**
   * Posts one movement, together with those of other callers. Resolves when it is durable or was refused; rejects when
   * the database is gone, and then it may or may not have happened: the same movement may be posted again.
   */
  post(movement: Movement): Promise<PostResult> {
    const traceparent = currentTraceparent(); // here: the statement is sent on behalf of many callers
    return this.#group.add(traceparent === undefined ? movement : { ...movement, traceparent });
  }

  /** Posts a batch. Of several movements that change one row, the first goes ahead: at most one of them can hold. */
  async #commit(movements: Movement[]): Promise<PromiseSettledResult<PostResult>[]> {
    const leaders = firstWriterOf(movements);
    const ahead = movements.filter((_, position) => leaders[position] === position);
    const results = new Map<Movement, PromiseSettledResult<PostResult>>();
    for (const [position, result] of (await this.#attempt(ahead, 0)).entries()) {
      results.set(ahead[position] as Movement, result);
    }
    const again: Movement[] = [];
    for (const [position, movement] of movements.entries()) {
      if (results.has(movement)) continue;
      const led = results.get(movements[leaders[position] as number] as Movement);
      if (led?.status === 'fulfilled' && led.value.outcome === 'posted') {
        results.set(movement, { status: 'fulfilled', value: { outcome: 'conflict', constraint: null } });
      } else {
        again.push(movement); // the first did not change the row after all
      }
    }
    if (again.length > 0) {
      for (const [position, result] of (await this.#commit(again)).entries()) {
        results.set(again[position] as Movement, result);
      }
    }
    return movements.map((movement) => results.get(movement) as PromiseSettledResult<PostResult>);
  }

  async #attempt(movements: Movement[], attempt: number): Promise<PromiseSettledResult<PostResult>[]> {
    try {
      const results = await this.#send(movements);
      return results.map((value) => ({ status: 'fulfilled', value }));
    } catch (error) {
      if (isOutage(error) || isContention(error)) {
        const pause = RETRY_PAUSES_MS[attempt];
        // Whoever asked waits no longer than a statement may take, and the repeat would hold up its lane as long again.
        if (pause === undefined || isStatementTimeout(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, pause));
        return await this.#attempt(movements, attempt + 1); // it may have happened
      }
      if (movements.length > 1) {
        // One of them spoils the statement for all. Halve until it stands alone, so that it fails no neighbour.
        const middle = Math.ceil(movements.length / 2);
        return [
          ...(await this.#attempt(movements.slice(0, middle), 0)),
          ...(await this.#attempt(movements.slice(middle), 0)),
        ];
      }
      const constraint = violatedUnique(error);
      if (constraint !== null || (error as { code?: unknown }).code === STALE_VERSION) {
        return [{ status: 'fulfilled', value: { outcome: 'conflict', constraint } }];
      }
      return [{ status: 'rejected', reason: error }];
    }
  }

  async #send(movements: Movement[]): Promise<PostResult[]> {
    journalBatchSize.observe(movements.length);
    const started = performance.now();
    let outcome = 'failed';
    try {
      const results = await this.#statement(movements);
      outcome = 'ok';
      return results;
    } finally {
      journalBatchSeconds.observe({ outcome }, (performance.now() - started) / 1000);
    }
  }

  async #statement(movements: Movement[]): Promise<PostResult[]> {
    const { book } = movements[0] as Movement;
    const exceptions = await this.#sql.unsafe<RejectedMovement[]>(
      POST.text,
      POST.values(book, batchColumns(movements)),
      {
        prepare: true,
      },
    );
    const results: PostResult[] = movements.map(() => ({ outcome: 'posted' }));
    for (const { movement, outcome, code, accountCode, detail } of exceptions) {
      results[movement - 1] =
        outcome === 'refused' ? { outcome, code, account: accountCode, detail: { ...detail } } : { outcome };
    }
    return results;
  }
}

/** A movement that was not posted, as `ledger.post` answers it. `movement` counts from 1. */
interface RejectedMovement {
  movement: number;
  outcome: 'duplicate' | 'duplicate_differs' | 'refused';
  code: RefusalCode;
  accountCode: AccountCode | null;
  detail: object | null;
}

/** Counts what became of a batch, each outcome once for the batch. */
async function recordMetrics(
  movements: Movement[],
  committed: Promise<PromiseSettledResult<PostResult>[]>,
): Promise<PromiseSettledResult<PostResult>[]> {
  try {
    const results = await committed;
    let posted = 0;
    for (const result of results) {
      if (result.status === 'rejected') journalMovements.inc({ outcome: 'failed', code: 'none' });
      else if (result.value.outcome === 'posted') posted += 1;
      else {
        const code = result.value.outcome === 'refused' ? result.value.code : 'none';
        journalMovements.inc({ outcome: result.value.outcome, code });
      }
    }
    if (posted > 0) journalMovements.inc({ outcome: 'posted', code: 'none' }, posted);
    return results;
  } catch (error) {
    journalMovements.inc({ outcome: 'failed', code: 'none' }, movements.length);
    throw error;
  }
}

/** For each movement, the position of the first one in the batch that changes a row which it changes too, or its own. */
function firstWriterOf(movements: readonly Movement[]): number[] {
  const changedBy = new Map<string, number>();
  return movements.map((movement, position) => {
    let leader = position;
    for (const rows of Object.values(movement.rows ?? {})) {
      for (const { id, version } of rows as readonly { id?: Uuid; version?: number }[]) {
        if (id === undefined || version === undefined || version === 1) continue;
        leader = Math.min(leader, changedBy.get(id) ?? position);
        if (!changedBy.has(id)) changedBy.set(id, position);
      }
    }
    return leader;
  });
}
