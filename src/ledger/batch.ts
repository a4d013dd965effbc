// A batch of movements as the columns that `ledger.post` takes (migration 0003), which says what each means: arrays of
// texts and numbers, one slot each, positions counting from 1.
import type { Uuid } from '../ids.ts';
import { type AccountCode, type AccountKind, accountKind } from './chart.ts';
import type { IdempotencyOutcome, Movement, Transaction } from './journal.ts';

/** Columns of a batch; `null` in those of transactions and claims where a movement has none. */
export interface BatchColumns {
  accounts: { codes: AccountCode[]; kinds: AccountKind[] };
  transactions: {
    ids: (Uuid | null)[];
    keys: (string | null)[];
    kinds: (string | null)[];
    resources: (string | null)[];
    reverses: (Uuid | null)[];
    times: (string | null)[];
    rules: (string | null)[];
  };
  /** Empty when no movement of the batch has one. */
  claims: {
    keys: (string | null)[];
    ids: (Uuid | null)[];
    fingerprints: (string | null)[];
    statusCodes: (number | null)[];
    responses: (string | null)[];
  };
  postings: { movements: number[]; debits: number[]; credits: number[]; amounts: number[] };
  events: {
    movements: number[];
    ids: Uuid[];
    types: string[];
    resources: string[];
    documents: string[];
    times: string[];
  };
  messages: { movements: number[]; topics: string[]; documents: string[] };
  /** JSON: rows by table, each with its movement `m`. */
  resources: string;
}

/** The columns of these movements, all of one book. */
export function batchColumns(movements: readonly Movement[]): BatchColumns {
  const { accounts, slots } = accountColumns(movements);
  const columns: BatchColumns = {
    accounts,
    transactions: { ids: [], keys: [], kinds: [], resources: [], reverses: [], times: [], rules: [] },
    claims: { keys: [], ids: [], fingerprints: [], statusCodes: [], responses: [] },
    postings: { movements: [], debits: [], credits: [], amounts: [] },
    events: { movements: [], ids: [], types: [], resources: [], documents: [], times: [] },
    messages: { movements: [], topics: [], documents: [] },
    resources: '{}',
  };
  const claimed = movements.some(({ outcome }) => outcome !== undefined);
  const rows: Record<string, object[]> = {};
  movements.forEach((movement, position) => {
    const m = position + 1;
    addTransaction(columns.transactions, movement.transaction);
    for (const { debit, credit, amount } of movement.transaction?.postings ?? []) {
      columns.postings.movements.push(m);
      columns.postings.debits.push(slots.get(debit) as number);
      columns.postings.credits.push(slots.get(credit) as number);
      columns.postings.amounts.push(amount);
    }
    if (claimed) addClaim(columns.claims, movement.outcome);
    const trace = movement.traceparent === undefined ? {} : { traceparent: movement.traceparent };
    for (const event of movement.events ?? []) {
      columns.events.movements.push(m);
      columns.events.ids.push(event.id);
      columns.events.types.push(event.type);
      columns.events.resources.push(event.resource);
      columns.events.documents.push(JSON.stringify(event.data));
      columns.events.times.push(event.createdAt.toISOString());
      addMessage(columns.messages, m, 'event', { eventId: event.id, ...trace });
    }
    for (const { topic, message } of movement.outbox ?? []) {
      addMessage(columns.messages, m, topic, { ...message, ...trace });
    }
    for (const [table, tableRows] of Object.entries(movement.rows ?? {})) {
      if (tableRows.length === 0) continue; // a table that is named is written to
      rows[table] ??= [];
      for (const row of tableRows) rows[table].push(resourceRow(m, movement, row));
    }
  });
  columns.resources = JSON.stringify(rows);
  return columns;
}

/** The accounts that the postings name, those to lock first and sorted by code: everybody locks in that order. */
function accountColumns(movements: readonly Movement[]): {
  accounts: BatchColumns['accounts'];
  slots: Map<AccountCode, number>;
} {
  const kinds = new Map<AccountCode, AccountKind>();
  for (const { transaction } of movements) {
    for (const { debit, credit } of transaction?.postings ?? []) {
      if (!kinds.has(debit)) kinds.set(debit, accountKind(debit));
      if (!kinds.has(credit)) kinds.set(credit, accountKind(credit));
    }
  }
  const codes = [...kinds.keys()].toSorted((a, b) => {
    const locked = Number(kinds.get(a) === 'shared') - Number(kinds.get(b) === 'shared');
    return locked === 0 ? (a < b ? -1 : 1) : locked;
  });
  return {
    accounts: { codes, kinds: codes.map((code) => kinds.get(code) as AccountKind) },
    slots: new Map(codes.map((code, place) => [code, place + 1])),
  };
}

function addTransaction(columns: BatchColumns['transactions'], transaction: Transaction | undefined): void {
  columns.ids.push(transaction?.id ?? null);
  columns.keys.push(transaction?.key ?? null);
  columns.kinds.push(transaction?.kind ?? null);
  columns.resources.push(transaction?.resource ?? null);
  columns.reverses.push(transaction?.reverses ?? null);
  columns.times.push(transaction?.effectiveAt.toISOString() ?? null);
  columns.rules.push(transaction?.rules ?? null);
}

function addClaim(columns: BatchColumns['claims'], outcome: IdempotencyOutcome | undefined): void {
  columns.keys.push(outcome?.key ?? null);
  columns.ids.push(outcome?.claim ?? null);
  columns.fingerprints.push(outcome?.fingerprint ?? null);
  columns.statusCodes.push(outcome?.statusCode ?? null);
  columns.responses.push(outcome?.response ?? null);
}

function addMessage(columns: BatchColumns['messages'], m: number, topic: string, message: object): void {
  columns.movements.push(m);
  columns.topics.push(topic);
  columns.documents.push(JSON.stringify(message));
}

/** A row as its table names the columns. */
function resourceRow(m: number, { book }: Movement, row: object): Record<string, unknown> {
  const named: Record<string, unknown> = { m, organisation_id: book.organisationId, environment: book.environment };
  for (const [name, value] of Object.entries(row)) named[snakeCase(name)] = value;
  return named;
}

const snakeNames = new Map<string, string>();

function snakeCase(name: string): string {
  let snake = snakeNames.get(name);
  if (snake === undefined) {
    snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    snakeNames.set(name, snake);
  }
  return snake;
}
