// The journal: the only writer of the ledger. It batches the movements of one process, posts each batch with one
// statement (`ledger.post`) and resolves every movement with its own outcome.
import { GroupCommit } from '../concurrency/groupCommit.ts';
import { isContention, isOutage, isStatementTimeout, violatedCheck, violatedUnique } from '../database/errors.ts';
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import { bookKey } from '../money.ts';
import { journalBatchSeconds, journalBatchSize, journalMovements } from '../telemetry/metrics.ts';
import { currentTraceparent } from '../telemetry/tracing.ts';
import { buildBatch, POST, postValues } from './batch.ts';
import type { AccountCode } from './chart.ts';
import type { Movement, PostResult, RefusalCode } from './movement.ts';

/** Maximum movements in a batch: larger batches gain no throughput and increase latency. */
const BATCH_MAX = 500;

/** Maximum postings and rows in a batch. A full payout has twice as many: it is sent as a batch of its own. */
const BATCH_WEIGHT_MAX = 1_000;

/** Movements with this many postings and rows have a separate queue, so as not to delay lighter ones. */
const HEAVY_FROM = 100;

/** From 32 concurrent callers, two statements are in flight where allowed: one is built while one runs. */
const PIPELINE_FROM = 32;

/** Pauses before the retries after a lost connection or a lock conflict; then the caller gets the error. */
const RETRY_PAUSES_MS = [10, 100, 500];

/** SQLSTATE of `ledger.post` for a row of which another statement wrote the next version first. */
const STALE_VERSION = 'ML001';

const partitionOf = ({ book }: Movement): string => bookKey(book);

function weightOf({ transaction, rows = {} }: Movement): number {
  let weight = transaction?.postings.length ?? 0;
  for (const table of Object.values(rows)) weight += table.length;
  return weight;
}

export class Journal {
  readonly #sql: Sql;
  readonly #group: GroupCommit<Movement, PostResult>;

  /** `statementsMax`: statements of a book in flight at a time, 1 or 2. */
  constructor(sql: Sql, statementsMax = 2) {
    this.#sql = sql;
    this.#group = new GroupCommit({
      partitionOf,
      commit: (_, movements) => recordMetrics(movements, this.#commit(movements)),
      entriesMax: BATCH_MAX,
      weightOf,
      weightMax: BATCH_WEIGHT_MAX,
      heavyFrom: HEAVY_FROM,
      ...(statementsMax > 1 && { pipelineFrom: PIPELINE_FROM }),
    });
  }

  /**
   * Posts a movement, batched with those of other callers. Resolves when it is durable or was not posted; rejects when
   * the database is unavailable. It may then have been committed: the same movement can safely be posted again.
   */
  post(movement: Movement): Promise<PostResult> {
    const traceparent = currentTraceparent(); // read here, because the statement is sent on behalf of many callers
    return this.#group.add(traceparent === undefined ? movement : { ...movement, traceparent });
  }

  /**
   * Posts a batch. Of several movements that change the same row, only the first is sent: if it is posted, the others
   * are conflicts without a round trip; otherwise they are posted next.
   */
  async #commit(movements: Movement[]): Promise<PromiseSettledResult<PostResult>[]> {
    const leaders = firstWriterOf(movements);
    const first = movements.filter((_, position) => leaders[position] === position);
    const results = new Map<Movement, PromiseSettledResult<PostResult>>();
    for (const [position, result] of (await this.#attempt(first, 0)).entries()) {
      results.set(first[position] as Movement, result);
    }
    const remaining: Movement[] = [];
    for (const [position, movement] of movements.entries()) {
      if (results.has(movement)) continue;
      const leader = results.get(movements[leaders[position] as number] as Movement);
      if (leader?.status === 'fulfilled' && leader.value.outcome === 'posted') {
        results.set(movement, { status: 'fulfilled', value: { outcome: 'conflict', constraint: null } });
      } else {
        remaining.push(movement); // the first one was not posted, so the row is unchanged
      }
    }
    if (remaining.length > 0) {
      for (const [position, result] of (await this.#commit(remaining)).entries()) {
        results.set(remaining[position] as Movement, result);
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
        // After a statement timeout the callers have timed out too, and a retry would block the partition as long
        // again.
        if (pause === undefined || isStatementTimeout(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, pause));
        return await this.#attempt(movements, attempt + 1); // it may have been committed; a retry has no second effect
      }
      if (movements.length > 1) {
        // One movement makes the statement fail for all. Split the batch until it is alone, so that only it fails.
        const middle = Math.ceil(movements.length / 2);
        return [
          ...(await this.#attempt(movements.slice(0, middle), 0)),
          ...(await this.#attempt(movements.slice(middle), 0)),
        ];
      }
      const constraint = violatedUnique(error);
      // What was decided about a case is another by now, because its payment has changed.
      const isOther = violatedCheck(error) === 'decision_needed' && movements[0]?.rows?.payments !== undefined;
      if (constraint !== null || isOther || (error as { code?: unknown }).code === STALE_VERSION) {
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
    const values = postValues(book, buildBatch(movements));
    const rejected = await this.#sql.unsafe<RejectedMovement[]>(POST, values, { prepare: true });
    const results: PostResult[] = movements.map(() => ({ outcome: 'posted' }));
    for (const { movement, outcome, code, accountCode, detail } of rejected) {
      results[movement - 1] =
        outcome === 'refused' ? { outcome, code, account: accountCode, detail: { ...detail } } : { outcome };
    }
    return results;
  }
}

/** A movement that was not posted, as returned by `ledger.post`. `movement` is its position, counting from 1. */
interface RejectedMovement {
  movement: number;
  outcome: 'duplicate' | 'duplicate_differs' | 'refused';
  code: RefusalCode;
  accountCode: AccountCode | null;
  detail: object | null;
}

/** Counts the outcomes of a batch. */
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

/** For each movement, the position of the first one in the batch that changes one of its rows; else its own. */
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
