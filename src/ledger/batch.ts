// A batch of movements as the columns that `ledger.post` takes (src/ledger/sql/post.sql says what each means): arrays of texts and
// numbers, one slot each, positions counting from 1. They are written here as Postgres reads arrays: the driver knows less of
// the values and needs three times as long, which a busy journal feels.

import { type AccountCode, type AccountKind, accountKind } from './chart.ts';
import { isoTime } from './isoTime.ts';
import type { Movement } from './movement.ts';

/** An array as Postgres writes one: `{a,b,NULL}`. */
type ArrayText = string;

/** JSON documents one behind the other with `DOCUMENT_END` between them; nothing stands for NULL. */
type DocumentTexts = string;

/** No JSON holds it unescaped, so documents need no quotes, of which each of them is full. */
export const DOCUMENT_SEPARATOR = '\u001f';

/** Columns of a batch; NULL in those of transactions and claims where a movement has none. */
export interface BatchColumns {
  accounts: Record<'codes' | 'kinds' | 'changes', ArrayText>;
  transactions: Record<'ids' | 'keys' | 'kinds' | 'resources' | 'reverses' | 'times' | 'rules', ArrayText>;
  /** Empty when no movement of the batch has one. */
  claims: Record<'keys' | 'ids' | 'fingerprints' | 'statusCodes', ArrayText> & { responses: DocumentTexts };
  postings: Record<'movements' | 'debits' | 'credits' | 'amounts', ArrayText>;
  events: Record<'movements' | 'ids' | 'types' | 'resources' | 'times', ArrayText> & { joinDocuments: DocumentTexts };
  messages: Record<'movements' | 'topics', ArrayText> & { documents: DocumentTexts };
  /** JSON: rows by table, each with its movement `m`. */
  resources: string;
}

/** The columns of these movements, all of one book. */
export function batchColumns(movements: readonly Movement[]): BatchColumns {
  const { accounts, postings } = accountsAndPostings(movements);
  const transactions = movements.map(({ transaction }) => transaction);
  const claimed = movements.some(({ outcome }) => outcome !== undefined);
  const claims = claimed ? movements.map(({ outcome }) => outcome) : [];
  const events = withMovementIndex(movements, (movement) => movement.events);
  const messages = withMovementIndex(movements, messagesOf);
  return {
    accounts: {
      codes: quotedArrayLiteral(accounts, ({ code }) => code),
      kinds: arrayLiteral(accounts, ({ kind }) => kind),
      changes: arrayLiteral(accounts, ({ change }) => change),
    },
    transactions: {
      ids: arrayLiteral(transactions, (transaction) => transaction?.id),
      keys: quotedArrayLiteral(transactions, (transaction) => transaction?.key),
      kinds: quotedArrayLiteral(transactions, (transaction) => transaction?.kind),
      resources: quotedArrayLiteral(transactions, (transaction) => transaction?.resource),
      reverses: arrayLiteral(transactions, (transaction) => transaction?.reverses),
      times: arrayLiteral(transactions, (transaction) => transaction && isoTime(transaction.effectiveAt)),
      rules: arrayLiteral(transactions, (transaction) => transaction?.rules),
    },
    claims: {
      keys: quotedArrayLiteral(claims, (claim) => claim?.key),
      ids: arrayLiteral(claims, (claim) => claim?.claim),
      fingerprints: arrayLiteral(claims, (claim) => claim?.fingerprint),
      statusCodes: arrayLiteral(claims, (claim) => claim?.statusCode),
      responses: documents(claims, (claim) => claim?.response),
    },
    postings: {
      movements: arrayLiteral(postings, ({ m }) => m),
      debits: arrayLiteral(postings, ({ debit }) => debit.slot),
      credits: arrayLiteral(postings, ({ credit }) => credit.slot),
      amounts: arrayLiteral(postings, ({ amount }) => amount),
    },
    events: {
      movements: arrayLiteral(events, ({ m }) => m),
      ids: arrayLiteral(events, ({ one }) => one.id),
      types: quotedArrayLiteral(events, ({ one }) => one.type),
      resources: quotedArrayLiteral(events, ({ one }) => one.resource),
      joinDocuments: documents(events, ({ one }) => JSON.stringify(one.data)),
      times: arrayLiteral(events, ({ one }) => isoTime(one.createdAt)),
    },
    messages: {
      movements: arrayLiteral(messages, ({ m }) => m),
      topics: quotedArrayLiteral(messages, ({ one }) => one.topic),
      documents: documents(messages, ({ one }) => JSON.stringify(one.message)),
    },
    resources: resourceRows(movements),
  };
}

/** What the movements have of something, each with its movement. */
function withMovementIndex<One>(
  movements: readonly Movement[],
  has: (movement: Movement) => readonly One[] | undefined,
): { m: number; one: One }[] {
  const found: { m: number; one: One }[] = [];
  movements.forEach((movement, position) => {
    for (const one of has(movement) ?? []) found.push({ m: position + 1, one });
  });
  return found;
}

/** A column of values that need no quotes: ids, numbers, times and words of our own. */
function arrayLiteral<Row>(rows: readonly Row[], value: (row: Row) => string | number | undefined): ArrayText {
  return `{${rows.map((row) => value(row) ?? 'NULL').join()}}`;
}

/** A column of any texts. */
function quotedArrayLiteral<Row>(rows: readonly Row[], text: (row: Row) => string | undefined): ArrayText {
  const quote = (row: Row): string => {
    const value = text(row);
    if (value === undefined) return 'NULL';
    return `"${/["\\]/.test(value) ? value.replaceAll(/["\\]/g, '\\$&') : value}"`;
  };
  return `{${rows.map(quote).join()}}`;
}

/** A column of JSON documents. */
function documents<Row>(rows: readonly Row[], json: (row: Row) => string | undefined): DocumentTexts {
  return rows.map((row) => json(row) ?? '').join(DOCUMENT_SEPARATOR);
}

/** An account that the batch posts to. */
interface BatchAccount {
  code: AccountCode;
  kind: AccountKind;
  /** What the batch adds up to for it: credits less debits, in kobo. */
  change: number;
  slot: number;
}

interface BatchPosting {
  m: number;
  debit: BatchAccount;
  credit: BatchAccount;
  amount: number;
}

/**
 * The postings, and the accounts that they name: those to lock first, in the order in which everybody locks them. That is the
 * newest first (a code ends in an id that sorts by time): an account that many postings need is mostly an old one, such as the
 * organisation's own, and what is locked last is locked for the shortest time.
 */
function accountsAndPostings(movements: readonly Movement[]): { accounts: BatchAccount[]; postings: BatchPosting[] } {
  const named = new Map<AccountCode, BatchAccount>();
  const account = (code: AccountCode): BatchAccount => {
    let found = named.get(code);
    if (found === undefined) {
      found = { code, kind: accountKind(code), change: 0, slot: 0 };
      named.set(code, found);
    }
    return found;
  };
  const postings: BatchPosting[] = [];
  movements.forEach(({ transaction }, position) => {
    for (const { debit: debitCode, credit: creditCode, amount } of transaction?.postings ?? []) {
      const debit = account(debitCode);
      const credit = account(creditCode);
      debit.change -= amount;
      credit.change += amount;
      postings.push({ m: position + 1, debit, credit, amount });
    }
  });
  const accounts = [...named.values()].sort(
    (one, other) =>
      Number(one.kind === 'derived_balance') - Number(other.kind === 'derived_balance') ||
      (one.code > other.code ? -1 : 1),
  );
  accounts.forEach((one, place) => {
    one.slot = place + 1;
  });
  return { accounts, postings };
}

/** The messages of a movement: one for each event, then its own. */
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
      if (tableRows.length === 0) continue; // a table that is named is written to
      const texts = rows.get(table) ?? [];
      if (texts.length === 0) rows.set(table, texts);
      for (const row of tableRows) texts.push(resourceRow(position + 1, movement, row));
    }
  });
  return `{${Array.from(rows, ([table, texts]) => `"${table}":[${texts.join()}]`).join()}}`;
}

/** A row as its table names the columns, in JSON. */
function resourceRow(m: number, { book }: Movement, row: object): string {
  let text = `{"m":${m},"organisation_id":"${book.organisationId}","environment":"${book.environment}"`;
  for (const [name, value] of Object.entries(row)) {
    if (value !== undefined)
      text += columnStart(name) + (value instanceof Date ? `"${isoTime(value)}"` : JSON.stringify(value));
  }
  return `${text}}`;
}

const columnStarts = new Map<string, string>();

/** What stands before the value of a column: `,"source_wallet_id":` for sourceWalletId. */
function columnStart(name: string): string {
  let start = columnStarts.get(name);
  if (start === undefined) {
    start = `,"${name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}":`;
    columnStarts.set(name, start);
  }
  return start;
}
