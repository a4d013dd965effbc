// The journal: the only writer of the books. It gathers the movements of one process and posts each batch with one
// statement (`ledger.post`, migration 0003), and gives every movement an outcome of its own.
import { isContention, isOutage, type Sql, violatedUnique } from '../database.ts';
import { GroupCommit } from '../groupCommit.ts';
import type { Uuid } from '../ids.ts';
import { journalBatchSeconds, journalBatchSize, journalMovements } from '../metrics.ts';
import type { Book } from '../money.ts';
import { currentTraceparent } from '../tracing.ts';
import { type AccountCode, accountKind } from './chart.ts';
import type { Posting } from './postings.ts';

/** One business event in the books. */
export interface Transaction {
  id: Uuid;
  /** Business key, unique in the book: the same key posts once, for ever. */
  key: string;
  kind: string;
  /** Public id of the resource that caused it. */
  resource: string;
  effectiveAt: Date;
  /** `credit_exempt`: money that comes back to a wallet posts though it is frozen or over a limit; closed takes none. */
  rules: 'enforced' | 'credit_exempt';
  reverses?: Uuid;
  postings: readonly Posting[];
}

/** An event as it is stored and later delivered. `data` is the payload of that moment. */
export interface EventRow {
  id: Uuid;
  type: string;
  resource: string;
  data: Record<string, unknown>;
  createdAt: Date;
}

/** A message for the relay: ids and codes only. */
export interface OutboxMessage {
  topic: string;
  message: Record<string, unknown>;
}

/** What a repeat of this request is answered with, committed together with the money. */
export interface IdempotencyOutcome {
  key: string;
  claim: Uuid;
  /** SHA-256, base64. */
  fingerprint: string;
  statusCode: number;
  response: string;
}

/** Tables that `ledger.post` writes along with the money. */
export type RowTable =
  | 'payments'
  | 'transfers'
  | 'withdrawals'
  | 'refunds'
  | 'payouts'
  | 'payout_items'
  | 'inbound_credits'
  | 'review_cases'
  | 'virtual_accounts';

/** Everything that becomes true together, or not at all. Rows are in camelCase, complete, with the next `version`. */
export interface Movement {
  book: Book;
  transaction?: Transaction;
  rows?: Partial<Record<RowTable, readonly object[]>>;
  events?: readonly EventRow[];
  outbox?: readonly OutboxMessage[];
  outcome?: IdempotencyOutcome;
  /** The span that asked for it, which what the outbox starts belongs to. The journal fills it in. */
  traceparent?: string;
}

export type RefusalCode =
  | 'WALLET_NOT_FOUND'
  | 'WALLET_FROZEN'
  | 'WALLET_CLOSED'
  | 'WALLET_KYC_REQUIRED'
  | 'WALLET_TIER1_LIMIT_EXCEEDED'
  | 'WALLET_INSUFFICIENT_FUNDS'
  | 'IDEMPOTENCY_IN_PROGRESS';

/**
 * What became of a movement. `posted`: it is durable. `duplicate`: its business key was posted before, or this very
 * request committed and its answer was lost; nothing changed now. `refused`: a rule of the books said no. `conflict`:
 * a row had been changed since it was read, or a unique value is taken; read again and decide again.
 */
export type PostResult =
  | { outcome: 'posted' }
  | { outcome: 'duplicate' }
  | { outcome: 'refused'; code: RefusalCode; account: AccountCode | null; detail: Record<string, unknown> }
  | { outcome: 'conflict'; constraint: string | null };

/** Past this many movements a statement gains no speed and its callers wait longer. */
const BATCH_MAX = 500;

/** A lost connection or a deadlock is tried again after these pauses; then the caller hears of it. */
const RETRY_PAUSES_MS = [10, 100, 500];

/** SQLSTATE of `ledger.post` for a row that somebody else changed first. */
const OVERTAKEN = 'ML001';

export class Journal {
  readonly #sql: Sql;
  readonly #group: GroupCommit<Movement, PostResult>;

  constructor(sql: Sql) {
    this.#sql = sql;
    this.#group = new GroupCommit({
      organisationOf: ({ book }) => book.organisationId,
      commit: (organisationId, movements) => counted(movements, this.#commit(organisationId, movements)),
      entriesMax: BATCH_MAX,
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
  async #commit(organisationId: Uuid, movements: Movement[]): Promise<PromiseSettledResult<PostResult>[]> {
    const leaders = leadersOf(movements);
    const ahead = movements.filter((_, position) => leaders[position] === position);
    const results = new Map<Movement, PromiseSettledResult<PostResult>>();
    for (const [position, result] of (await this.#attempt(organisationId, ahead, 0)).entries()) {
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
      for (const [position, result] of (await this.#commit(organisationId, again)).entries()) {
        results.set(again[position] as Movement, result);
      }
    }
    return movements.map((movement) => results.get(movement) as PromiseSettledResult<PostResult>);
  }

  async #attempt(
    organisationId: Uuid,
    movements: Movement[],
    attempt: number,
  ): Promise<PromiseSettledResult<PostResult>[]> {
    try {
      const results = await this.#send(organisationId, movements);
      return results.map((value) => ({ status: 'fulfilled', value }));
    } catch (error) {
      const pause = RETRY_PAUSES_MS[attempt];
      if ((isOutage(error) || isContention(error)) && pause !== undefined) {
        await new Promise((resolve) => setTimeout(resolve, pause));
        return await this.#attempt(organisationId, movements, attempt + 1);
      }
      if (isOutage(error) || isContention(error)) throw error;
      if (movements.length > 1) {
        // One of them spoils the statement for all. Halve until it stands alone, so that it fails no neighbour.
        const middle = Math.ceil(movements.length / 2);
        return [
          ...(await this.#attempt(organisationId, movements.slice(0, middle), 0)),
          ...(await this.#attempt(organisationId, movements.slice(middle), 0)),
        ];
      }
      const constraint = violatedUnique(error);
      if (constraint !== null || (error as { code?: unknown }).code === OVERTAKEN) {
        return [{ status: 'fulfilled', value: { outcome: 'conflict', constraint } }];
      }
      return [{ status: 'rejected', reason: error }];
    }
  }

  async #send(organisationId: Uuid, movements: Movement[]): Promise<PostResult[]> {
    journalBatchSize.observe(movements.length);
    const started = performance.now();
    let outcome = 'failed';
    try {
      const results = await this.#statement(organisationId, movements);
      outcome = 'ok';
      return results;
    } finally {
      journalBatchSeconds.observe({ outcome }, (performance.now() - started) / 1000);
    }
  }

  async #statement(organisationId: Uuid, movements: Movement[]): Promise<PostResult[]> {
    const answers = await this.#sql<
      { outcome: PostResult['outcome']; code: RefusalCode; accountCode: AccountCode | null; detail: object | null }[]
    >`SELECT outcome, code, account_code, detail FROM ledger.post(${organisationId}::uuid, ${JSON.stringify(encodeBatch(movements))}::text::jsonb)`;
    return answers.map((answer) =>
      answer.outcome === 'refused'
        ? { outcome: 'refused', code: answer.code, account: answer.accountCode, detail: { ...answer.detail } }
        : ({ outcome: answer.outcome } as PostResult),
    );
  }
}

/** Counts what became of a batch, each outcome once for the batch. */
async function counted(
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
function leadersOf(movements: readonly Movement[]): number[] {
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

/** The document that `ledger.post` takes of one organisation's movements; its shape is described in migration 0003. */
function encodeBatch(movements: readonly Movement[]): object {
  const accounts: object[] = [];
  const slots = new Map<string, number>();
  const slotOf = (book: Book, code: AccountCode): number => {
    const name = `${book.environment}/${code}`;
    let slot = slots.get(name);
    if (slot === undefined) {
      slot = accounts.push({ e: book.environment, c: code, k: accountKind(code) });
      slots.set(name, slot);
    }
    return slot;
  };

  const postings: number[][] = [];
  const rows: Partial<Record<RowTable, object[]>> = {};
  const events: object[] = [];
  const outbox: object[] = [];
  const encoded = movements.map((movement, position) => {
    const m = position + 1;
    const scope = { m, e: movement.book.environment };
    const trace = movement.traceparent === undefined ? {} : { traceparent: movement.traceparent };
    for (const { debit, credit, amount } of movement.transaction?.postings ?? []) {
      postings.push([m, slotOf(movement.book, debit), slotOf(movement.book, credit), amount]);
    }
    for (const [table, tableRows] of Object.entries(movement.rows ?? {})) {
      if (tableRows.length === 0) continue; // a table that is named is written to
      rows[table as RowTable] ??= [];
      for (const row of tableRows) rows[table as RowTable]?.push({ m, ...snakeKeys({ ...movement.book, ...row }) });
    }
    for (const event of movement.events ?? []) {
      const { id, type, resource } = event;
      events.push({ ...scope, id, type, resource, data: JSON.stringify(event.data), created_at: event.createdAt });
      outbox.push({ ...scope, topic: 'event', message: { eventId: id, ...trace } });
    }
    for (const { topic, message } of movement.outbox ?? [])
      outbox.push({ ...scope, topic, message: { ...message, ...trace } });
    return { ...scope, ...encodeTransaction(movement.transaction), ...encodeOutcome(movement.outcome) };
  });
  return { accounts, movements: encoded, postings, rows, events, outbox };
}

function encodeTransaction(transaction: Transaction | undefined): object {
  if (transaction === undefined) return {};
  const { id, key, kind, resource, effectiveAt, rules, reverses } = transaction;
  return {
    transaction: { id, key, kind, resource, effective_at: effectiveAt, exempt: rules === 'credit_exempt', reverses },
  };
}

function encodeOutcome(outcome: IdempotencyOutcome | undefined): object {
  if (outcome === undefined) return {};
  const { key, claim, fingerprint, statusCode, response } = outcome;
  return { claim: { key, claim, fingerprint, status_code: statusCode, response } };
}

function snakeKeys(row: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}
