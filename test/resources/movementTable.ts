// A table of ledger movements: each row calls one movement function and states what the movement commits, with account
// codes, keys and ids in readable form. Rows form paths: a row that comes `after` another continues with its rows.

import { ID_SUFFIXES, type IdKind, newUuid, publicId, type Uuid } from '../../src/ids.ts';
import type { Movement, Transaction } from '../../src/ledger/movement.ts';
import type { Book, Kobo } from '../../src/money.ts';
import type { TransferReport } from '../../src/rail/port.ts';
import type { StoredBreak } from '../../src/reconciliation/queries.ts';
import type { Adjustment } from '../../src/resources/adjustments/queries.ts';
import type { TransferFailure } from '../../src/resources/failureCodes.ts';
import type { FeeSweep } from '../../src/resources/feeSweeps/queries.ts';
import type { Hold } from '../../src/resources/holds/queries.ts';
import type { ConfirmedCredit } from '../../src/resources/inboundCredits/confirm.ts';
import type { InboundCredit } from '../../src/resources/inboundCredits/queries.ts';
import type { Payment } from '../../src/resources/payments/queries.ts';
import type { Payout, PayoutItem } from '../../src/resources/payouts/queries.ts';
import type { Refund } from '../../src/resources/refunds/queries.ts';
import type { ReturnRefusal } from '../../src/resources/reviewCases/movements.ts';
import type { ReviewCase } from '../../src/resources/reviewCases/queries.ts';
import type { StatementEntry } from '../../src/resources/statementEntries/movements.ts';
import type { Transfer } from '../../src/resources/transfers/queries.ts';
import type { Withdrawal } from '../../src/resources/withdrawals/queries.ts';
import type { FlowMessage } from '../../src/workflows/flows.ts';
import { newCredit } from '../support/rows.ts';
import { reportOf } from '../support/scriptedRail.ts';

/** The tables that movements write. A transfer and a fee sweep have no version, because they never change. */
interface RowTypes {
  payments: Payment;
  transfers: Transfer & { version?: undefined };
  holds: Hold;
  withdrawals: Withdrawal;
  refunds: Refund;
  payouts: Payout;
  payout_items: PayoutItem;
  inbound_credits: ConfirmedCredit;
  review_cases: ReviewCase;
  reconciliation_breaks: StoredBreak & { status?: undefined };
  statement_entries: StatementEntry & { status?: undefined; version?: undefined };
  fee_sweeps: FeeSweep & { version?: undefined; status?: undefined };
  adjustments: Adjustment;
}
export type Table = keyof RowTypes;
type Rows = { [T in Table]?: readonly RowTypes[T][] };

interface Call {
  /** The function, for comparison only. */
  of: unknown;
  made: Movement | Transaction;
}

/** Calls a movement function and keeps which one it is, so that a function without a row can be found. */
export const call = <Args extends unknown[]>(of: (...args: Args) => Movement | Transaction, ...args: Args): Call => ({
  of,
  made: of(...args),
});

/** What a movement commits, in readable form. Amounts are kobo; credits are positive, debits negative. */
interface Committed {
  /** The net change of each account whose balance changes. */
  net: Record<string, Kobo>;
  /** Its kind, key and rules, and what it resolves or reverses. Null: nothing is posted. */
  transaction: string | null;
  rows: string[];
  events?: string[];
  /** The workflow of each message, and whether it starts or signals it. */
  outbox?: string[];
}

interface TableRow extends Omit<Committed, 'net' | 'transaction'>, Partial<Pick<Committed, 'net' | 'transaction'>> {
  /** A whole sentence, the title of the row's test. */
  title: string;
  call: Call;
  after?: Step;
  /** Rows that are in the database before. */
  given?: Rows;
  /** Rows that the API commits with a transaction, where the function makes only the transaction. */
  alsoWritten?: Rows;
}

export interface Step extends Omit<TableRow, keyof Committed>, Committed {
  movement: Movement;
}

export function step(row: TableRow): Step {
  const { made } = row.call;
  const movement = 'postings' in made ? { book: BOOK, transaction: made, rows: row.alsoWritten ?? {} } : made;
  return { net: {}, transaction: null, ...row, movement };
}

/** The movements from the first of a path to this one. */
export const pathOf = (last: Step): Step[] => [...(last.after === undefined ? [] : pathOf(last.after)), last];

export const writtenRows = <T extends Table>({ movement }: Step, table: T): readonly RowTypes[T][] =>
  (movement.rows?.[table] ?? []) as readonly RowTypes[T][];

const givenRows = <T extends Table>({ given }: Step, table: T): readonly RowTypes[T][] => given?.[table] ?? [];

/** The row that a movement writes to a table; with a position, one of several. */
export function rowAfter<T extends Table>(made: Step, table: T, position = 0): RowTypes[T] {
  const row = writtenRows(made, table)[position];
  if (row === undefined) throw new Error(`${made.title}: no row ${position} of ${table}`);
  return row;
}

/** The rows of a table after a path, in their latest version. */
export function latestRows<T extends Table>(path: readonly Step[], table: T): RowTypes[T][] {
  const rows = path.flatMap((made): readonly RowTypes[T][] => [...givenRows(made, table), ...writtenRows(made, table)]);
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}

export const TABLES: readonly Table[] = [
  'payments',
  'transfers',
  'holds',
  'withdrawals',
  'refunds',
  'payouts',
  'payout_items',
  'inbound_credits',
  'review_cases',
  'reconciliation_breaks',
  'statement_entries',
  'fee_sweeps',
  'adjustments',
];

const names = new Map<string, string>();

/** A new id, with the name that replaces it in the table. */
export function newId(kind: IdKind, name: string): Uuid {
  const id = newUuid();
  names.set(publicId(kind, id), name);
  return id;
}

const KIND_BY_SUFFIX = new Map<string, string>(Object.entries(ID_SUFFIXES).map(([kind, suffix]) => [suffix, kind]));

/** The text with the name of each public id; an id without a name is replaced by its kind. */
export const readable = (text: string): string =>
  text.replace(
    /svc_[0-9a-z]{26}_([a-z]{3})/g,
    (id, suffix: string) => names.get(id) ?? KIND_BY_SUFFIX.get(suffix) ?? id,
  );

/** The net change of each account, zero omitted. A debit decreases an account, a credit increases it. */
export function netOf(steps: readonly Step[]): Record<string, Kobo> {
  const net = new Map<string, Kobo>();
  for (const { debit, credit, amount } of steps.flatMap(({ movement }) => movement.transaction?.postings ?? [])) {
    net.set(debit, (net.get(debit) ?? 0) - amount);
    net.set(credit, (net.get(credit) ?? 0) + amount);
  }
  return Object.fromEntries([...net].filter(([, amount]) => amount !== 0).map(([code, sum]) => [readable(code), sum]));
}

/** What a movement commits, in the form of the table. */
export function committedBy(made: Step): Required<Committed> {
  const { transaction, events = [], outbox = [] } = made.movement;
  return {
    net: netOf([made]),
    transaction: transaction === undefined ? null : describeTransaction(transaction),
    rows: [
      ...TABLES.flatMap((table) => writtenRows(made, table).map((row) => `${table}: ${describeRow(table, row)}`)),
      ...auditRows(made).map(({ action, subject }) => `audit_log: ${action} of ${readable(subject)}`),
    ],
    events: events.map(({ type }) => type),
    outbox: outbox.map(({ message }) => describeMessage(message as FlowMessage)),
  };
}

const auditRows = ({ movement: { decision } }: Step) => (decision === undefined ? [] : [decision]);

function describeTransaction({ key, kind, rules, resolves, reverses }: Transaction): string {
  return [
    `${kind} ${readable(key)}`,
    rules,
    ...(resolves === undefined ? [] : [`resolves ${readable(resolves)}`]),
    ...(reverses === undefined ? [] : [`reverses ${readable(reverses)}`]),
  ].join(', ');
}

function describeRow(table: Table, row: RowTypes[Table]): string {
  const { status, version } = row;
  return [
    ...(status === undefined ? [] : [status]),
    ...(version === undefined ? [] : [`version ${version}`]),
    ...detailsOf(table, row),
  ].join(', ');
}

/** The columns of a row that say where its money is, without those that are empty. */
function detailsOf(table: Table, row: RowTypes[Table]): string[] {
  if (table === 'review_cases') {
    const { reason, amount, accountCode, attempts, failure, fee } = row as ReviewCase;
    return [
      `${reason} of ${amount} in ${accountCode === null ? 'no account' : readable(accountCode)}`,
      ...(fee === 0 ? [] : [`fee ${fee}`]),
      ...(attempts === 0 ? [] : [`attempts ${attempts}`]),
      ...(failure === null ? [] : [`last one ${failure}`]),
    ];
  }
  if (table === 'payments') {
    const { amountReceived, amountCredited, amountRefunding, amountRefunded, ...more } = row as Payment;
    const amounts = {
      received: amountReceived,
      credited: amountCredited,
      refunding: amountRefunding,
      refunded: amountRefunded,
      'in review': more.amountInReview,
      recalled: more.amountRecalled,
    };
    return Object.entries(amounts).flatMap(([name, amount]) => (amount === 0 ? [] : [`${name} ${amount}`]));
  }
  if (table === 'holds') {
    const { amountReleased, amountCancelled } = row as Hold;
    return [`released ${amountReleased}, cancelled ${amountCancelled}`];
  }
  if (table === 'payout_items') return (row as PayoutItem).unreported ? ['unreported'] : [];
  if (table === 'reconciliation_breaks') return [(row as StoredBreak).clearedAt === null ? 'found' : 'cleared'];
  return [];
}

function describeMessage({ workflow, signal, allowRestart }: FlowMessage): string {
  const what = signal === undefined ? 'start' : `start or signal ${signal.name}`;
  return `${workflow}: ${what}${allowRestart === true ? ', again' : ''}`;
}

export const BOOK: Book = { organisationId: newUuid(), environment: 'test' };
export const OWNER = newId('wallet', 'owner');
export const OTHER = newId('wallet', 'other');

export const PAID: TransferReport = { ...reportOf('reference', 'completed'), sessionId: 'session' };
const failure = { code: 'account_dormant', reason: 'The account is dormant', sessionId: 'session' } as const;
export const REFUSED: { change: 'fail'; failure: TransferFailure } = { change: 'fail', failure };
export const RETURNED: { change: 'return'; failure: TransferFailure } = { change: 'return', failure };

/** What the wallet of a row is when its money comes back, in words, and why it does not take it. */
export const RETURN_CASES: readonly (readonly [wallet: string, ReturnRefusal])[] = [
  ['open', null],
  ['closed', 'wallet_closed'],
  ['over its limit', 'over_limit'],
];

/** Where money goes back to, with what is committed beside it: its wallet, or suspense if that does not take it. */
export const goesBack = (refusal: ReturnRefusal, amount: Kobo): Required<Omit<Committed, 'transaction'>> =>
  refusal === null
    ? { net: { 'wallet:owner': amount }, rows: [], events: [], outbox: [] }
    : {
        net: { 'suspense:unmatched': amount },
        rows: [`review_cases: open, version 1, ${refusal} of ${amount} in suspense:unmatched`],
        events: ['review_case.opened'],
        outbox: ['reviewCase: start'],
      };

export const CREDIT_KEY = 'credit/sandbox/session of inboundCredit';

/** What a credit commits that is placed in suspense, with its review case. */
export const inSuspense = (reason: string, amount: Kobo, version = 2) => ({
  net: { 'clearing:sandbox': -amount, 'suspense:unmatched': amount },
  transaction: `credit_to_suspense ${CREDIT_KEY}, enforced`,
  rows: [
    `inbound_credits: suspense, version ${version}`,
    `review_cases: open, version 1, ${reason} of ${amount} in suspense:unmatched`,
  ],
  events: ['review_case.opened'],
  outbox: ['reviewCase: start'],
});

/** A credit that the rail has reported. */
export function receivedCredit(amount: Kobo, owner: Pick<InboundCredit, 'ownerKind' | 'ownerId'>): ConfirmedCredit {
  const id = newUuid();
  const sender = { senderName: 'Chidi Eze', senderAccountNumber: '0123456789', senderBankCode: '058' };
  return newCredit({ id, sessionId: `session of ${publicId('inboundCredit', id)}`, amount, ...sender, ...owner });
}

export const NO_OWNER = { ownerKind: null, ownerId: null } as const;
