// Every way by which money reaches a wallet, as a table: its statement says who sent it, what for and under which
// reference, what was charged, and how it is given back. A kind of movement that credits wallets and has no row fails.
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Sql } from '../../src/database/pool.ts';
import { type IdKind, publicId, requireUuid, type Uuid } from '../../src/ids.ts';
import type { Movement } from '../../src/ledger/movement.ts';
import type { Book } from '../../src/money.ts';
import { requestAdjustment, requestReversal } from '../../src/resources/adjustments/request.ts';
import { sweepFees } from '../../src/resources/feeSweeps/sweep.ts';
import { findPayment } from '../../src/resources/payments/queries.ts';
import { clawBackRefund, returnRefundFunds } from '../../src/resources/refunds/movements.ts';
import { findRefund } from '../../src/resources/refunds/queries.ts';
import { clawBackWithdrawal, returnWithdrawalFunds } from '../../src/resources/withdrawals/movements.ts';
import { findWithdrawal } from '../../src/resources/withdrawals/queries.ts';
import { BY_RESOURCE } from '../resources/movementTables/all.ts';
import type { Resource } from '../support/api.ts';
import { changedRail } from '../support/changedRail.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { OPERATORS } from '../support/operators.ts';
import { reportOf } from '../support/scriptedRail.ts';
import { waitFor } from '../support/waitFor.ts';

/** The bank charges for collections, so that items to wallets of the book are posted inside it. */
const charging = changedRail(({ capabilities }) => ({
  capabilities: { ...capabilities, charges: { collection: { basisPoints: 0, max: 0 }, transfer: [] } },
}));

const flows = await startTestFlows({ rails: charging, settings: { WORKER_ROLES: 'flows,payouts,relay' } });

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const BASE = 100_000;
const FEE = 1_000;
const PAYABLE = BASE + FEE;
const CAME_BACK = { code: 'bank_returned', reason: 'The receiving bank returned the money', sessionId: null } as const;
const SENDER = { senderName: 'Chidi Eze', senderAccountNumber: '1111111111', senderBankCode: '058' };
const BY_BANK = { walletId: null, name: 'Chidi Eze', accountNumber: '1111111111', bankCode: '058' };

/** A wallet, and a payment of it with words of its own. */
async function order(balance?: number) {
  const walletId = await flows.createWallet(undefined, balance === undefined ? {} : { balance });
  const reference = randomUUID();
  const payment = await flows.createPayment(walletId, BASE, { description: 'Two chairs', reference });
  return { walletId, payment, path: `/payments/${payment.id}`, words: { description: 'Two chairs', reference } };
}

type Order = Awaited<ReturnType<typeof order>>;

const pay = async ({ payment, path }: Order, amount: number): Promise<void> => {
  const sessionId = randomUUID();
  await flows.credit(payment.virtualAccount.accountNumber, amount, { ...SENDER, sessionId });
  await waitFor('the credit to be posted', async () => {
    const { items } = await flows.test.get(`${path}/credits`);
    return items.some((credit) => credit.sessionId === sessionId && credit.status !== 'received');
  });
};

const expire = async ({ payment }: Order) => {
  expect((await flows.test.post(`/simulations/payments/${payment.id}/expire`)).status).toBe(200);
};

/** Credits the money of the one open case of a payment to the wallet of the payment. Returns the case as it was. */
async function review({ payment }: Order): Promise<Resource> {
  const { items } = await flows.test.get(`/review-cases?paymentId=${payment.id}&status=open`);
  expect(items.length).toBe(1);
  const [opened] = items as [Resource];
  const { status, text } = await flows.test.money(`/review-cases/${opened.id}/resolve`, {
    action: 'credit',
    reason: 'it belongs to the order',
  });
  expect([status, text]).toEqual([200, expect.any(String)]);
  return opened;
}

interface Arrived {
  /** The kind of the transaction. */
  kind: string;
  walletId: string;
  /** Of the newest line. */
  line: { counterparty: object | null; description: string | null; reference: string | null };
  /** What the wallet received, what was charged, and what a refund gives back; null: there is no payment to refund. */
  credited: number;
  fee: number;
  refundable: number | null;
  paymentId?: string;
  /** Of the newest line; default: the amount itself. */
  component?: 'fee' | 'total';
}

const ofOrder = ({ walletId, payment, words }: Order, credited = BASE, fee = FEE): Arrived => ({
  kind: 'payment_settlement',
  walletId,
  line: { counterparty: BY_BANK, ...words },
  credited,
  fee,
  refundable: credited,
  paymentId: payment.id,
});

const SAYS_NOTHING = { description: null, reference: null };
/** What an adjustment says to a customer, unless its operator says more. */
const CORRECTION = { counterparty: null, description: 'Correction', reference: null };

/** Money that comes back: it is not charged, and has no payment to refund. */
const comesBack = (credited: number) => ({ credited, fee: 0, refundable: null });

const [PAID, REFUSED] = ['0123456789', '9999999001'];
const book = () => ({ organisationId: flows.organisation.organisationId, environment: 'test' }) as const;

async function post(movement: Movement): Promise<void> {
  expect(await flows.dependencies.journal.post(movement)).toEqual({ outcome: 'posted' });
}

async function rowOf<Row>(
  find: (from: Sql, of: Book, id: Uuid) => Promise<Row | null>,
  kind: IdKind,
  id: string,
): Promise<Row> {
  const row = await find(flows.sql, book(), requireUuid(kind, id));
  if (row === null) throw new Error(`no ${kind} ${id}`);
  return row;
}

/** A transfer of 900 kobo that is held for its destination. */
async function heldTransfer() {
  const [source, walletId] = await Promise.all([
    flows.createWallet(undefined, { balance: 5_000 }),
    flows.createWallet(),
  ]);
  const words = { description: 'Until it has arrived', reference: `held-${walletId}` };
  const body = { destinationWalletId: walletId, amount: 900, hold: { release: 'manual' }, ...words };
  const { data } = await flows.test.money(`/wallets/${source}/transfer`, body);
  return { id: String(data.holdId), source, walletId, words };
}

/** A withdrawal to an account, once it has this status. */
async function withdrawal(accountNumber: string, status: string) {
  const walletId = await flows.createWallet(undefined, { balance: 200_000 });
  const reference = randomUUID();
  const body = { amount: 50_000, narration: 'Rent', reference, accountNumber, bankCode: '058' };
  const { data } = await flows.test.money(`/wallets/${walletId}/withdraw`, body);
  await flows.untilStatus(`/withdrawals/${data.id}`, status);
  const counterparty = { walletId: null, name: expect.any(String), accountNumber, bankCode: '058' };
  const line = { counterparty: counterparty as object, description: 'Rent', reference };
  return { id: String(data.id), walletId, line, total: Number(data.totalAmount) };
}

/** A refund of 500 to a bank that refuses it. */
async function failedRefund() {
  const made = await order();
  await pay(made, PAYABLE);
  const [reference, reason] = [randomUUID(), 'one was broken'];
  const bankAccount = { accountNumber: REFUSED, bankCode: '058' };
  const { data } = await flows.test.money(`${made.path}/refund`, { amount: 500, reason, reference, bankAccount });
  await flows.untilStatus(`/refunds/${data.id}`, 'failed');
  const counterparty = { walletId: null, name: expect.any(String), ...bankAccount };
  const line = { counterparty: counterparty as object, description: reason, reference };
  return { id: String(data.id), made, walletId: made.walletId, line };
}

/** A payout of one item of 10,000, once that has this status. */
async function payoutTo(destination: object, status: string) {
  const walletId = await flows.createWallet(undefined, { balance: 200_000 });
  const reference = randomUUID();
  const items = [{ amount: 10_000, reference, ...destination }];
  const { data } = await flows.test.money('/payouts', { sourceWalletId: walletId, items });
  const item = await waitFor('the item to end', async () => {
    const [found] = (await flows.test.get(`/payouts/${data.id}/items`)).items;
    return found?.status === status && found;
  });
  await flows.untilStatus(`/payouts/${data.id}`, status);
  return { walletId, reference, item };
}

const grounds = (operator: 'ada' | 'ngozi') => ({
  reason: 'a correction',
  evidence: 'ticket 1',
  proof: OPERATORS[operator].proof,
});

async function approve(requested: Awaited<ReturnType<typeof requestAdjustment>>, operator: 'ada' | 'ngozi') {
  if (requested.outcome === 'refused') throw new Error(requested.message);
  const id = publicId('adjustment', requested.id);
  await waitFor(`${id} to need attention`, async () =>
    (await flows.detailsOf(id).catch(() => '')).includes('Send the update'),
  );
  const answer = await flows.decide('decide', id, { action: 'approve' }, operator);
  expect(answer).toMatchObject({ outcome: 'done' });
  return id;
}

/** An adjustment that gives a new wallet something, or takes it. */
async function adjustment(amount = 900) {
  const walletId = await flows.createWallet(undefined, { balance: 2_000 });
  const [wallet, bank] = [`wallet:${walletId}`, 'clearing:sandbox'];
  const posting = amount > 0 ? { debit: bank, credit: wallet } : { debit: wallet, credit: bank };
  const postings = [{ ...posting, amount: Math.abs(amount) }];
  const id = await approve(await requestAdjustment(flows.dependencies, book(), postings, grounds('ada')), 'ngozi');
  return { id, walletId };
}

const WAYS: Record<string, () => Promise<Arrived>> = {
  'a credit on time': async () => {
    const made = await order();
    await pay(made, PAYABLE);
    return ofOrder(made);
  },
  'a credit in two parts': async () => {
    const made = await order();
    await pay(made, 60_000);
    await pay(made, PAYABLE - 60_000);
    return ofOrder(made);
  },
  'a credit with a surplus': async () => {
    const made = await order();
    await pay(made, PAYABLE + 500);
    return ofOrder(made, BASE + 500);
  },
  'a late credit that a review case credits': async () => {
    const made = await order();
    await expire(made);
    await pay(made, PAYABLE);
    expect(await review(made)).toMatchObject({ reason: 'late_credit', fee: FEE });
    return { ...ofOrder(made), kind: 'review_credit' };
  },
  'two late halves that review cases credit': async () => {
    const made = await order();
    await expire(made);
    await pay(made, PAYABLE / 2);
    expect(await review(made)).toMatchObject({ fee: FEE / 2 });
    await pay(made, PAYABLE / 2);
    expect(await review(made)).toMatchObject({ fee: FEE / 2 });
    return { ...ofOrder(made), kind: 'review_credit' };
  },
  'a part of an expired payment that a review case credits': async () => {
    const made = await order();
    await pay(made, PAYABLE / 2);
    await expire(made);
    expect(await review(made)).toMatchObject({ reason: 'partial_expired', fee: FEE / 2 });
    return { ...ofOrder(made, BASE / 2, FEE / 2), kind: 'review_credit' };
  },
  'a credit to a frozen wallet that a review case credits while the payment is open': async () => {
    const made = await order();
    await flows.setWalletStatus(made.walletId, 'frozen');
    await pay(made, PAYABLE);
    await flows.setWalletStatus(made.walletId, 'active');
    expect(await review(made)).toMatchObject({ reason: 'wallet_frozen', fee: FEE });
    return { ...ofOrder(made), kind: 'review_credit' };
  },
  'a last part to a frozen wallet that a review case credits with the part that was held': async () => {
    const made = await order();
    await pay(made, 60_000);
    await flows.setWalletStatus(made.walletId, 'frozen');
    await pay(made, PAYABLE - 60_000);
    await flows.setWalletStatus(made.walletId, 'active');
    expect(await review(made)).toMatchObject({ amount: PAYABLE - 60_000, fee: FEE });
    return { ...ofOrder(made), kind: 'review_credit' };
  },
  'a second credit after the settlement that a review case credits': async () => {
    const made = await order();
    await pay(made, PAYABLE);
    await pay(made, 700);
    expect(await review(made)).toMatchObject({ reason: 'credit_after_settlement', fee: 0 });
    return { ...ofOrder(made, BASE + 700), kind: 'review_credit', credited: 700, fee: 0, refundable: BASE + 700 };
  },
  'a deposit': async () => {
    const walletId = await flows.createWallet();
    await flows.credit(await flows.depositAccount(walletId), 700, SENDER);
    await waitFor('the deposit', async () => (await flows.balanceOf(walletId)) === 700);
    return {
      kind: 'deposit',
      walletId,
      line: { counterparty: BY_BANK, ...SAYS_NOTHING },
      credited: 700,
      fee: 0,
      refundable: null,
    };
  },
  'a deposit to a frozen wallet that a review case credits': async () => {
    const walletId = await flows.createWallet();
    const account = await flows.depositAccount(walletId);
    await flows.setWalletStatus(walletId, 'frozen');
    await flows.credit(account, 700, SENDER);
    const id = await waitFor('the case', async () => {
      const { items } = await flows.test.get(`/review-cases?walletId=${walletId}`);
      return items[0]?.id ?? false;
    });
    await flows.setWalletStatus(walletId, 'active');
    await flows.test.money(`/review-cases/${id}/resolve`, { action: 'credit', reason: 'unfrozen' });
    return {
      kind: 'review_credit',
      walletId,
      line: { counterparty: BY_BANK, ...SAYS_NOTHING },
      credited: 700,
      fee: 0,
      refundable: null,
    };
  },
  'a transfer': async () => {
    const [source, walletId] = [await flows.createWallet(undefined, { balance: 900 }), await flows.createWallet()];
    const words = { description: 'Rent', reference: randomUUID() };
    await flows.test.money(`/wallets/${source}/transfer`, { destinationWalletId: walletId, amount: 900, ...words });
    const counterparty = { walletId: source, name: null, accountNumber: null, bankCode: null };
    return { kind: 'transfer', walletId, line: { counterparty, ...words }, credited: 900, fee: 0, refundable: null };
  },
  'a transfer whose hold is released': async () => {
    const { id, source, walletId, words } = await heldTransfer();
    await flows.test.money(`/holds/${id}/release`, {});
    const counterparty = { walletId: source, name: null, accountNumber: null, bankCode: null };
    return { kind: 'hold_release', walletId, line: { counterparty, ...words }, ...comesBack(900) };
  },
  'a transfer whose hold is cancelled': async () => {
    const { id, source, walletId, words } = await heldTransfer();
    await flows.test.money(`/holds/${id}/cancel`, {});
    const counterparty = { walletId, name: null, accountNumber: null, bankCode: null };
    return { kind: 'hold_cancellation', walletId: source, line: { counterparty, ...words }, ...comesBack(900) };
  },
  'a payment from a wallet': async () => {
    const [payer, walletId] = [await flows.createWallet(undefined, { balance: BASE }), await flows.createWallet()];
    const words = { description: 'A lamp', reference: randomUUID() };
    const more = { method: 'virtual_wallet', ...words };
    const { id } = await flows.createPayment(walletId, BASE, more);
    await flows.test.money(`/wallets/${payer}/pay`, { paymentId: id });
    const counterparty = { walletId: payer, name: null, accountNumber: null, bankCode: null };
    return {
      kind: 'payment_from_wallet',
      walletId,
      line: { counterparty, ...words },
      credited: BASE,
      fee: 0,
      refundable: BASE,
      paymentId: id,
    };
  },
  'a part that comes again after the bank took the first one back': async () => {
    const made = await order();
    await pay(made, 60_000);
    const [first] = (await flows.test.get(`${made.path}/credits`)).items;
    await flows.test.post(`/simulations/inbound-credits/${String(first?.sessionId)}/recall`);
    await flows.untilStatus(made.path, 'pending');
    await pay(made, PAYABLE);
    return ofOrder(made);
  },
  'a withdrawal that the bank refuses': async () => {
    const { walletId, line, total } = await withdrawal(REFUSED, 'failed');
    return { kind: 'withdrawal_failure', walletId, line, ...comesBack(total), component: 'total' };
  },
  'a withdrawal that is returned after it was paid': async () => {
    const { id, walletId, line, total } = await withdrawal(PAID, 'completed');
    await flows.endTransfer(id, 'return');
    await flows.untilStatus(`/withdrawals/${id}`, 'returned');
    return { kind: 'withdrawal_return', walletId, line, ...comesBack(total), component: 'fee' };
  },
  'what was taken for a withdrawal that was paid after all, and is returned then': async () => {
    const { id, walletId, line, total } = await withdrawal(REFUSED, 'failed');
    const report = { ...reportOf(id, 'completed'), sessionId: null };
    const row = async () => await rowOf(findWithdrawal, 'withdrawal', id);
    await post(clawBackWithdrawal(book(), await row(), report, total));
    await post(returnWithdrawalFunds(book(), await row(), 'return', CAME_BACK, null));
    return { kind: 'withdrawal_return', walletId, line, ...comesBack(total), component: 'fee' };
  },
  'a refund to a bank that fails': async () => {
    const { walletId, line } = await failedRefund();
    return { kind: 'refund_return', walletId, line, ...comesBack(500) };
  },
  'what was taken for a refund that was paid after all, and is returned then': async () => {
    const { id, made, walletId, line } = await failedRefund();
    const report = { ...reportOf(id, 'completed'), sessionId: null };
    const rows = async () =>
      [await rowOf(findPayment, 'payment', String(made.payment.id)), await rowOf(findRefund, 'refund', id)] as const;
    await post(clawBackRefund(book(), ...(await rows()), report, { balanceOf: () => BASE, others: 0 }));
    await post(
      returnRefundFunds(book(), ...(await rows()), 'return', CAME_BACK, {
        refusalOf: () => null,
        owedBy: () => 0,
        others: 0,
      }),
    );
    return { kind: 'refund_clawback_return', walletId, line, ...comesBack(500) };
  },
  'a refund to the wallet that paid': async () => {
    const [walletId, target] = [await flows.createWallet(undefined, { balance: BASE }), await flows.createWallet()];
    const { id } = await flows.createPayment(target, BASE, { method: 'virtual_wallet' });
    await flows.test.money(`/wallets/${walletId}/pay`, { paymentId: id });
    const words = { reference: randomUUID() };
    await flows.test.money(`/payments/${id}/refund`, { ...words, reason: 'one was broken', amount: 500 });
    const counterparty = { walletId: target, name: null, accountNumber: null, bankCode: null };
    const line = { counterparty, description: 'one was broken', ...words };
    return { kind: 'refund_completion', walletId, line, ...comesBack(500) };
  },
  'an item of a payout to a wallet of the same book': async () => {
    const walletId = await flows.createWallet();
    const { walletId: source, reference, item } = await payoutTo({ destinationWalletId: walletId }, 'completed');
    expect(item.fee).toBe(0);
    const counterparty = { walletId: source, name: null, accountNumber: null, bankCode: null };
    const line = { counterparty, description: null, reference };
    return { kind: 'payout_item_completion', walletId, line, credited: 10_000, fee: 0, refundable: null };
  },
  ...Object.fromEntries(
    (
      [
        ['payout_item_refusal', '9999999006'],
        ['payout_item_failure', REFUSED],
        ['payout_item_return', '9999999002'],
      ] as const
    ).map(([kind, accountNumber]) => [
      `an item of a payout that comes back by ${kind}`,
      async (): Promise<Arrived> => {
        const { walletId, reference, item } = await payoutTo(
          { bankAccount: { accountNumber, bankCode: '058' } },
          'failed',
        );
        const counterparty = expect.objectContaining({ walletId: null, accountNumber, bankCode: '058' });
        const line = { counterparty, description: null, reference };
        return { kind, walletId, line, ...comesBack(10_000 + Number(item.fee)), component: 'total' };
      },
    ]),
  ),
  'fees that are swept': async () => {
    const sweep = { key: randomUUID(), amount: 300, proof: OPERATORS.ada.proof };
    const swept = await sweepFees(flows.sql, flows.dependencies.journal, book(), sweep);
    expect(swept).toMatchObject({ outcome: 'swept' });
    const { settlementWalletId } = flows.organisation;
    const line = { counterparty: null, ...SAYS_NOTHING };
    return { kind: 'fee_sweep', walletId: settlementWalletId, line, ...comesBack(300) };
  },
  'an adjustment': async () => {
    const { walletId } = await adjustment();
    return { kind: 'adjustment', walletId, line: CORRECTION, ...comesBack(900) };
  },
  'an adjustment that takes one back': async () => {
    const { id, walletId } = await adjustment(-900);
    const reversed = await requestReversal(flows.dependencies, book(), requireUuid('adjustment', id), grounds('ngozi'));
    await approve(reversed, 'ada');
    return { kind: 'adjustment_reversal', walletId, line: CORRECTION, ...comesBack(900) };
  },
};

const arrived: Arrived[] = [];

describe.each(Object.entries(WAYS))('%s', (_way, arrive) => {
  test('says who sent it, what for, what it cost, and is given back up to what was credited', async () => {
    const made = await arrive();
    arrived.push(made);
    const { kind, walletId, line, credited, fee, refundable, paymentId, component = 'principal' } = made;
    const lines = (await flows.test.get(`/wallets/${walletId}/transactions?limit=100`)).items;
    const [newest] = lines as [Resource];
    expect(newest).toMatchObject({ kind, direction: 'credit', component, ...line });
    const { data } = await flows.test.get(`/transactions/${String(newest.transactionId)}`);
    const charged = (data.postings as { creditAccount: string; amount: number }[])
      .filter(({ creditAccount }) => creditAccount === 'income:fees')
      .map(({ amount }) => amount);
    // Of two late halves, the second is charged the other half of the fee.
    const credits = lines.filter(({ direction }) => direction === 'credit');
    const sumOf = (rows: readonly Resource[]) => rows.reduce((sum, { amount }) => sum + Number(amount), 0);
    const isWhole = sumOf(credits.filter(({ transactionId }) => transactionId === newest.transactionId)) === credited;
    expect(isWhole || sumOf(credits) === credited).toBe(true);
    expect(charged.reduce((sum, one) => sum + one, 0)).toBe(isWhole ? fee : fee / 2);
    if (paymentId === undefined) return;
    const more = await flows.test.money(`/payments/${paymentId}/refund`, { amount: Number(refundable) + 1 });
    expect([more.status, more.error.code]).toEqual([422, 'REFUND_AMOUNT_EXCEEDED']);
    const all = await flows.test.money(`/payments/${paymentId}/refund`, {});
    expect([all.status, all.data.amount]).toEqual([201, refundable]);
  });
});

test('every kind of movement that credits a wallet has a row', async () => {
  const kinds = Object.values(BY_RESOURCE)
    .flat()
    .flatMap(({ movement: { transaction } }) => transaction ?? [])
    .filter(({ postings }) => postings.some((posting) => posting.credit.startsWith('wallet:')))
    .map(({ kind }) => kind);
  const rows = arrived.map(({ kind }) => kind);
  expect(new Set(kinds.filter((kind) => !rows.includes(kind)))).toEqual(new Set());
});

describe('a payment tells the truth', () => {
  test('money in review is shown, asked for no more, and settles the open payment when it is credited', async () => {
    const made = await order();
    await flows.setWalletStatus(made.walletId, 'frozen');
    await pay(made, PAYABLE);
    const inReview = await flows.untilStatus(made.path, 'pending');
    expect(inReview).toMatchObject({ amountReceived: 0, amountInReview: PAYABLE });
    const page = async () => await (await fetch(String(inReview.checkoutUrl))).text();
    expect(await page()).toContain('₦1,010.00 received, being checked');
    expect(await page()).not.toContain(made.payment.virtualAccount.accountNumber);
    await flows.setWalletStatus(made.walletId, 'active');
    await review(made);
    expect((await flows.test.get(made.path)).data).toMatchObject({
      status: 'settled',
      amountReceived: PAYABLE,
      amountInReview: 0,
    });
    expect(await page()).toContain('Payment received');
    expect(await flows.balanceOf(made.walletId)).toBe(BASE);
    const events = await flows.eventsOf(made.payment.id);
    expect(events.map(({ type, data }) => [type, data.status, data.amountInReview])).toEqual([
      ['payment.in_review', 'pending', PAYABLE],
      ['payment.settled', 'settled', 0],
      ['payment.completed', 'settled', 0],
    ]);
    // Its flow gets a signal, closes the account number and ends.
    expect(await flows.flow(made.payment.id).result()).toEqual({ status: 'settled' });
    const credits = (await flows.test.get(`${made.path}/credits`)).items;
    expect(credits).toMatchObject([{ amount: PAYABLE, status: 'credited' }]);
  });

  test('late money in review is shown, and an expired payment keeps its status', async () => {
    const made = await order();
    await expire(made);
    await pay(made, PAYABLE);
    expect((await flows.test.get(made.path)).data).toMatchObject({ status: 'expired', amountInReview: PAYABLE });
    await review(made);
    expect((await flows.test.get(made.path)).data).toMatchObject({
      status: 'expired',
      amountReceived: PAYABLE,
      amountInReview: 0,
    });
    expect((await flows.eventsOf(made.payment.id)).map(({ type }) => type)).toEqual([
      'payment.expired',
      'payment.in_review',
      'payment.reviewed',
    ]);
    const refund = await flows.test.money(`${made.path}/refund`, {});
    await flows.untilStatus(`/refunds/${refund.data.id}`, 'completed');
    expect((await flows.test.get(made.path)).data.status).toBe('expired');
    expect((await flows.test.money(`${made.path}/refund`, {})).error.code).toBe('REFUND_AMOUNT_EXCEEDED');
  });

  test('money that is returned to its sender is in review until it is there', async () => {
    const made = await order();
    await expire(made);
    await pay(made, PAYABLE);
    const { items } = await flows.test.get(`/review-cases?paymentId=${made.payment.id}`);
    const body = { action: 'return_to_sender', reason: 'sold out' };
    await flows.test.money(`/review-cases/${items[0]?.id}/resolve`, body);
    await waitFor('the money to be back', async () => (await flows.test.get(made.path)).data.amountInReview === 0);
    expect((await flows.test.get(made.path)).data).toMatchObject({ amountReceived: 0, amountInReview: 0 });
    expect((await flows.test.money(`${made.path}/refund`, {})).error.code).toBe('PAYMENT_NOT_REFUNDABLE');
  });

  test('an operator may waive the fee', async () => {
    const made = await order();
    await expire(made);
    await pay(made, PAYABLE);
    const { items } = await flows.test.get(`/review-cases?paymentId=${made.payment.id}`);
    const id = String(items[0]?.id);
    await flows.untilStarted(id);
    await waitFor('the details', async () => (await flows.detailsOf(id)).includes('₦10.00 are charged'));
    const answer = await flows.decide('resolveCase', id, { action: 'credit', waiveFee: true });
    expect(answer).toMatchObject({ outcome: 'done', status: 'credited' });
    expect(await flows.balanceOf(made.walletId)).toBe(PAYABLE);
    const [row] = await flows.sql`SELECT fee FROM review_cases WHERE id = ${requireUuid('reviewCase', id)}`;
    expect(row).toEqual({ fee: 0 });
  });

  test('an open payment that a case would not settle keeps its money in review', async () => {
    const made = await order();
    await pay(made, 60_000);
    await flows.setWalletStatus(made.walletId, 'frozen');
    await pay(made, PAYABLE - 60_000);
    await flows.setWalletStatus(made.walletId, 'active');
    const [held] = (await flows.test.get(`${made.path}/credits`)).items.filter(({ status }) => status === 'posted');
    await flows.test.post(`/simulations/inbound-credits/${String(held?.sessionId)}/recall`);
    await flows.untilStatus(made.path, 'pending');
    const { items } = await flows.test.get(`/review-cases?paymentId=${made.payment.id}`);
    const body = { action: 'credit', reason: 'it is theirs' };
    const refused = await flows.test.money(`/review-cases/${items[0]?.id}/resolve`, body);
    expect([refused.status, refused.error.details.reason]).toEqual([422, 'payment_incomplete']);
  });
});

test.each([
  [
    'the room of the wallet',
    29_950_000,
    { limit: 'balance', limitAmount: 30_000_000, attemptedAmount: 30_050_000 },
    50_000,
  ],
  ['no room at all', 30_000_000, { limit: 'balance', limitAmount: 30_000_000, attemptedAmount: 30_100_000 }, 0],
])('a payment beyond %s is refused before a payer sees it', async (_what, balance, details, availableAmount) => {
  const walletId = await flows.createWallet(undefined, { balance });
  const body = { method: 'bank_transfer', baseAmount: BASE, targetWalletId: walletId };
  const refused = await flows.test.money('/payments', body);
  expect([refused.status, refused.error.code]).toEqual([422, 'WALLET_TIER1_LIMIT_EXCEEDED']);
  expect(refused.error.details).toEqual({ walletId, ...details, availableAmount });
  expect((await flows.test.money('/payments', { ...body, method: 'virtual_wallet' })).status).toBe(422);
  if (availableAmount === 0) return;
  expect((await flows.test.money('/payments', { ...body, baseAmount: availableAmount })).status).toBe(201);
});
