// Builds the arguments of `ledger.post` from the movements of a batch (src/ledger/sql/post.sql describes each).
// Movements, accounts and postings are known by their positions, counting from 1.
import { compositeArrayLiteral, quotedArrayLiteral } from '../database/arrayLiterals.ts';
import { ID_SUFFIXES } from '../ids.ts';
import type { Book } from '../money.ts';
import { type AccountCode, type AccountKind, accountKind, debtorOf } from './chart.ts';
import type { EventRow, Movement, OutboxMessage } from './movement.ts';

/** Posts a batch. Returns a row for each movement that was not posted. */
export const POST = `
  SELECT movement, outcome, code, account_code, detail FROM ledger.post(
    $1::uuid, $2::text, $3::text[], $4::ledger.batch_account[], $5::ledger.batch_transaction[], $6::ledger.batch_link[],
    $7::ledger.batch_posting[], $8::ledger.batch_table[], $9::ledger.batch_event[], $10::ledger.batch_event[],
    $11::ledger.batch_message[], $12::ledger.batch_outcome[], $13::ledger.batch_decision[], $14::text)`;

/** The batch of movements of one book: the arguments of `POST` after the book, each as a literal of its type. */
export function buildBatch(movements: readonly Movement[]) {
  const { accounts, postings } = accountsAndPostings(movements);
  const documents: string[] = [];
  const addDocument = (json: string): number => documents.push(json);
  const eventsWhere = (isWanted: (event: EventRow) => boolean): string =>
    compositeArrayLiteral(
      withMovement(movements, ({ events }) => events?.filter(isWanted)),
      ({ movement, item }) => [
        movement,
        item.id,
        item.type,
        item.resource,
        item.createdAt.toISOString(),
        addDocument(JSON.stringify(item.data)),
      ],
    );
  return {
    accounts: quotedArrayLiteral(accounts, ({ code }) => code),
    platformAccounts: compositeArrayLiteral(
      accounts.filter(({ kind }) => kind !== 'wallet'),
      ({ code, kind }) => [code, kind === 'stored_balance' ? 't' : 'f'],
    ),
    transactions: compositeArrayLiteral(movements, ({ transaction: t }) =>
      t
        ? [
            t.id,
            t.key,
            t.kind,
            t.resource,
            t.effectiveAt.toISOString(),
            (t.movedAt ?? t.effectiveAt).toISOString(),
            t.rules,
          ]
        : null,
    ),
    links: compositeArrayLiteral(linksOf(movements), ({ movement, resolves, reverses }) => [
      movement,
      resolves,
      reverses,
    ]),
    postings: compositeArrayLiteral(postings, ({ movement, debit, credit, amount }) => [
      movement,
      debit.position,
      credit.position,
      amount,
    ]),
    rowTables: compositeArrayLiteral(rowsByTable(movements), ([table, rows]) => [
      table,
      addDocument(`[${rows.join()}]`),
    ]),
    events: eventsWhere((event) => accountOfEvent(event) === null),
    walletEvents: eventsWhere((event) => accountOfEvent(event) !== null),
    messages: compositeArrayLiteral(withMovement(movements, messagesOf), ({ movement, item }) => [
      movement,
      item.topic,
      item.availableAt?.toISOString() ?? null,
      addDocument(JSON.stringify(item.message)),
    ]),
    outcomes: compositeArrayLiteral(
      withMovement(movements, ({ outcome }) => (outcome ? [outcome] : [])),
      ({ movement, item }) => [
        movement,
        item.key,
        item.attempt,
        item.fingerprint,
        item.statusCode,
        addDocument(item.response),
      ],
    ),
    decisions: compositeArrayLiteral(
      withMovement(movements, ({ decision }) => (decision ? [decision] : [])),
      ({ movement, item }) => [movement, item.proof, item.subject, item.action, item.wallet, item.about, item.reason],
    ),
    documentLines: documents.join('\n'),
  };
}

export type Batch = ReturnType<typeof buildBatch>;

/** The parameter values of `POST`. */
export const postValues = ({ organisationId, environment }: Book, batch: Batch): string[] => [
  organisationId,
  environment,
  ...Object.values(batch),
];

/** The account of the wallet that an event is about; null for an event of any other resource. */
const accountOfEvent = ({ resource }: EventRow): AccountCode | null =>
  resource.endsWith(`_${ID_SUFFIXES.wallet}`) ? `wallet:${resource}` : null;

/** Flattens the items of all movements, each with the position of its movement. */
function withMovement<Item>(
  movements: readonly Movement[],
  itemsOf: (movement: Movement) => readonly Item[] | undefined,
): { movement: number; item: Item }[] {
  const items: { movement: number; item: Item }[] = [];
  movements.forEach((movement, index) => {
    for (const item of itemsOf(movement) ?? []) items.push({ movement: index + 1, item });
  });
  return items;
}

/** The outbox messages of a movement: one for each event, then those of the movement itself. */
function messagesOf({ events = [], outbox = [], traceparent }: Movement): OutboxMessage[] {
  const trace = traceparent === undefined ? {} : { traceparent };
  return [
    ...events.map(({ id }) => ({ topic: 'event', message: { eventId: id, ...trace } })),
    ...outbox.map((row) => ({ ...row, message: { ...row.message, ...trace } })),
  ];
}

function linksOf(movements: readonly Movement[]) {
  return movements.flatMap(({ transaction: { resolves, reverses } = {} }, index) =>
    resolves === undefined && reverses === undefined ? [] : [{ movement: index + 1, resolves, reverses }],
  );
}

/** An account in the postings of the batch, of a wallet that an event is about, or that owes one of them. */
interface BatchAccount {
  code: AccountCode;
  kind: AccountKind;
  position: number;
}

interface BatchPosting {
  movement: number;
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
      entry = { code, kind: accountKind(code), position: 0 };
      byCode.set(code, entry);
      const debtor = debtorOf(code);
      if (debtor !== null) account(debtor);
    }
    return entry;
  };
  const postings: BatchPosting[] = [];
  movements.forEach(({ transaction, events = [] }, index) => {
    for (const { debit, credit, amount } of transaction?.postings ?? [])
      postings.push({ movement: index + 1, debit: account(debit), credit: account(credit), amount });
    for (const event of events) {
      const code = accountOfEvent(event);
      if (code !== null) account(code);
    }
  });
  const accounts = [...byCode.values()].sort(
    (a, b) => Number(a.kind === 'derived_balance') - Number(b.kind === 'derived_balance') || (a.code > b.code ? -1 : 1),
  );
  accounts.forEach((entry, index) => {
    entry.position = index + 1;
  });
  return { accounts, postings };
}

/** The rows of all movements by table, in alphabetical order, as JSON: each with its movement and the column names. */
function rowsByTable(movements: readonly Movement[]): [table: string, rows: string[]][] {
  const rows = new Map<string, string[]>();
  movements.forEach((movement, index) => {
    for (const [table, tableRows] of Object.entries(movement.rows ?? {})) {
      const texts = rows.get(table) ?? [];
      if (texts.length === 0) rows.set(table, texts);
      for (const row of tableRows) texts.push(rowText(index + 1, row));
    }
  });
  return [...rows].filter(([, texts]) => texts.length > 0).sort(([one], [other]) => (one < other ? -1 : 1));
}

function rowText(movement: number, row: object): string {
  let text = `{"movement":${movement}`;
  for (const [name, value] of Object.entries(row)) {
    if (value !== undefined)
      text += columnStart(name) + (value instanceof Date ? `"${value.toISOString()}"` : JSON.stringify(value));
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
