// Movements of a payout with two items: ₦1,000.00 with a fee of ₦30.00, and ₦500.00 with a fee of ₦25.00.
import type { Kobo } from '../../../src/money.ts';
import {
  clawBackItem,
  completeInside,
  completeItem,
  holdItem,
  type ItemFailure,
  reservePayout,
  returnItemFunds,
  rollUpMovement,
} from '../../../src/resources/payouts/movements.ts';
import type { Payout, PayoutItem } from '../../../src/resources/payouts/queries.ts';
import type { ItemCounts } from '../../../src/workflows/payout/decide.ts';
import { contractFee } from '../../support/contractFee.ts';
import {
  BOOK,
  call,
  goesBack,
  newId,
  OTHER,
  OWNER,
  PAID,
  RETURN_CASES,
  rowAfter,
  type Step,
  step,
} from '../movementTable.ts';

const payoutId = newId('payout', 'payout');

/** A pending item to a bank account. */
export const itemToBank = (row: Pick<PayoutItem, 'id' | 'payoutId' | 'position' | 'amount'>): PayoutItem => ({
  ...row,
  version: 1,
  fee: contractFee('payout_item', row.amount),
  status: 'pending',
  destinationWalletId: null,
  accountNumber: '0123456789',
  accountName: null,
  bankCode: '058',
  reference: null,
  failureCode: null,
  failureReason: null,
  failureDetail: null,
  rail: 'sandbox',
  sessionId: null,
  returnedAt: null,
  unreported: false,
  clawedBack: null,
  inside: false,
});
const items = [
  itemToBank({ id: newId('payoutItem', 'first item'), payoutId, position: 0, amount: 100_000 }),
  itemToBank({ id: newId('payoutItem', 'second item'), payoutId, position: 1, amount: 50_000 }),
];

const payout: Payout = {
  id: payoutId,
  version: 1,
  sourceWalletId: OWNER,
  totalAmount: 150_000,
  totalFee: 5_500,
  itemCount: 2,
  status: 'processing',
  reference: null,
  metadata: null,
  createdAt: new Date(),
};

const itemAfter = (made: Step) => rowAfter(made, 'payout_items');
const withWallet = (item: PayoutItem) => ({ item, sourceWalletId: OWNER });
const failureOf = (kind: ItemFailure['kind']): ItemFailure => ({
  kind,
  code: 'bank_refused',
  reason: 'The reason',
  sessionId: null,
});
const REFUSAL = failureOf('payout_item_refusal');
const FAILURE = failureOf('payout_item_failure');
const RETURN = failureOf('payout_item_return');

const reserved = step({
  title: 'an accepted payout moves all amounts and fees from the wallet into its reserve',
  call: call(reservePayout, payout, items),
  alsoWritten: { payouts: [payout], payout_items: items },
  net: { 'wallet:owner': -155_500, 'reserve:payout:payout': 155_500 },
  transaction: 'payout_reserve payout/reserve, enforced',
  rows: ['payouts: processing, version 1', 'payout_items: pending, version 1', 'payout_items: pending, version 1'],
});
const pending = rowAfter(reserved, 'payout_items', 0);
const secondPending = rowAfter(reserved, 'payout_items', 1);

const insideItem: PayoutItem = {
  ...itemToBank({
    id: newId('payoutItem', 'inside item'),
    payoutId: newId('payout', 'inside payout'),
    position: 0,
    amount: 100_000,
  }),
  fee: 0,
  destinationWalletId: OTHER,
  inside: true,
};
const insidePayout: Payout = {
  ...payout,
  id: insideItem.payoutId,
  totalAmount: 100_000,
  totalFee: 0,
  itemCount: 1,
};

const reservedInside = step({
  title: 'a payout to a wallet of the same book that no bank carries is reserved without a fee',
  call: call(reservePayout, insidePayout, [insideItem]),
  alsoWritten: { payouts: [insidePayout], payout_items: [insideItem] },
  net: { 'wallet:owner': -100_000, 'reserve:payout:inside payout': 100_000 },
  transaction: 'payout_reserve_free inside payout/reserve, enforced',
  rows: ['payouts: processing, version 1', 'payout_items: pending, version 1'],
});

const completedInside = step({
  title: 'an item that is posted within the book credits the wallet, without a fee',
  after: reservedInside,
  call: call(completeInside, BOOK, rowAfter(reservedInside, 'payout_items', 0), OTHER),
  net: { 'reserve:payout:inside payout': -100_000, 'wallet:other': 100_000 },
  transaction: 'payout_item_completion inside item/completion, enforced',
  rows: ['payout_items: completed, version 2'],
  events: ['payout.item_completed', 'wallet.credited'],
});

const held = step({
  title: 'an item that is sent moves from the reserve into transit',
  after: reserved,
  call: call(holdItem, BOOK, pending, 'ADA OBI'),
  net: { 'reserve:payout:payout': -103_000, 'in_transit:payouts': 103_000 },
  transaction: 'payout_item_hold first item/hold, enforced',
  rows: ['payout_items: processing, version 2'],
});

const completed = step({
  title: 'an item that the bank has paid leaves through clearing, and its fee is income',
  after: held,
  call: call(completeItem, BOOK, itemAfter(held), PAID),
  net: { 'in_transit:payouts': -103_000, 'clearing:sandbox': 100_000, 'income:fees': 3_000 },
  transaction: 'payout_item_completion first item/completion, enforced, resolves first item/hold',
  rows: ['payout_items: completed, version 3'],
  events: ['payout.item_completed'],
});

/** The item at each state with the accounts that its money leaves, and the failures that may end it there. */
const RETURNS: {
  state: string;
  after: Step;
  item: PayoutItem;
  leaves: Record<string, Kobo>;
  failures: ItemFailure[];
}[] = [
  {
    state: 'was never sent',
    after: reserved,
    item: pending,
    leaves: { 'reserve:payout:payout': -103_000 },
    failures: [REFUSAL, FAILURE],
  },
  {
    state: 'is in transit',
    after: held,
    item: itemAfter(held),
    leaves: { 'in_transit:payouts': -103_000 },
    failures: [FAILURE, RETURN],
  },
  {
    state: 'was completed',
    after: completed,
    item: itemAfter(completed),
    leaves: { 'clearing:sandbox': -100_000, 'income:fees': -3_000 },
    failures: [RETURN],
  },
];

const returns = RETURNS.flatMap(({ state, after, item, leaves, failures }) =>
  failures.flatMap((failure) => {
    // An item that was never sent has no hold to reverse.
    const reverses = after === reserved ? '' : `, reverses first item/${after === held ? 'hold' : 'completion'}`;
    return RETURN_CASES.map(([wallet, refusal]) => {
      const back = goesBack(refusal, 103_000);
      return step({
        title: `an item that ${state} goes back ${refusal === null ? 'to the wallet' : `to suspense, because the wallet is ${wallet}`} on ${failure.kind}`,
        after,
        call: call(returnItemFunds, BOOK, withWallet(item), failure, refusal),
        net: { ...leaves, ...back.net },
        transaction: `${failure.kind} first item/return, credit_exempt${reverses}`,
        rows: [
          `payout_items: failed, version ${item.version + 1}${failure === RETURN ? ', unreported' : ''}`,
          ...back.rows,
        ],
        events: [failure === RETURN ? 'payout.item_returned' : 'payout.item_failed', ...(back.events ?? [])],
        outbox: back.outbox,
      });
    });
  }),
);
const failed = returns.find(
  ({ after, transaction }) => after === held && transaction?.startsWith('payout_item_failure') === true,
) as Step;

const clawedBack = step({
  title: 'a failed item that the bank has paid is taken from a wallet with less than its amount',
  after: failed,
  call: call(clawBackItem, BOOK, withWallet(itemAfter(failed)), PAID, 70_000),
  net: { 'wallet:owner': -70_000, 'receivable:bank': -30_000, 'clearing:sandbox': 100_000 },
  transaction: 'payout_item_clawback first item/clawback, exempt',
  rows: [
    'payout_items: completed, version 4, unreported',
    'review_cases: open, version 1, paid_after_failure of 30000 in no account',
  ],
  events: ['payout.item_completed', 'wallet.debited'],
  outbox: ['reviewCase: start'],
});

const clawbackReturned = RETURN_CASES.map(([wallet, refusal]) => {
  const back = goesBack(refusal, 70_000);
  return step({
    title: `a clawed back item that the bank returns goes ${refusal === null ? 'to the wallet' : `to suspense, because the wallet is ${wallet}`}`,
    after: clawedBack,
    call: call(returnItemFunds, BOOK, withWallet(itemAfter(clawedBack)), RETURN, refusal),
    net: { 'clearing:sandbox': -100_000, 'receivable:bank': 30_000, ...back.net },
    transaction: 'payout_item_return first item/clawback_return, credit_exempt, reverses first item/clawback',
    rows: ['payout_items: failed, version 5, unreported', ...back.rows],
    events: ['payout.item_returned', ...(back.events ?? [])],
    outbox: back.outbox,
  });
});

const secondHeld = step({
  title: 'a second item is sent after the first was completed',
  after: completed,
  call: call(holdItem, BOOK, secondPending, null),
  net: { 'reserve:payout:payout': -52_500, 'in_transit:payouts': 52_500 },
  transaction: 'payout_item_hold second item/hold, enforced',
  rows: ['payout_items: processing, version 2'],
});

const bothCompleted = step({
  title: 'the last item that the bank has paid leaves the reserve of its payout empty',
  after: secondHeld,
  call: call(completeItem, BOOK, itemAfter(secondHeld), PAID),
  net: { 'in_transit:payouts': -52_500, 'clearing:sandbox': 50_000, 'income:fees': 2_500 },
  transaction: 'payout_item_completion second item/completion, enforced, resolves second item/hold',
  rows: ['payout_items: completed, version 3'],
  events: ['payout.item_completed'],
});

const rolledUp = (
  title: string,
  after: Step,
  { from, late = [] }: { from: Payout; late?: PayoutItem[] },
  counts: ItemCounts,
  row: string,
  event: string,
) =>
  step({
    title,
    after,
    call: call(rollUpMovement, BOOK, from, counts, late),
    rows: [`payouts: ${row}`, ...late.map(({ status, version }) => `payout_items: ${status}, version ${version + 1}`)],
    events: [event],
  });

const allPaid = rolledUp(
  'a payout whose items are all completed is completed',
  bothCompleted,
  { from: payout },
  { open: 0, completed: 2, failed: 0 },
  'completed, version 2',
  'payout.completed',
);

const secondReturned = step({
  title: 'the second of two completed items is returned by the bank after the payout has ended',
  after: allPaid,
  call: call(returnItemFunds, BOOK, withWallet(itemAfter(bothCompleted)), RETURN, null),
  net: { 'clearing:sandbox': -50_000, 'income:fees': -2_500, 'wallet:owner': 52_500 },
  transaction: 'payout_item_return second item/return, credit_exempt, reverses second item/completion',
  rows: ['payout_items: failed, version 4, unreported'],
  events: ['payout.item_returned'],
});

const onePaid = rolledUp(
  'a payout whose items ended differently is partially completed',
  secondReturned,
  { from: rowAfter(allPaid, 'payouts'), late: [itemAfter(secondReturned)] },
  { open: 0, completed: 1, failed: 1 },
  'partially_completed, version 3',
  'payout.partially_completed',
);

const firstReturned = step({
  title: 'the last completed item of a payout is returned by the bank',
  after: onePaid,
  call: call(returnItemFunds, BOOK, withWallet(itemAfter(completed)), RETURN, null),
  net: { 'clearing:sandbox': -100_000, 'income:fees': -3_000, 'wallet:owner': 103_000 },
  transaction: 'payout_item_return first item/return, credit_exempt, reverses first item/completion',
  rows: ['payout_items: failed, version 4, unreported'],
  events: ['payout.item_returned'],
});

const completedUnsent = step({
  title: 'an item that operators complete before it was sent leaves the reserve through clearing',
  after: reserved,
  call: call(completeItem, BOOK, pending, { ...PAID, sessionId: null }),
  net: { 'reserve:payout:payout': -103_000, 'clearing:sandbox': 100_000, 'income:fees': 3_000 },
  transaction: 'payout_item_completion first item/completion, enforced',
  rows: ['payout_items: completed, version 2'],
  events: ['payout.item_completed'],
});

export const PAYOUTS = [
  reserved,
  held,
  completed,
  completedUnsent,
  step({
    title: 'an item that operators completed before it was sent can be returned by the bank',
    after: completedUnsent,
    call: call(returnItemFunds, BOOK, withWallet(itemAfter(completedUnsent)), RETURN, null),
    net: { 'clearing:sandbox': -100_000, 'income:fees': -3_000, 'wallet:owner': 103_000 },
    transaction: 'payout_item_return first item/return, credit_exempt, reverses first item/completion',
    rows: ['payout_items: failed, version 3, unreported'],
    events: ['payout.item_returned'],
  }),
  ...returns,
  clawedBack,
  ...clawbackReturned,
  secondHeld,
  bothCompleted,
  allPaid,
  secondReturned,
  onePaid,
  firstReturned,
  rolledUp(
    'a payout whose items all failed is failed',
    firstReturned,
    { from: rowAfter(onePaid, 'payouts'), late: [itemAfter(firstReturned)] },
    { open: 0, completed: 0, failed: 2 },
    'failed, version 4',
    'payout.failed',
  ),
  reservedInside,
  completedInside,
];
