// Builds the arguments of `ledger.post` from a batch of movements (src/ledger/sql/post.sql describes each): columns as
// arrays of texts and numbers, with positions counting from 1.

import { type ArrayText, arrayLiteral, quotedArrayLiteral } from '../database/arrayLiterals.ts';
import { type AccountCode, type AccountKind, accountKind } from './chart.ts';
import { isoTime } from './isoTime.ts';
import type { Movement } from './movement.ts';

/** JSON documents joined by `DOCUMENT_SEPARATOR`; an empty text is NULL. */
type DocumentTexts = string;

/**
 * A character that JSON contains only in escaped form, so the many quotes in a document need no escaping. ledger.post
 * splits by it.
 */
const DOCUMENT_SEPARATOR = '\u001f';

/** The columns of a batch. Those of transactions and outcomes are NULL for a movement that has none. */
export interface BatchColumns {
  accounts: Record<'codes' | 'kinds' | 'changes' | 'entries', ArrayText>;
  transactions: Record<'ids' | 'keys' | 'kinds' | 'resources' | 'times' | 'rules', ArrayText> & {
    /** Empty when no transaction of the batch resolves or reverses another. */
    resolves: ArrayText;
    reverses: ArrayText;
  };
  /** Empty when no movement of the batch has one. */
  outcomes: Record<'keys' | 'attempts' | 'fingerprints' | 'statusCodes', ArrayText> & { responses: DocumentTexts };
  postings: Record<'movements' | 'debits' | 'credits' | 'amounts', ArrayText>;
  events: Record<'movements' | 'ids' | 'types' | 'resources' | 'times', ArrayText> & { documents: DocumentTexts };
  messages: Record<'movements' | 'topics', ArrayText> & { documents: DocumentTexts };
  /** JSON: rows by table, each with the position of its movement as `m`. */
  resources: string;
}

/** Returns the columns of these movements, which must all belong to one book. */
export function batchColumns(movements: readonly Movement[]): BatchColumns {
  const { accounts, postings } = accountsAndPostings(movements);
  const transactions = movements.map(({ transaction }) => transaction);
  const following = transactions.some((transaction) => transaction?.resolves ?? transaction?.reverses)
    ? transactions
    : [];
  const outcomes = movements.some(({ outcome }) => outcome !== undefined)
    ? movements.map(({ outcome }) => outcome)
    : [];
  const events = withMovementIndex(movements, (movement) => movement.events);
  const messages = withMovementIndex(movements, messagesOf);
  return {
    accounts: {
      codes: quotedArrayLiteral(accounts, ({ code }) => code),
      kinds: arrayLiteral(accounts, ({ kind }) => kind),
      changes: arrayLiteral(accounts, ({ change }) => change),
      entries: arrayLiteral(accounts, ({ entries }) => entries),
    },
    transactions: {
      ids: arrayLiteral(transactions, (transaction) => transaction?.id),
      keys: quotedArrayLiteral(transactions, (transaction) => transaction?.key),
      kinds: quotedArrayLiteral(transactions, (transaction) => transaction?.kind),
      resources: quotedArrayLiteral(transactions, (transaction) => transaction?.resource),
      times: arrayLiteral(transactions, (transaction) => transaction && isoTime(transaction.effectiveAt)),
      rules: arrayLiteral(transactions, (transaction) => transaction?.rules),
      resolves: quotedArrayLiteral(following, (transaction) => transaction?.resolves),
      reverses: quotedArrayLiteral(following, (transaction) => transaction?.reverses),
    },
    outcomes: {
      keys: quotedArrayLiteral(outcomes, (outcome) => outcome?.key),
      attempts: arrayLiteral(outcomes, (outcome) => outcome?.attempt),
      fingerprints: arrayLiteral(outcomes, (outcome) => outcome?.fingerprint),
      statusCodes: arrayLiteral(outcomes, (outcome) => outcome?.statusCode),
      responses: joinDocuments(outcomes, (outcome) => outcome?.response),
    },
    postings: {
      movements: arrayLiteral(postings, ({ m }) => m),
      debits: arrayLiteral(postings, ({ debit }) => debit.slot),
      credits: arrayLiteral(postings, ({ credit }) => credit.slot),
      amounts: arrayLiteral(postings, ({ amount }) => amount),
    },
    events: {
      movements: arrayLiteral(events, ({ m }) => m),
      ids: arrayLiteral(events, ({ item }) => item.id),
      types: quotedArrayLiteral(events, ({ item }) => item.type),
      resources: quotedArrayLiteral(events, ({ item }) => item.resource),
      documents: joinDocuments(events, ({ item }) => JSON.stringify(item.data)),
      times: arrayLiteral(events, ({ item }) => isoTime(item.createdAt)),
    },
    messages: {
      movements: arrayLiteral(messages, ({ m }) => m),
      topics: quotedArrayLiteral(messages, ({ item }) => item.topic),
      documents: joinDocuments(messages, ({ item }) => JSON.stringify(item.message)),
    },
    resources: resourceRows(movements),
  };
}

/** Flattens the items of all movements, each with the position of its movement. */
function withMovementIndex<Item>(
  movements: readonly Movement[],
  itemsOf: (movement: Movement) => readonly Item[] | undefined,
): { m: number; item: Item }[] {
  const items: { m: number; item: Item }[] = [];
  movements.forEach((movement, position) => {
    for (const item of itemsOf(movement) ?? []) items.push({ m: position + 1, item });
  });
  return items;
}

/** A column of JSON documents. */
function joinDocuments<Row>(rows: readonly Row[], json: (row: Row) => string | undefined): DocumentTexts {
  return rows.map((row) => json(row) ?? '').join(DOCUMENT_SEPARATOR);
}

/** An account in the postings of the batch. */
interface BatchAccount {
  code: AccountCode;
  kind: AccountKind;
  /** Net change of the batch: credits less debits, in kobo. */
  change: number;
  /** The number of its entries: the postings that name it. */
  entries: number;
  slot: number;
}

interface BatchPosting {
  m: number;
  debit: BatchAccount;
  credit: BatchAccount;
  amount: number;
}

/**
 * Returns the postings and their accounts in lock order, which all callers share: accounts with a stored balance first,
 * newest first (a code ends in an id that sorts by time). A contended account is usually an old one, such as the
 * settlement wallet of the organisation, and the account that is locked last is locked for the shortest time.
 */
function accountsAndPostings(movements: readonly Movement[]): { accounts: BatchAccount[]; postings: BatchPosting[] } {
  const byCode = new Map<AccountCode, BatchAccount>();
  const account = (code: AccountCode): BatchAccount => {
    let entry = byCode.get(code);
    if (entry === undefined) {
      entry = { code, kind: accountKind(code), change: 0, entries: 0, slot: 0 };
      byCode.set(code, entry);
    }
    return entry;
  };
  const postings: BatchPosting[] = [];
  movements.forEach(({ transaction }, position) => {
    for (const { debit: debitCode, credit: creditCode, amount } of transaction?.postings ?? []) {
      const debit = account(debitCode);
      const credit = account(creditCode);
      debit.change -= amount;
      credit.change += amount;
      debit.entries += 1;
      credit.entries += 1;
      postings.push({ m: position + 1, debit, credit, amount });
    }
  });
  const accounts = [...byCode.values()].sort(
    (a, b) => Number(a.kind === 'derived_balance') - Number(b.kind === 'derived_balance') || (a.code > b.code ? -1 : 1),
  );
  accounts.forEach((entry, index) => {
    entry.slot = index + 1;
  });
  return { accounts, postings };
}

/** The outbox messages of a movement: one for each event, then those of the movement itself. */
function messagesOf({ events = [], outbox = [], traceparent }: Movement): { topic: string; message: object }[] {
  const trace = traceparent === undefined ? {} : { traceparent };
  return [
    ...events.map(({ id }) => ({ topic: 'event', message: { eventId: id, ...trace } })),
    ...outbox.map(({ topic, message }) => ({ topic, message: { ...message, ...trace } })),
  ];
}

function resourceRows(movements: readonly Movement[]): string {
  const rows = new Map<string, string[]>();
  movements.forEach((movement, position) => {
    for (const [table, tableRows] of Object.entries(movement.rows ?? {})) {
      if (tableRows.length === 0) continue; // ledger.post writes to every table that it gets
      const texts = rows.get(table) ?? [];
      if (texts.length === 0) rows.set(table, texts);
      for (const row of tableRows) texts.push(resourceRow(position + 1, movement, row));
    }
  });
  return `{${Array.from(rows, ([table, texts]) => `"${table}":[${texts.join()}]`).join()}}`;
}

/** A row in JSON, with the column names of its table. */
function resourceRow(m: number, { book }: Movement, row: object): string {
  let text = `{"m":${m},"organisation_id":"${book.organisationId}","environment":"${book.environment}"`;
  for (const [name, value] of Object.entries(row)) {
    if (value !== undefined)
      text += columnStart(name) + (value instanceof Date ? `"${isoTime(value)}"` : JSON.stringify(value));
  }
  return `${text}}`;
}

const columnStarts = new Map<string, string>();

/** The text before the value of a column: `,"source_wallet_id":` for sourceWalletId. */
function columnStart(name: string): string {
  let start = columnStarts.get(name);
  if (start === undefined) {
    start = `,"${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}":`;
    columnStarts.set(name, start);
  }
  return start;
}
