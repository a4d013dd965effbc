// Every movement in every state in which it may be made: what it posts and writes, and what holds for all of them. The
// tables are in movementTables/, one per resource.
import { readdirSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { publicId, type Uuid } from '../../src/ids.ts';
import { ENTRY_KINDS } from '../../src/ledger/entryKinds.ts';
import type { Kobo } from '../../src/money.ts';
import * as transferParts from '../../src/resources/bankTransfers/movements.ts';
import * as holdParts from '../../src/resources/holds/movements.ts';
import * as creditParts from '../../src/resources/inboundCredits/movements.ts';
import * as paymentParts from '../../src/resources/payments/movements.ts';
import * as refundParts from '../../src/resources/refunds/movements.ts';
import * as caseParts from '../../src/resources/reviewCases/movements.ts';
import * as entryParts from '../../src/resources/statementEntries/movements.ts';
import type { FlowMessage } from '../../src/workflows/flows.ts';
import {
  committedBy,
  latestRows,
  netOf,
  OWNER,
  pathOf,
  readable,
  type Step,
  TABLES,
  writtenRows,
} from './movementTable.ts';
import { BY_RESOURCE } from './movementTables/all.ts';

const STEPS = Object.values(BY_RESOURCE).flat();

/** Exports that make no movement of their own: movements are built with them. */
const PARTS: readonly unknown[] = [
  transferParts.clawable,
  transferParts.clawBack,
  transferParts.completeTransfer,
  transferParts.currentLegs,
  transferParts.heldBack,
  transferParts.returnFunds,
  transferParts.splitClawback,
  transferParts.stepTransaction,
  transferParts.walletDebited,
  transferParts.walletLegs,
  creditParts.creditKey,
  creditParts.cameBackKey,
  creditParts.recallKey,
  creditParts.creditTransaction,
  creditParts.refusingSplit,
  creditParts.reviewReasonOf,
  entryParts.statementEntryKey,
  holdParts.newHold,
  holdParts.releasedHold,
  holdParts.cancelledHold,
  holdParts.holdEvent,
  holdParts.withHolds,
  holdParts.isHeldFor,
  holdParts.creditLegs,
  holdParts.holdsOf,
  holdParts.takeHeld,
  paymentParts.newPayment,
  paymentParts.cancelledPayment,
  paymentParts.expiredPayment,
  paymentParts.paymentAfter,
  paymentParts.settledWith,
  refundParts.sourcesOf,
  caseParts.returnRefusalOf,
  caseParts.holderOf,
  caseParts.isHeld,
  caseParts.inReview,
  caseParts.openReviewCase,
  caseParts.endCase,
  caseParts.withCaseFlows,
  caseParts.withoutCredit,
];

describe.each(Object.entries(BY_RESOURCE))('movements of %s', (_resource, steps) => {
  test.each(steps)('$title', (made) => {
    const { net, transaction, rows, events = [], outbox = [] } = made;
    expect(committedBy(made)).toEqual({ net, transaction, rows, events, outbox });
  });
});

/** The titles of the rows for which this does not hold. */
const exceptions = (holds: (made: Step) => boolean): string[] =>
  STEPS.filter((made) => !holds(made)).map(({ title }) => title);

const transactionsOf = (steps: readonly Step[]) => steps.flatMap(({ movement }) => movement.transaction ?? []);

/** The part of a public id that is the UUID, for ids of any kind. */
const idText = (id: Uuid): string => publicId('wallet', id).slice('svc'.length, -'wlt'.length);

const sumOf = (amounts: readonly Kobo[]): Kobo => amounts.reduce((sum, amount) => sum + amount, 0);

test('every exported movement function has a row', async () => {
  const source = new URL('../../src/', import.meta.url);
  const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('/movements.ts'),
  );
  const modules = await Promise.all(
    files.map(async (file): Promise<Record<string, unknown>> => await import(new URL(file, source).href)),
  );
  const exported = modules.flatMap((module) => Object.entries(module)).filter(([, one]) => typeof one === 'function');
  const covered = new Set<unknown>(STEPS.map((made) => made.call.of));
  expect(exported.filter(([, one]) => !covered.has(one) && !PARTS.includes(one)).map(([name]) => name)).toEqual([]);
  expect(exported.filter(([, one]) => covered.has(one) && PARTS.includes(one)).map(([name]) => name)).toEqual([]);
  expect(exported.length).toBe(covered.size + PARTS.length);
});

test('the titles are distinct', () => {
  expect(new Set(STEPS.map(({ title }) => title)).size).toBe(STEPS.length);
});

test('the net changes of every movement sum to zero', () => {
  expect(exceptions(({ net }) => sumOf(Object.values(net)) === 0)).toEqual([]);
});

test('every posting moves a positive whole amount between two accounts', () => {
  const isPosting = ({ debit, credit, amount }: { debit: string; credit: string; amount: Kobo }) =>
    Number.isSafeInteger(amount) && amount > 0 && debit !== credit;
  expect(exceptions((made) => transactionsOf([made]).every(({ postings }) => postings.every(isPosting)))).toEqual([]);
});

test('a movement has a transaction if and only if it moves money', () => {
  expect(
    exceptions(({ movement, net }) => (movement.transaction === undefined) === (Object.keys(net).length === 0)),
  ).toEqual([]);
});

test('the kinds of entries are those of all movements of wallets, in their direction', () => {
  const directions = new Map<string, Set<string>>([
    ['debt_recovery', new Set(['debit'])], // by ledger.post itself
    ...['adjustment', 'adjustment_reversal'].map((kind) => [kind, new Set(['debit', 'credit'])] as const), // as decided
  ]);
  for (const { kind, postings } of transactionsOf(STEPS)) {
    for (const { debit, credit } of postings) {
      const found = directions.get(kind) ?? new Set();
      if (debit.startsWith('wallet:')) found.add('debit');
      if (credit.startsWith('wallet:')) found.add('credit');
      if (found.size > 0) directions.set(kind, found);
    }
  }
  const found = Object.fromEntries(
    Array.from(directions, ([kind, sides]) => [kind, sides.size === 2 ? 'both' : [...sides][0]]),
  );
  expect(found).toEqual(ENTRY_KINDS);
});

test('no movement repeats the key or id of an earlier one', () => {
  expect(
    exceptions((made) => {
      const transactions = transactionsOf(pathOf(made));
      return (
        new Set(transactions.map(({ key }) => key)).size === transactions.length &&
        new Set(transactions.map(({ id }) => id)).size === transactions.length
      );
    }),
  ).toEqual([]);
});

test('movements with the same key are alternatives for the same resource', () => {
  const byKey = Map.groupBy(transactionsOf(STEPS), ({ key }) => key);
  const resourcesOf = (key: string) => new Set(byKey.get(key)?.map(({ resource }) => resource));
  expect([...byKey.keys()].filter((key) => resourcesOf(key).size !== 1).map(readable)).toEqual([]);
  // Except for credits and statement entries, whose key is their id at the bank, a key begins with that of the
  // resource.
  const isOwnKey = (key: string) =>
    /^(?:credit|recall|charge|charge_returned|settlement|settled|interest|funding|check)\//.test(key) ||
    [...resourcesOf(key)].every((resource) => key.startsWith(resource));
  expect([...byKey.keys()].filter((key) => !isOwnKey(key)).map(readable)).toEqual([]);
});

test('every transaction names a resource whose row is written with it', () => {
  const isWritten = (made: Step, resource: string) =>
    TABLES.some((table) => writtenRows(made, table).some(({ id }) => resource.includes(idText(id))));
  expect(exceptions((made) => transactionsOf([made]).every(({ resource }) => isWritten(made, resource)))).toEqual([]);
});

/** Their rows never change, and have no version. */
const UNCHANGING: readonly string[] = ['transfers', 'statement_entries', 'fee_sweeps'];

test('each row that is written has the version after the one before, or is new', () => {
  expect(
    exceptions((made) =>
      TABLES.filter((table) => !UNCHANGING.includes(table)).every((table) => {
        const unmade: Step = { ...made, movement: { book: made.movement.book } };
        const before = latestRows([...pathOf(made).slice(0, -1), unmade], table);
        const versionBefore = (id: Uuid) => before.find((row) => row.id === id)?.version ?? 0;
        return writtenRows(made, table).every(({ id, version }) => version === versionBefore(id) + 1);
      }),
    ),
  ).toEqual([]);
});

/** What the rows say that each account holds for them: money in transit, in a reserve, in suspense or unclaimed. */
function heldByRows(path: readonly Step[]): Record<string, Kobo> {
  const held: [account: string, amount: Kobo][] = [
    ...latestRows(path, 'withdrawals')
      .filter(({ status }) => status === 'processing')
      .map(({ amount, fee }): [string, Kobo] => ['in_transit:withdrawals', amount + fee]),
    ...latestRows(path, 'refunds')
      .filter(({ status }) => status === 'processing')
      .map(({ amount }): [string, Kobo] => ['in_transit:refunds', amount]),
    ...latestRows(path, 'payout_items').flatMap(({ status, amount, fee, payoutId }): [string, Kobo][] => {
      if (status === 'pending') return [[`reserve:payout:${publicId('payout', payoutId)}`, amount + fee]];
      return status === 'processing' ? [['in_transit:payouts', amount + fee]] : [];
    }),
    ...latestRows(path, 'payments')
      .filter(({ status }) => status === 'partial')
      .map(({ id, amountReceived }): [string, Kobo] => [`suspense:payment:${publicId('payment', id)}`, amountReceived]),
    ...latestRows(path, 'review_cases').flatMap(({ status, amount, accountCode }): [string, Kobo][] => {
      if (accountCode === null) return [];
      if (status === 'open') return [[accountCode, amount]];
      if (status === 'returning') return [['in_transit:returns', amount]];
      return status === 'unclaimed' ? [['unclaimed:credits', amount]] : [];
    }),
  ];
  const accounts = Map.groupBy(held, ([account]) => readable(account));
  return Object.fromEntries([...accounts].map(([account, rows]) => [account, sumOf(rows.map(([, amount]) => amount))]));
}

const HOLDING_ACCOUNT = /^(?:in_transit|reserve|suspense|unclaimed):/;

test.each(STEPS)('accounts in transit, in reserve and in suspense hold what their rows say, after $title', (made) => {
  const path = pathOf(made);
  const holding = Object.entries(netOf(path)).filter(([account]) => HOLDING_ACCOUNT.test(account));
  expect(Object.fromEntries(holding)).toEqual(heldByRows(path));
});

test('a reversal undoes all that was posted since the hold of the transaction that it reverses', () => {
  const reversals = STEPS.filter(({ movement }) => movement.transaction?.reverses !== undefined);
  expect(reversals.length).toBeGreaterThan(0);
  const wrong = reversals.filter((made) => {
    const { resource = '', reverses } = made.movement.transaction ?? {};
    const path = pathOf(made);
    const own = path.filter(
      ({ movement: { transaction } }) => transaction?.resource === resource || transaction?.key === reverses,
    );
    const find = (key?: string) => own.findIndex(({ movement }) => movement.transaction?.key === key);
    const reversed = find(reverses);
    if (reversed < 0) return true;
    const resolved = own[reversed]?.movement.transaction?.resolves;
    const start = resolved === undefined ? reversed : find(resolved);
    const left = Object.entries(netOf(own.slice(start)));
    // The account that was debited has the money again; if it is a closed wallet, the money is in suspense. Money of
    // a payout item came from the wallet by way of the reserve; money that was unclaimed goes to suspense, as does what
    // was repaid of a debt.
    return (
      !left.every(([account]) => /^(?:(?:held:)?wallet|reserve|unclaimed|suspense|receivable:wallet):/.test(account)) ||
      left.length > 2
    );
  });
  expect(wrong.map(({ title }) => title)).toEqual([]);
});

test('only money that returns to a wallet or is adjusted is exempt from the rules of the wallet', () => {
  const exempt = transactionsOf(STEPS).filter(({ rules }) => rules === 'credit_exempt');
  expect([...new Set(exempt.map(({ kind }) => kind))].toSorted()).toEqual([
    'adjustment',
    'adjustment_reversal',
    'hold_cancellation',
    'payout_item_failure',
    'payout_item_refusal',
    'payout_item_return',
    'refund_clawback_return',
    'refund_completion',
    'refund_return',
    'review_credit', // of what could not come back to a wallet over its limit
    'withdrawal_failure',
    'withdrawal_return',
  ]);
});

/** The fields of an event that the row which is written with it has under the same name. */
const EVENT_FIELDS = [
  'status',
  'reason',
  'amount',
  'fee',
  'baseAmount',
  'amountReceived',
  'totalAmount',
  'totalFee',
  'itemCount',
  'destination',
  'reference',
  'failureCode',
  'failureReason',
  'failureDetail',
  'sessionId',
];

test('events carry the status, amounts and reasons of the row that is written with them', () => {
  expect(
    exceptions((made) =>
      (made.movement.events ?? []).every(({ type, data }) => {
        const { paymentId, inboundCreditId, transferId, feeSweepId, adjustmentId, payoutItemId } = data;
        const ofSplit = type === 'wallet.credited' ? paymentId : undefined;
        const id = String(
          data.id ?? ofSplit ?? inboundCreditId ?? transferId ?? feeSweepId ?? adjustmentId ?? payoutItemId,
        );
        const rows = TABLES.flatMap((table): { id: Uuid }[] => [...writtenRows(made, table)]);
        const row = new Map(Object.entries(rows.find((one) => id.includes(idText(one.id))) ?? {}));
        return (
          row.size > 0 &&
          EVENT_FIELDS.every((field) => {
            if (type === 'wallet.debited' && field === 'reason') return true; // why the wallet was debited
            const column = type === 'wallet.debited' && field === 'amount' ? 'clawedBack' : field;
            const ofSeveral =
              column === 'clawedBack' && ((row.get('sources') as unknown[] | undefined) ?? []).length > 0;
            return ofSeveral || !(field in data && row.has(column)) || data[field] === row.get(column);
          })
        );
      }),
    ),
  ).toEqual([]);
});

test('transfers to a bank that failed or were returned have a code and a reason, and completed ones a session id', () => {
  expect(
    exceptions((made) =>
      (['withdrawals', 'refunds', 'payout_items'] as const).every((table) =>
        writtenRows(made, table).every(({ status, failureCode, failureReason }) => {
          const failed = status === 'failed' || status === 'returned';
          return (failureReason !== null) === failed && (failureCode !== null) === failed;
        }),
      ),
    ),
  ).toEqual([]);
  const completed = STEPS.flatMap((made) => [
    ...writtenRows(made, 'withdrawals'),
    ...writtenRows(made, 'refunds').filter(({ destination }) => destination === 'bank'),
  ]);
  const sessions = completed.filter(({ status }) => status === 'completed').map(({ sessionId }) => sessionId);
  expect(new Set(sessions)).toEqual(new Set(['session']));
});

/** A recall that left a debt is between the caller and the owner of the wallet. */
const isBetweenUsAndBank = ({ reason, walletId }: { reason: string; walletId: Uuid | null }): boolean =>
  ['reconciliation_break', 'paid_after_failure'].includes(reason) ||
  (reason === 'credit_recalled' && walletId === null);

test('every review case that a movement opens has its event, unless it is between us and the bank, and its message', () => {
  expect(
    exceptions((made) => {
      const opened = writtenRows(made, 'review_cases').filter(({ version }) => version === 1);
      const ids = (messages: readonly string[]) => messages.filter((id) => id.endsWith('_rev'));
      const events = (made.movement.events ?? []).map(({ resource }) => resource);
      const started = (made.movement.outbox ?? []).map(({ message }) => (message as FlowMessage).id);
      return opened.every((row) => {
        const id = publicId('reviewCase', row.id);
        return ids(started).includes(id) && ids(events).includes(id) === !isBetweenUsAndBank(row);
      });
    }),
  ).toEqual([]);
});

test('every review case that a movement opens names the credit, payment and wallet that it is about', () => {
  expect(
    exceptions((made) => {
      const [credit] = writtenRows(made, 'inbound_credits');
      const [payment] = writtenRows(made, 'payments');
      const creditedPayment = credit?.ownerKind === 'payment' ? credit.ownerId : null;
      const hasNoOwner = (reason: string) => reason === 'reconciliation_break' || credit?.ownerKind === null;
      return writtenRows(made, 'review_cases')
        .filter(({ version }) => version === 1)
        .every(
          ({ reason, inboundCreditId, paymentId, walletId }) =>
            inboundCreditId === (credit?.id ?? null) &&
            paymentId === (payment?.id ?? creditedPayment) &&
            // A recall of money that is in no wallet names none; a case of one of several wallets, that one.
            (reason === 'credit_recalled' ||
              BY_RESOURCE.splits?.includes(made) ||
              walletId === (hasNoOwner(reason) ? null : OWNER)),
        );
    }),
  ).toEqual([]);
});

test('outbox messages contain no names and no account numbers', () => {
  const text = JSON.stringify(STEPS.map(({ movement }) => movement.outbox ?? []));
  for (const personal of ['ADA OBI', 'Chidi Eze', 'CHIDI EZE', '0123456789']) expect(text).not.toContain(personal);
});
