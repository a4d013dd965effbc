// The scenarios of the money flows: each flow run through the API to each of its outcomes, with the expected state.
// Tests run them with fault injection; `npm run histories` records their histories, and the isolated ones at the end.

import { DESTINATIONS, type Destination } from '../../dev/chaos/requests.ts';
import { HOLD_ATTENTION } from '../../src/workflows/hold/decide.ts';
import { WINDOW } from '../../src/workflows/payout/decide.ts';
import type { ReviewAction } from '../../src/workflows/reviewCase/messages.ts';
import type { Resource, TestSettings } from './api.ts';
import type { PaymentResource } from './flows.ts';
import type { Need } from './scenarioBank.ts';
import type { Outcome, ScenarioContext } from './scenarioContext.ts';

/** The workflow and resource of a completed scenario. */
export interface ScenarioRun {
  workflowId: string;
  /** The resource in the API; null for a flow that has none. */
  path: string | null;
  /** The run to record, if it is not the last one. */
  runId?: string;
}

export interface Scenario {
  /** The workflow type. */
  flow: string;
  ending: string;
  /** What it needs of the bank that not every rail can do. */
  needs?: Need;
  /** Runs the scenario in an empty context until the API shows its outcome. */
  run: (stage: ScenarioContext) => Promise<ScenarioRun>;
  /** Without `reviews` or `bank`: no review case, or no transfer at the bank. */
  outcome: Pick<Outcome, 'status' | 'money' | 'events'> & Partial<Outcome>;
}

/** Scenarios of one flow, by their endings. */
const endings = <S extends Omit<Scenario, 'outcome'>>(
  flow: string,
  of: Record<string, Omit<S, 'flow' | 'ending'>>,
): (Omit<S, 'flow' | 'ending'> & Pick<Scenario, 'flow' | 'ending'>)[] =>
  Object.entries(of).map(([ending, scenario]) => ({ ...scenario, flow, ending }));

export const outcomeOf = ({ outcome }: Scenario): Outcome => ({ reviews: [], bank: [], ...outcome });

/** The file name of the scenario's recorded history. */
export const recordingOf = ({ flow, ending }: Pick<Scenario, 'flow' | 'ending'>): string => `${flow}-${ending}`;

/** Settings with which every scenario ends within seconds. */
export const SCENARIO_SETTINGS = {
  WORKER_ROLES: 'flows,payouts,relay',
  notVisibleForMs: 100,
  ATTENTION_RAIL_UNREACHABLE_SECONDS: '1',
  creditUnconfirmedMs: 1_000,
  WEBHOOK_RETRY_GAPS_SECONDS: '0.05,0.05',
};

/** What a bank paid, although it had reported a failure, is taken from the wallet. */
const takenFrom = ({ bank }: ScenarioContext, walletId: string, amount: number) => ({
  debit: `wallet:${walletId}`,
  credit: `clearing:${bank.rail}`,
  amount,
});

/** The money of outcomes: a payment of ₦2,000 that is settled, a transfer of ₦1,000 that came back or was paid. */
const SETTLED = { bank: -202_000, 'income:fees': 2_000, 'wallet:seller': 200_000 };
const SPLIT = { bank: -202_000, 'income:fees': 2_000, 'wallet:courier': 50_000, 'wallet:seller': 150_000 };
const BACK_WITH_OWNER = { bank: -103_000, 'wallet:owner': 103_000 };
const FEE_LEFT = { bank: -3_000, 'income:fees': 3_000 };

/** Transfers at the bank, as an outcome lists them. */
const PAID = 'completed, paid 1 times, returned 0 times';
const REFUSED = 'failed, paid 0 times, returned 0 times';
const RETURNED = 'returned, paid 1 times, returned 1 times';

/** Accounts at other banks, by how the sandbox bank handles a transfer to them: for the isolated scenarios. */
const COMPLETES = DESTINATIONS.completes;
const HOLDS = DESTINATIONS.holds;
/** An account to which the bank is set to accept no transfer for now. */
const UNDERFUNDED = '3000000009';

const WINDOW_MS = 2_000;
/** Longer than a request takes on a busy machine. */
const HELD_MS = 5_000;
const LATER_MS = 3_600_000;
const CREDITED_WINDOW_MS = 10_000;

async function paidByBank(stage: ScenarioContext, credits: number[]): Promise<ScenarioRun> {
  const payment = await stage.payment(await stage.wallet('seller'), 'bank_transfer');
  for (const [position, amount] of credits.entries()) {
    await stage.credit(payment.virtualAccount.accountNumber, amount);
    await stage.untilApplied(position + 1);
  }
  return { workflowId: payment.id, path: `/payments/${payment.id}` };
}

async function expired(stage: ScenarioContext, credits: number[], late: number[]): Promise<ScenarioRun> {
  // Long enough that the flow waits for the expiry, and that the bank dates a credit before it.
  const windowMs = credits.length > 0 ? CREDITED_WINDOW_MS : WINDOW_MS;
  stage.shortenWindows(windowMs, { startsWithCredit: credits.length > 0 });
  const payment = await stage.payment(await stage.wallet('seller'), 'bank_transfer');
  const path = `/payments/${payment.id}`;
  for (const amount of credits) await stage.credit(payment.virtualAccount.accountNumber, amount);
  await stage.untilStatus(path, 'expired');
  for (const amount of late) await stage.credit(payment.virtualAccount.accountNumber, amount);
  await stage.untilApplied(credits.length + late.length);
  return { workflowId: payment.id, path };
}

async function withdrawn(
  stage: ScenarioContext,
  destination: Destination,
  status: string,
  decided?: 'complete' | 'fail' | 'return',
): Promise<ScenarioRun> {
  const wallet = await stage.wallet('owner', 103_000);
  const accountNumber = await stage.bank.accountFor(destination);
  const body = { amount: 100_000, accountNumber, bankCode: '058' };
  const { id } = await stage.money(`/wallets/${wallet}/withdraw`, body);
  const path = `/withdrawals/${id}`;
  if (decided === 'complete' || decided === 'fail') await stage.decideParked(id, decided);
  await stage.untilStatus(path, status);
  if (decided === 'return') {
    await stage.endTransfer(id, decided);
    await stage.untilStatus(path, 'returned');
  }
  return { workflowId: id, path };
}

/** A failed withdrawal that the bank pays after all, when a part of its money has been spent. */
async function withdrawnAndPaidAfterFailure(stage: ScenarioContext): Promise<ScenarioRun> {
  const run = await withdrawn(stage, 'rejects', 'failed');
  const path = `/withdrawals/${run.workflowId}`;
  await stage.untilQuiet(run.workflowId);
  const { sourceWalletId } = (await stage.organisation.test.get(path)).data;
  const transfer = { destinationWalletId: await stage.wallet('other'), amount: 40_000 };
  await stage.money(`/wallets/${String(sourceWalletId)}/transfer`, transfer);
  await stage.bank.contradict(run.workflowId, 'complete');
  await stage.untilStatus(path, 'completed');
  return run;
}

/** After its completion the bank reports a transfer as failed. */
async function reportedAsFailed(stage: ScenarioContext, run: ScenarioRun): Promise<ScenarioRun> {
  await stage.untilQuiet(run.workflowId);
  await stage.bank.contradict(run.workflowId, 'reject');
  return run;
}

async function refunded(
  stage: ScenarioContext,
  destination: Destination,
  status: string,
  decided?: 'complete' | 'fail' | 'return',
): Promise<ScenarioRun> {
  const payment = await stage.payment(await stage.wallet('seller'), 'bank_transfer');
  const payer = await stage.bank.accountFor(destination);
  await stage.credit(payment.virtualAccount.accountNumber, payment.payableAmount, payer);
  await stage.untilStatus(`/payments/${payment.id}`, 'settled');
  const { id } = await stage.money(`/payments/${payment.id}/refund`, {});
  const path = `/refunds/${id}`;
  if (decided === 'complete' || decided === 'fail') await stage.decideParked(id, decided);
  await stage.untilStatus(path, status);
  if (decided === 'return') {
    await stage.endTransfer(id, decided);
    await stage.untilStatus(path, 'failed');
  }
  return { workflowId: id, path };
}

/** A payout of ₦1,000 to an account of each kind. Returns the flow of the payout, or of its first item. */
async function paidOut(
  stage: ScenarioContext,
  destinations: Destination[],
  status: string,
  flow: 'payout' | 'item' = 'payout',
  decided?: 'complete' | 'fail',
): Promise<ScenarioRun> {
  const sourceWalletId = await stage.wallet('owner', 103_000 * destinations.length);
  const accountNumbers = await Promise.all(destinations.map((destination) => stage.bank.accountFor(destination)));
  const items = accountNumbers.map((accountNumber) => ({
    amount: 100_000,
    bankAccount: { accountNumber, bankCode: '058' },
  }));
  const payout = await stage.money('/payouts', { sourceWalletId, items });
  const path = `/payouts/${payout.id}`;
  const [item] = payout.items as [Resource];
  if (decided !== undefined) await stage.decideParked(item.id, decided);
  await stage.untilStatus(path, status);
  return flow === 'payout' ? { workflowId: payout.id, path } : { workflowId: item.id, path: null };
}

/** A credit to an unknown account that an operator resolves, in some scenarios after a failed return to the sender. */
async function reviewed(
  stage: ScenarioContext,
  destination: Destination,
  ...decisions: ReviewAction[]
): Promise<ScenarioRun> {
  const walletId = await stage.wallet('owner');
  await stage.credit(null, 5_000, await stage.bank.accountFor(destination));
  let workflowId = '';
  for (const action of decisions) {
    workflowId = await stage.decideReview(action === 'credit' ? { action, walletId } : { action });
    if (action === 'return_to_sender' && destination === 'unavailable') await stage.decideParked(workflowId, 'fail');
  }
  await stage.untilEvent('review_case.resolved');
  return { workflowId, path: null };
}

/** A credit to a settled payment that has what it does not take returned. */
async function returnedUnasked(stage: ScenarioContext): Promise<ScenarioRun> {
  const targetWalletId = await stage.wallet('seller');
  const body = { method: 'bank_transfer', baseAmount: 200_000, targetWalletId, onMismatch: 'refund' };
  const { id, virtualAccount } = (await stage.money('/payments', body)) as PaymentResource;
  await stage.credit(virtualAccount.accountNumber, 202_000);
  await stage.untilStatus(`/payments/${id}`, 'settled');
  await stage.credit(virtualAccount.accountNumber, 5_000);
  await stage.untilEvent('review_case.resolved');
  const [workflowId = ''] = await stage.caseIds();
  return { workflowId, path: null };
}

/** A return to the sender that the bank rejects at first. */
async function returnedAfterRejection(stage: ScenarioContext): Promise<ScenarioRun> {
  const account = await stage.bank.accountFor('rejects');
  await stage.credit(null, 5_000, account);
  await stage.decideReview({ action: 'return_to_sender' });
  await stage.untilCount('review_case.opened', 2);
  await stage.bank.treat(account, 'completes');
  const workflowId = await stage.decideReview({ action: 'return_to_sender' });
  await stage.untilEvent('review_case.resolved');
  return { workflowId, path: null };
}

/** A payment that is settled by a second credit while the first is unconfirmed; the bank confirms the first later. */
async function settledByAnother(stage: ScenarioContext): Promise<ScenarioRun> {
  const { id, virtualAccount } = await stage.payment(await stage.wallet('seller'), 'bank_transfer');
  const path = `/payments/${id}`;
  const sessionId = await stage.unconfirmedCredit(virtualAccount.accountNumber, 50_000);
  await stage.credit(virtualAccount.accountNumber, 202_000);
  await stage.untilStatus(path, 'settled');
  await stage.bankHas(sessionId);
  await stage.untilApplied(2);
  return { workflowId: id, path };
}

/** A payment with a credit that an operator sets aside, and a second credit that settles it. */
async function setAside(stage: ScenarioContext): Promise<ScenarioRun & { sessionId: string }> {
  const { id, virtualAccount } = await stage.payment(await stage.wallet('seller'), 'bank_transfer');
  const path = `/payments/${id}`;
  const sessionId = await stage.unconfirmedCredit(virtualAccount.accountNumber, 50_000);
  await stage.setAside(id, sessionId);
  await stage.credit(virtualAccount.accountNumber, 202_000);
  await stage.untilStatus(path, 'settled');
  return { workflowId: id, path, sessionId };
}

/** A payment that is settled while the bank is unreachable for closing its account. */
async function settledWithOpenAccount(
  stage: ScenarioContext,
  then: 'left open' | 'closed later',
): Promise<ScenarioRun> {
  const { id, virtualAccount } = await stage.payment(await stage.wallet('seller'), 'bank_transfer');
  const path = `/payments/${id}`;
  await stage.bank.closesAccounts(false);
  await stage.credit(virtualAccount.accountNumber, 202_000);
  await stage.untilStatus(path, 'settled');
  if (then === 'left open') await stage.leaveAccountOpen(id);
  await stage.bank.closesAccounts(true);
  return { workflowId: id, path };
}

/** A deposit that an operator sets aside. */
async function depositSetAside(stage: ScenarioContext): Promise<ScenarioRun & { sessionId: string }> {
  const wallet = await stage.wallet('owner');
  const account = await stage.depositAccount(wallet);
  const sessionId = await stage.unconfirmedCredit(account, 70_000);
  const [workflowId = ''] = await stage.creditIds();
  await stage.setAside(workflowId, sessionId);
  return { workflowId, path: null, sessionId };
}

/** ₦20.00 of ₦50.00 are held for another wallet, for this time; null: until they are released by hand. */
async function held(stage: ScenarioContext, forMs: number | null) {
  const [payer, seller] = [await stage.wallet('payer', 5_000), await stage.wallet('seller')];
  const hold = forMs === null ? { release: 'manual' } : { releaseAt: new Date(Date.now() + forMs) };
  const body = { destinationWalletId: seller, amount: 2_000, hold };
  const { holdId } = await stage.money(`/wallets/${payer}/transfer`, body);
  const workflowId = String(holdId);
  return { run: { workflowId, path: `/holds/${workflowId}` }, seller };
}

/** A payment of ₦2,000 is paid, of which a courier gets ₦500.00. One of both parts is held, as `held` holds. */
async function heldOfPayment(stage: ScenarioContext, part: 'target' | 'split', forMs: number | null) {
  const [targetWalletId, walletId] = [await stage.wallet('seller'), await stage.wallet('courier')];
  const hold = forMs === null ? { release: 'manual' } : { releaseAt: new Date(Date.now() + forMs) };
  const splits = [{ walletId, amount: 50_000, ...(part === 'split' && { hold }) }];
  const body = { method: 'bank_transfer', baseAmount: 200_000, targetWalletId, splits };
  const payment = await stage.money('/payments', part === 'target' ? { ...body, hold } : body);
  const { virtualAccount, payableAmount } = payment as PaymentResource;
  await stage.credit(virtualAccount.accountNumber, payableAmount);
  await stage.untilStatus(`/payments/${payment.id}`, 'settled');
  const [of] = (await stage.organisation.test.get(`/holds?paymentId=${payment.id}`)).items;
  const workflowId = String(of?.id);
  return { workflowId, path: `/holds/${workflowId}` };
}

/** One that is due while its wallet is frozen. */
async function heldForFrozen(stage: ScenarioContext): Promise<{ run: ScenarioRun; account: string }> {
  const { run, seller } = await held(stage, LATER_MS);
  await stage.freezeAccount(`wallet:${seller}`, true);
  await stage.makeDue(run.workflowId);
  await stage.untilAttention(run.workflowId, HOLD_ATTENTION);
  return { run, account: `wallet:${seller}` };
}

/** Flows of Schedules without a scenario: each run does what an earlier one left, so none must survive a deployment. */
export const WITHOUT_SCENARIO = [
  'creditPolling',
  'failingFlows',
  'ledgerSealing',
  'ledgerVerification',
  'reconciliation',
  'retention',
  'sweep',
];

/** The bank takes back a deposit of which its wallet has spent ₦500.00. `account`: of the wallet. */
async function recalledWhenSpent(stage: ScenarioContext): Promise<ScenarioRun & { account: string }> {
  const wallet = await stage.wallet('owner');
  const account = await stage.depositAccount(wallet);
  const sessionId = await stage.credit(account, 70_000);
  await stage.untilApplied(1);
  const transfer = { destinationWalletId: await stage.wallet('other'), amount: 50_000 };
  await stage.money(`/wallets/${wallet}/transfer`, transfer);
  return { ...(await stage.recall(sessionId)), account };
}

/** A recall that the bank reports and does not confirm, until an operator sets it aside. */
async function recallSetAside(stage: ScenarioContext): Promise<ScenarioRun> {
  const wallet = await stage.wallet('owner');
  const account = await stage.depositAccount(wallet);
  const sessionId = await stage.credit(account, 70_000);
  await stage.untilApplied(1);
  const workflowId = await stage.unconfirmedRecall(sessionId);
  await stage.setAsideRecall(workflowId, sessionId);
  return { workflowId, path: null };
}

/**
 * `bank` is the money at the bank, in all accounts of its rail. Incoming money is a negative balance of it, so the
 * balances of every outcome add up to zero.
 */
export const SCENARIOS: Scenario[] = [
  ...endings<Scenario>('payment', {
    settled: {
      run: (stage) => paidByBank(stage, [202_000]),
      outcome: { status: 'settled', money: SETTLED, events: ['payment.settled', 'payment.completed'] },
    },
    partialThenSettled: {
      needs: 'any_amount',
      run: (stage) => paidByBank(stage, [50_000, 100_000, 52_500]),
      outcome: {
        status: 'settled',
        money: { bank: -202_500, 'income:fees': 2_000, 'wallet:seller': 200_500 },
        // A partial payment is reported with the same event type and the status `partial`.
        events: ['payment.settled', 'payment.settled', 'payment.settled', 'payment.completed'],
      },
    },
    expired: {
      run: (stage) => expired(stage, [], []),
      outcome: { status: 'expired', money: {}, events: ['payment.expired'] },
    },
    partialThenExpired: {
      needs: 'any_amount',
      run: (stage) => expired(stage, [40_000], []),
      outcome: {
        status: 'expired',
        money: { bank: -40_000, 'suspense:payment': 40_000 },
        events: ['payment.settled', 'payment.expired', 'review_case.opened', 'payment.in_review'],
        reviews: ['partial_expired: 40000 of suspense:payment, open'],
      },
    },
    lateCredit: {
      needs: 'late_money',
      run: (stage) => expired(stage, [], [202_000]),
      outcome: {
        status: 'expired',
        money: { bank: -202_000, 'suspense:unmatched': 202_000 },
        events: ['payment.expired', 'review_case.opened', 'payment.in_review'],
        reviews: ['late_credit: 202000 of suspense:unmatched, open'],
      },
    },
    cancelled: {
      run: async (stage) => {
        const { id } = await stage.payment(await stage.wallet('seller'), 'bank_transfer');
        await stage.money(`/payments/${id}/cancel`, {});
        return { workflowId: id, path: `/payments/${id}` };
      },
      outcome: { status: 'cancelled', money: {}, events: ['payment.cancelled'] },
    },
    cancelledThenPaid: {
      needs: 'late_money',
      run: async (stage) => {
        const { id, virtualAccount } = await stage.payment(await stage.wallet('seller'), 'bank_transfer');
        await stage.money(`/payments/${id}/cancel`, {});
        await stage.credit(virtualAccount.accountNumber, 202_000);
        await stage.untilApplied(1);
        return { workflowId: id, path: `/payments/${id}` };
      },
      outcome: {
        status: 'cancelled',
        money: { bank: -202_000, 'suspense:unmatched': 202_000 },
        events: ['payment.cancelled', 'review_case.opened', 'payment.in_review'],
        reviews: ['late_credit: 202000 of suspense:unmatched, open'],
      },
    },
    unconfirmedThenSettledByAnother: {
      needs: 'any_amount',
      run: settledByAnother,
      outcome: {
        status: 'settled',
        money: { bank: -252_000, 'income:fees': 2_000, 'suspense:unmatched': 50_000, 'wallet:seller': 200_000 },
        events: ['payment.settled', 'payment.completed', 'review_case.opened', 'payment.in_review'],
        reviews: ['credit_after_settlement: 50000 of suspense:unmatched, open'],
      },
    },
    unconfirmedSetAside: {
      run: setAside,
      outcome: {
        status: 'settled',
        money: SETTLED,
        events: ['review_case.opened', 'payment.settled', 'payment.completed'],
        reviews: ['credit_unconfirmed: 50000 of nothing, open'],
      },
    },
    accountClosedLater: {
      run: (stage) => settledWithOpenAccount(stage, 'closed later'),
      outcome: { status: 'settled', money: SETTLED, events: ['payment.settled', 'payment.completed'] },
    },
    accountLeftOpen: {
      run: (stage) => settledWithOpenAccount(stage, 'left open'),
      outcome: { status: 'settled', money: SETTLED, events: ['payment.settled', 'payment.completed'] },
    },
    paidFromWallet: {
      run: async (stage) => {
        const payment = await stage.payment(await stage.wallet('seller'), 'virtual_wallet');
        const payer = await stage.wallet('payer', 200_000);
        await stage.money(`/wallets/${payer}/pay`, { paymentId: payment.id });
        return { workflowId: payment.id, path: `/payments/${payment.id}` };
      },
      outcome: {
        status: 'settled',
        money: { bank: -200_000, 'wallet:seller': 200_000 },
        events: ['payment.settled', 'payment.completed'],
      },
    },
  }),
  ...endings<Scenario>('inboundCredit', {
    posted: {
      run: async (stage) => {
        const account = await stage.depositAccount(await stage.wallet('owner'));
        await stage.credit(account, 70_000);
        const [workflowId = ''] = await stage.untilApplied(1);
        return { workflowId, path: null };
      },
      outcome: { status: 'posted', money: { bank: -70_000, 'wallet:owner': 70_000 }, events: ['wallet.credited'] },
    },
    suspense: {
      run: async (stage) => {
        await stage.credit(null, 5_000);
        const [workflowId = ''] = await stage.untilApplied(1);
        return { workflowId, path: null };
      },
      outcome: {
        status: 'suspense',
        money: { bank: -5_000, 'suspense:unmatched': 5_000 },
        events: ['review_case.opened'],
        reviews: ['unknown_account: 5000 of suspense:unmatched, open'],
      },
    },
    unconfirmedSetAside: {
      run: depositSetAside,
      outcome: {
        status: 'set_aside',
        money: {},
        events: ['review_case.opened'],
        reviews: ['credit_unconfirmed: 70000 of nothing, open'],
      },
    },
    recalledBeforePosting: {
      needs: 'recalls',
      run: async (stage) => {
        const account = await stage.depositAccount(await stage.wallet('owner'));
        const sessionId = await stage.unconfirmedCredit(account, 70_000);
        await stage.bankHas(sessionId, { recalled: true });
        await stage.recall(sessionId);
        const [workflowId = ''] = await stage.untilApplied(1);
        return { workflowId, path: null };
      },
      outcome: { status: 'recalled', money: {}, events: [] },
    },
  }),
  ...endings<Scenario>('recall', {
    takenFromWallet: {
      needs: 'recalls',
      run: recalledWhenSpent,
      outcome: {
        status: 'posted',
        money: { 'receivable:wallet': -50_000, 'wallet:other': 50_000 },
        events: ['wallet.credited', 'transfer.completed', 'wallet.debited', 'review_case.opened'],
        reviews: ['credit_recalled: 50000 of nothing, open'],
      },
    },
    takenFromPayment: {
      needs: 'recalls',
      run: async (stage) => {
        const payment = await stage.payment(await stage.wallet('seller'), 'bank_transfer');
        const sessionId = await stage.credit(payment.virtualAccount.accountNumber, 50_000);
        await stage.untilApplied(1);
        const run = await stage.recall(sessionId);
        await stage.credit(payment.virtualAccount.accountNumber, 202_000);
        await stage.untilStatus(`/payments/${payment.id}`, 'settled');
        return run;
      },
      outcome: {
        status: 'posted',
        money: SETTLED,
        events: ['payment.settled', 'payment.recalled', 'payment.settled', 'payment.completed'],
      },
    },
    unconfirmedSetAside: {
      needs: 'recalls',
      run: (stage) => recallSetAside(stage),
      outcome: {
        status: 'set_aside',
        money: { bank: -70_000, 'wallet:owner': 70_000 },
        events: ['wallet.credited'],
        reviews: ['credit_recalled: 70000 of nothing, open'],
      },
    },
  }),
  ...endings<Scenario>('reviewCase', {
    recalled: {
      needs: 'recalls',
      run: async (stage) => {
        const sessionId = await stage.credit(null, 5_000);
        await stage.untilApplied(1);
        const [workflowId = ''] = await stage.caseIds();
        await stage.untilAttention(workflowId, 'review');
        await stage.recall(sessionId);
        return { workflowId, path: null };
      },
      outcome: {
        status: 'recalled',
        money: {},
        events: ['review_case.opened', 'review_case.resolved'],
        reviews: ['unknown_account: 5000 of suspense:unmatched, recalled'],
      },
    },
    credited: {
      run: (stage) => reviewed(stage, 'completes', 'credit'),
      outcome: {
        status: 'credited',
        money: { bank: -5_000, 'wallet:owner': 5_000 },
        events: ['review_case.opened', 'review_case.resolved'],
        reviews: ['unknown_account: 5000 of suspense:unmatched, credited'],
      },
    },
    unclaimed: {
      run: (stage) => reviewed(stage, 'completes', 'move_to_unclaimed'),
      outcome: {
        status: 'unclaimed',
        money: { bank: -5_000, 'unclaimed:credits': 5_000 },
        events: ['review_case.opened', 'review_case.resolved'],
        reviews: ['unknown_account: 5000 of suspense:unmatched, unclaimed'],
      },
    },
    returnedToSender: {
      run: (stage) => reviewed(stage, 'completes', 'return_to_sender'),
      outcome: {
        status: 'returned_to_sender',
        money: {},
        events: ['review_case.opened', 'review_case.resolved'],
        reviews: ['unknown_account: 5000 of suspense:unmatched, returned_to_sender'],
        bank: [PAID],
      },
    },
    returnedUnasked: {
      needs: 'late_money',
      run: returnedUnasked,
      outcome: {
        status: 'returned_to_sender',
        money: SETTLED,
        events: [
          'payment.settled',
          'payment.completed',
          'review_case.opened',
          'payment.in_review',
          'review_case.resolved',
          'payment.reviewed',
        ],
        reviews: ['credit_after_settlement: 5000 of suspense:unmatched, returned_to_sender'],
        bank: [PAID],
      },
    },
    claimed: {
      run: async (stage) => {
        const { workflowId } = await reviewed(stage, 'completes', 'move_to_unclaimed');
        await stage.claim(workflowId, { action: 'credit', walletId: await stage.wallet('claimant') });
        await stage.untilCount('review_case.resolved', 2);
        return { workflowId, path: null };
      },
      outcome: {
        status: 'credited',
        money: { bank: -5_000, 'wallet:claimant': 5_000 },
        events: ['review_case.opened', 'review_case.resolved', 'review_case.resolved'],
        reviews: ['unknown_account: 5000 of suspense:unmatched, credited'],
      },
    },
    claimedAndReturned: {
      run: async (stage) => {
        const { workflowId } = await reviewed(stage, 'completes', 'move_to_unclaimed');
        await stage.claim(workflowId, { action: 'return_to_sender' });
        await stage.untilCount('review_case.resolved', 2);
        return { workflowId, path: null };
      },
      outcome: {
        status: 'returned_to_sender',
        money: {},
        events: ['review_case.opened', 'review_case.resolved', 'review_case.resolved'],
        reviews: ['unknown_account: 5000 of suspense:unmatched, returned_to_sender'],
        bank: [PAID],
      },
    },
    neverReceivedThenUnclaimed: {
      run: (stage) => reviewed(stage, 'losesTransfer', 'return_to_sender', 'move_to_unclaimed'),
      outcome: {
        status: 'unclaimed',
        money: { bank: -5_000, 'unclaimed:credits': 5_000 },
        events: ['review_case.opened', 'review_case.opened', 'review_case.resolved'],
        reviews: ['unknown_account: 5000 of suspense:unmatched, unclaimed'],
      },
    },
    failedByOperatorsThenCredited: {
      run: (stage) => reviewed(stage, 'unavailable', 'return_to_sender', 'credit'),
      outcome: {
        status: 'credited',
        money: { bank: -5_000, 'wallet:owner': 5_000 },
        events: ['review_case.opened', 'review_case.opened', 'review_case.resolved'],
        reviews: ['unknown_account: 5000 of suspense:unmatched, credited'],
      },
    },
    // with a second reference
    refusedThenReturnedToSender: {
      run: returnedAfterRejection,
      outcome: {
        status: 'returned_to_sender',
        money: {},
        events: ['review_case.opened', 'review_case.opened', 'review_case.resolved'],
        reviews: ['unknown_account: 5000 of suspense:unmatched, returned_to_sender'],
        bank: [PAID, REFUSED],
      },
    },
    breakClosed: {
      run: async (stage) => {
        await stage.findBreak('nobodys_reference', 5_000);
        const workflowId = await stage.decideReview({ action: 'close', evidence: 'the bank reversed the transfer' });
        return { workflowId, path: null };
      },
      outcome: { status: 'closed', money: {}, events: [], reviews: ['reconciliation_break: 5000 of nothing, closed'] },
    },
    unconfirmedClosed: {
      run: async (stage) => {
        await depositSetAside(stage);
        const workflowId = await stage.decideReview({
          action: 'close',
          evidence: 'the bank never received the credit',
        });
        return { workflowId, path: null };
      },
      outcome: {
        status: 'closed',
        money: {},
        events: ['review_case.opened', 'review_case.resolved'],
        reviews: ['credit_unconfirmed: 70000 of nothing, closed'],
      },
    },
    confirmedAfterAll: {
      run: async (stage) => {
        const { sessionId } = await depositSetAside(stage);
        await stage.bankHas(sessionId);
        const workflowId = await stage.decideReview({ action: 'retry' });
        await stage.untilCreditIs(sessionId, 'posted');
        return { workflowId, path: null };
      },
      outcome: {
        status: 'closed',
        money: { bank: -70_000, 'wallet:owner': 70_000 },
        events: ['review_case.opened', 'review_case.resolved', 'wallet.credited'],
        reviews: ['credit_unconfirmed: 70000 of nothing, closed'],
      },
    },
    clawbackClosed: {
      run: async (stage) => {
        await withdrawnAndPaidAfterFailure(stage);
        const workflowId = await stage.decideReview({ action: 'close', evidence: 'an adjustment books the loss' });
        return { workflowId, path: null };
      },
      outcome: {
        status: 'closed',
        money: { bank: -3_000, 'receivable:bank': -37_000, 'wallet:other': 40_000 },
        events: ['withdrawal.failed', 'transfer.completed', 'withdrawal.completed', 'wallet.debited'],
        reviews: ['paid_after_failure: 37000 of nothing, closed'],
        bank: [PAID],
      },
    },
  }),
  ...endings<Scenario>('withdrawal', {
    completed: {
      run: (stage) => withdrawn(stage, 'completes', 'completed'),
      outcome: { status: 'completed', money: FEE_LEFT, events: ['withdrawal.completed'], bank: [PAID] },
    },
    completedAfterLostAnswer: {
      run: (stage) => withdrawn(stage, 'losesResponse', 'completed'),
      outcome: { status: 'completed', money: FEE_LEFT, events: ['withdrawal.completed'], bank: [PAID] },
    },
    failed: {
      run: (stage) => withdrawn(stage, 'rejects', 'failed'),
      outcome: { status: 'failed', money: BACK_WITH_OWNER, events: ['withdrawal.failed'], bank: [REFUSED] },
    },
    returned: {
      run: (stage) => withdrawn(stage, 'returns', 'returned'),
      outcome: { status: 'returned', money: BACK_WITH_OWNER, events: ['withdrawal.returned'], bank: [RETURNED] },
    },
    returnedLate: {
      run: (stage) => withdrawn(stage, 'completes', 'completed', 'return'),
      outcome: {
        status: 'returned',
        money: BACK_WITH_OWNER,
        events: ['withdrawal.completed', 'withdrawal.returned'],
        bank: [RETURNED],
      },
    },
    contradictionReturned: {
      run: async (stage) => {
        const run = await reportedAsFailed(stage, await withdrawn(stage, 'completes', 'completed'));
        await stage.decideParked(run.workflowId, 'return');
        return run;
      },
      outcome: {
        status: 'returned',
        money: BACK_WITH_OWNER,
        events: ['withdrawal.completed', 'withdrawal.returned'],
        bank: ['failed, paid 1 times, returned 1 times'],
      },
    },
    clawedBack: {
      run: (stage) => withdrawnAndPaidAfterFailure(stage),
      outcome: {
        status: 'completed',
        money: { bank: -3_000, 'receivable:bank': -37_000, 'wallet:other': 40_000 },
        events: ['withdrawal.failed', 'transfer.completed', 'withdrawal.completed', 'wallet.debited'],
        reviews: ['paid_after_failure: 37000 of nothing, open'],
        bank: [PAID],
      },
    },
    neverReceived: {
      run: (stage) => withdrawn(stage, 'losesTransfer', 'failed'),
      outcome: { status: 'failed', money: BACK_WITH_OWNER, events: ['withdrawal.failed'] },
    },
    failedByOperators: {
      run: (stage) => withdrawn(stage, 'unavailable', 'failed', 'fail'),
      outcome: { status: 'failed', money: BACK_WITH_OWNER, events: ['withdrawal.failed'] },
    },
  }),
  ...endings<Scenario>('refund', {
    completed: {
      run: (stage) => refunded(stage, 'completes', 'completed'),
      outcome: {
        status: 'completed',
        money: { bank: -2_000, 'income:fees': 2_000 },
        events: ['payment.settled', 'payment.completed', 'refund.completed'],
        bank: [PAID],
      },
    },
    failed: {
      run: (stage) => refunded(stage, 'rejects', 'failed'),
      outcome: {
        status: 'failed',
        money: SETTLED,
        events: ['payment.settled', 'payment.completed', 'refund.failed'],
        bank: [REFUSED],
      },
    },
    returnedLate: {
      run: (stage) => refunded(stage, 'completes', 'completed', 'return'),
      outcome: {
        status: 'failed',
        money: SETTLED,
        events: ['payment.settled', 'payment.completed', 'refund.completed', 'refund.failed'],
        bank: [RETURNED],
      },
    },
    neverReceived: {
      run: (stage) => refunded(stage, 'losesTransfer', 'failed'),
      outcome: { status: 'failed', money: SETTLED, events: ['payment.settled', 'payment.completed', 'refund.failed'] },
    },
    // with the bank's written confirmation of the payment
    completedByOperators: {
      run: (stage) => refunded(stage, 'unavailable', 'completed', 'complete'),
      outcome: {
        status: 'completed',
        money: { bank: -2_000, 'income:fees': 2_000 },
        events: ['payment.settled', 'payment.completed', 'refund.completed'],
      },
    },
  }),
  ...endings<Scenario>('hold', {
    released: {
      run: async (stage) => {
        const { run } = await held(stage, HELD_MS);
        await stage.untilStatus(run.path, 'released');
        return run;
      },
      outcome: {
        status: 'released',
        money: { bank: -5_000, 'wallet:payer': 3_000, 'wallet:seller': 2_000 },
        events: ['transfer.completed', 'hold.created', 'hold.released'],
      },
    },
    // in two parts
    releasedByRequest: {
      run: async (stage) => {
        const { run } = await held(stage, null);
        await stage.runOf(run.workflowId);
        await stage.money(`${run.path}/release`, { amount: 500 });
        await stage.money(`${run.path}/release`, {});
        return run;
      },
      outcome: {
        status: 'released',
        money: { bank: -5_000, 'wallet:payer': 3_000, 'wallet:seller': 2_000 },
        events: ['transfer.completed', 'hold.created', 'hold.released', 'hold.released'],
      },
    },
    // before it is due, after a part was released
    cancelledByRequest: {
      run: async (stage) => {
        const { run } = await held(stage, LATER_MS);
        await stage.runOf(run.workflowId);
        await stage.money(`${run.path}/release`, { amount: 500 });
        await stage.money(`${run.path}/cancel`, {});
        return run;
      },
      outcome: {
        status: 'cancelled',
        money: { bank: -5_000, 'wallet:payer': 4_500, 'wallet:seller': 500 },
        events: ['transfer.completed', 'hold.created', 'hold.released', 'hold.cancelled'],
      },
    },
    splitReleased: {
      run: async (stage) => {
        const run = await heldOfPayment(stage, 'split', HELD_MS);
        await stage.untilStatus(run.path, 'released');
        return run;
      },
      outcome: {
        status: 'released',
        money: SPLIT,
        events: ['payment.settled', 'payment.completed', 'hold.created', 'hold.released'],
      },
    },
    paymentReleasedByRequest: {
      run: async (stage) => {
        const run = await heldOfPayment(stage, 'target', null);
        await stage.runOf(run.workflowId);
        await stage.money(`${run.path}/release`, {});
        return run;
      },
      outcome: {
        status: 'released',
        money: SPLIT,
        events: ['payment.settled', 'payment.completed', 'wallet.credited', 'hold.created', 'hold.released'],
      },
    },
    refusedThenReleased: {
      run: async (stage) => {
        const { run, account } = await heldForFrozen(stage);
        await stage.freezeAccount(account, false);
        await stage.decideHold(run.workflowId, 'release');
        return run;
      },
      outcome: {
        status: 'released',
        money: { bank: -5_000, 'wallet:payer': 3_000, 'wallet:seller': 2_000 },
        events: ['transfer.completed', 'hold.created', 'hold.released'],
      },
    },
    refusedThenCancelled: {
      run: async (stage) => {
        const { run } = await heldForFrozen(stage);
        await stage.decideHold(run.workflowId, 'cancel');
        return run;
      },
      outcome: {
        status: 'cancelled',
        money: { bank: -5_000, 'wallet:payer': 5_000 },
        events: ['transfer.completed', 'hold.created', 'hold.cancelled'],
      },
    },
  }),
  ...endings<Scenario>('adjustment', {
    posted: {
      run: async (stage) => {
        const owner = await stage.wallet('owner', 5_000);
        const workflowId = await stage.requestAdjustment([takenFrom(stage, owner, 2_000)]);
        await stage.decideAdjustment(workflowId, 'approve');
        return { workflowId, path: null };
      },
      outcome: { status: 'posted', money: { bank: -3_000, 'wallet:owner': 3_000 }, events: ['wallet.adjusted'] },
    },
    // by the ledger, then by an operator
    refusedThenRejected: {
      run: async (stage) => {
        const owner = await stage.wallet('owner', 5_000);
        const workflowId = await stage.requestAdjustment([takenFrom(stage, owner, 6_000)]);
        await stage.decideAdjustment(workflowId, 'approve');
        await stage.decideAdjustment(workflowId, 'reject');
        return { workflowId, path: null };
      },
      outcome: { status: 'rejected', money: { bank: -5_000, 'wallet:owner': 5_000 }, events: [] },
    },
    reversal: {
      run: async (stage) => {
        const owner = await stage.wallet('owner', 5_000);
        const reversed = await stage.requestAdjustment([takenFrom(stage, owner, 2_000)]);
        await stage.decideAdjustment(reversed, 'approve');
        const workflowId = await stage.requestAdjustment({ reverses: reversed });
        await stage.decideAdjustment(workflowId, 'approve');
        return { workflowId, path: null };
      },
      outcome: {
        status: 'posted',
        money: { bank: -5_000, 'wallet:owner': 5_000 },
        events: ['wallet.adjusted', 'wallet.adjusted'],
      },
    },
  }),
  ...endings<Scenario>('payout', {
    completed: {
      run: (stage) => paidOut(stage, ['completes', 'completes'], 'completed'),
      outcome: {
        status: 'completed',
        money: { bank: -6_000, 'income:fees': 6_000 },
        events: ['payout.item_completed', 'payout.item_completed', 'payout.completed'],
        bank: [PAID, PAID],
      },
    },
    partiallyCompleted: {
      run: (stage) => paidOut(stage, ['completes', 'rejects', 'doesNotExist'], 'partially_completed'),
      outcome: {
        status: 'partially_completed',
        money: { bank: -209_000, 'income:fees': 3_000, 'wallet:owner': 206_000 },
        events: ['payout.item_completed', 'payout.item_failed', 'payout.item_failed', 'payout.partially_completed'],
        bank: [PAID, REFUSED],
      },
    },
    failed: {
      run: (stage) => paidOut(stage, ['rejects', 'returns'], 'failed'),
      outcome: {
        status: 'failed',
        money: { bank: -206_000, 'wallet:owner': 206_000 },
        events: ['payout.item_failed', 'payout.item_returned', 'payout.failed'],
        bank: [REFUSED, RETURNED],
      },
    },
  }),
  ...endings<Scenario>('payoutItem', {
    completed: {
      run: (stage) => paidOut(stage, ['losesResponse'], 'completed', 'item'),
      outcome: {
        status: 'completed',
        money: FEE_LEFT,
        events: ['payout.item_completed', 'payout.completed'],
        bank: [PAID],
      },
    },
    neverReceived: {
      run: (stage) => paidOut(stage, ['losesTransfer'], 'failed', 'item'),
      outcome: { status: 'failed', money: BACK_WITH_OWNER, events: ['payout.item_failed', 'payout.failed'] },
    },
    failedByOperators: {
      run: (stage) => paidOut(stage, ['unavailable'], 'failed', 'item', 'fail'),
      outcome: { status: 'failed', money: BACK_WITH_OWNER, events: ['payout.item_failed', 'payout.failed'] },
    },
    clawedBack: {
      run: async (stage) => {
        const run = await paidOut(stage, ['rejects'], 'failed', 'item');
        await stage.untilQuiet(run.workflowId);
        await stage.bank.contradict(run.workflowId, 'complete');
        await stage.untilEvent('payout.completed');
        return run;
      },
      outcome: {
        status: 'completed',
        money: FEE_LEFT,
        events: ['payout.item_failed', 'payout.failed', 'payout.item_completed', 'wallet.debited', 'payout.completed'],
        reviews: ['paid_after_failure: 0 of nothing, open'],
        bank: [PAID],
      },
    },
    returnedLate: {
      run: async (stage) => {
        const run = await paidOut(stage, ['completes'], 'completed', 'item');
        await stage.endTransfer(run.workflowId, 'return');
        await stage.untilEvent('payout.failed');
        return run;
      },
      outcome: {
        status: 'failed',
        money: BACK_WITH_OWNER,
        events: ['payout.item_completed', 'payout.completed', 'payout.item_returned', 'payout.failed'],
        bank: [RETURNED],
      },
    },
  }),
];

/** A scenario with settings, a pause or a server that would change the other ones. */
export interface IsolatedScenario extends Omit<Scenario, 'outcome'> {
  /** In addition to SCENARIO_SETTINGS. */
  settings?: TestSettings;
  /** The server suggests continuing as new after this many events. */
  eventsMax?: number;
}

/** More than a flow has after its first step, and fewer than after its second. */
const EVENTS_MAX = 10;
/** For a payment that others begin and wake: its runs have more events before a first credit is placed. */
const PAYMENT_EVENTS_MAX = 20;

/** A withdrawal of ₦1,000. */
async function withdrawing(stage: ScenarioContext, accountNumber: string): Promise<ScenarioRun & { path: string }> {
  const wallet = await stage.wallet('owner', 103_000);
  const { id } = await stage.money(`/wallets/${wallet}/withdraw`, { amount: 100_000, accountNumber, bankCode: '058' });
  return { workflowId: id, path: `/withdrawals/${id}` };
}

/** A withdrawal that is accepted while the rail is paused. */
async function paused(stage: ScenarioContext): Promise<ScenarioRun> {
  await stage.pauseRail(true);
  const run = await withdrawing(stage, COMPLETES);
  await stage.untilListed(run.workflowId, 'rail_paused');
  await stage.pauseRail(false);
  await stage.untilStatus(run.path, 'completed');
  return run;
}

/** A withdrawal that the bank ends only after the limit for an outcome, which ends the request for an operator. */
async function endedLate(stage: ScenarioContext): Promise<ScenarioRun> {
  const run = await withdrawing(stage, HOLDS);
  const runId = await stage.runOf(run.workflowId); // the bank's callback may start another
  await stage.retryParked(run.workflowId, 'outcome_unknown');
  await stage.untilAttention(run.workflowId, 'outcome_unknown');
  await stage.endTransfer(run.workflowId, 'complete');
  await stage.untilStatus(run.path, 'completed');
  return { ...run, runId };
}

/** A withdrawal that the bank has accepted and no longer finds: an operator is requested, and it is not sent again. */
async function forgotten(stage: ScenarioContext): Promise<ScenarioRun> {
  const run = await withdrawing(stage, HOLDS);
  const runId = await stage.runOf(run.workflowId); // the bank's callback may start another
  await stage.untilSent(run.workflowId);
  await stage.hideTransfer(run.workflowId, true);
  await stage.untilAttention(run.workflowId, 'outcome_unknown');
  await stage.hideTransfer(run.workflowId, false);
  await stage.endTransfer(run.workflowId, 'complete');
  await stage.untilStatus(run.path, 'completed');
  return { ...run, runId };
}

/** A withdrawal that the bank accepts only after the limit, when its balance is no longer too low. */
async function acceptedLate(stage: ScenarioContext): Promise<ScenarioRun> {
  await stage.bankAnswers(UNDERFUNDED, 'underfunded');
  const run = await withdrawing(stage, UNDERFUNDED);
  const runId = await stage.runOf(run.workflowId); // the bank's callback may start another
  await stage.untilAttention(run.workflowId, 'rail_not_ready');
  await stage.bankAnswers(UNDERFUNDED, 'complete');
  await stage.retryParked(run.workflowId, 'rail_not_ready');
  await stage.untilStatus(run.path, 'completed');
  return { ...run, runId };
}

/** A withdrawal that the bank holds until its flow has continued as new. Records the run before or after that. */
async function longWithdrawal(stage: ScenarioContext, which: 'first run' | 'last run'): Promise<ScenarioRun> {
  const run = await withdrawing(stage, HOLDS);
  await stage.untilContinued(run.workflowId);
  await stage.endTransfer(run.workflowId, 'complete');
  await stage.untilStatus(run.path, 'completed');
  return which === 'first run' ? await firstRun(stage, Promise.resolve(run)) : run;
}

/** A payment in parts, whose flow continues as new between them. Records the run before or after that. */
async function longPayment(stage: ScenarioContext, which: 'first run' | 'last run'): Promise<ScenarioRun> {
  const { id, virtualAccount } = await stage.payment(await stage.wallet('seller'), 'bank_transfer');
  const run = { workflowId: id, path: `/payments/${id}` };
  await stage.credit(virtualAccount.accountNumber, 50_000);
  await stage.untilApplied(1);
  await stage.credit(virtualAccount.accountNumber, 50_000);
  await stage.untilContinued(id);
  await stage.credit(virtualAccount.accountNumber, 102_000);
  await stage.untilStatus(run.path, 'settled');
  return which === 'first run' ? await firstRun(stage, Promise.resolve(run)) : run;
}

/** The first run of a flow that continues as new while it waits for the rail. */
async function firstRun(stage: ScenarioContext, run: Promise<ScenarioRun>): Promise<ScenarioRun> {
  const { workflowId, path } = await run;
  return { workflowId, path, runId: await stage.firstRunOf(workflowId) };
}

/** A withdrawal whose completion the ledger refuses until an account is active again. */
async function refused(stage: ScenarioContext): Promise<ScenarioRun> {
  const run = await withdrawing(stage, HOLDS);
  await stage.freezeAccount('in_transit:withdrawals', true);
  await stage.untilSent(run.workflowId);
  await stage.endTransfer(run.workflowId, 'complete');
  await stage.untilAttention(run.workflowId, 'posting_refused');
  await stage.freezeAccount('in_transit:withdrawals', false);
  await stage.decideAttention(run.workflowId, 'posting_refused', 'retry');
  await stage.untilStatus(run.path, 'completed');
  return run;
}

/** A payment that is refunded, in part or in full, and then paid again. */
async function paidAfterRefund(stage: ScenarioContext, amount: number, status: string): Promise<ScenarioRun> {
  const run = await paidByBank(stage, [202_000]);
  const path = `/payments/${run.workflowId}`;
  await stage.money(`${path}/refund`, { amount });
  await stage.untilStatus(path, status);
  const { virtualAccount } = (await stage.organisation.test.get(path)).data as PaymentResource;
  await stage.credit(virtualAccount.accountNumber, 5_000);
  await stage.untilApplied(2);
  return run;
}

/** A payout to accounts that hold the transfers. */
async function heldPayout(stage: ScenarioContext, count: number): Promise<{ id: string; items: string[] }> {
  const sourceWalletId = await stage.wallet('owner', 103_000 * count);
  const item = { amount: 100_000, bankAccount: { accountNumber: HOLDS, bankCode: '058' } };
  const payout = await stage.money('/payouts', { sourceWalletId, items: Array.from({ length: count }, () => item) });
  return { id: payout.id, items: (payout.items as Resource[]).map(({ id }) => id) };
}

/** A payout with one item more than its window: the last one runs when the others leave the window. */
async function windowTurned(stage: ScenarioContext): Promise<ScenarioRun> {
  const { id, items } = await heldPayout(stage, WINDOW + 1);
  const runId = await stage.runOf(id);
  for (const item of items) await stage.untilSent(item);
  await stage.bankAnswers(HOLDS, 'complete');
  await stage.untilStatus(`/payouts/${id}`, 'completed');
  return { workflowId: id, path: `/payouts/${id}`, runId };
}

/** A payout that the ledger does not let roll up at first, and whose last item an operator ends therefore. */
async function rollUpRefused(stage: ScenarioContext): Promise<ScenarioRun> {
  await stage.refusePayouts(true);
  const { id, items } = await heldPayout(stage, 1);
  for (const item of items) await stage.untilSent(item);
  await stage.bankAnswers(HOLDS, 'complete');
  for (const item of items) {
    await stage.untilAttention(item, 'posting_refused');
    await stage.endFlow(item);
  }
  await stage.untilAttention(id, 'posting_refused');
  await stage.refusePayouts(false);
  await stage.decideAttention(id, 'posting_refused', 'retry');
  await stage.untilStatus(`/payouts/${id}`, 'completed');
  return { workflowId: id, path: `/payouts/${id}` };
}

/** A payout of which an operator ends the flow of an item: it looks again for open items after a pause. */
async function inTwoRounds(stage: ScenarioContext): Promise<ScenarioRun> {
  const { id, items } = await heldPayout(stage, 1);
  const runId = await stage.runOf(id);
  for (const item of items) {
    await stage.untilSent(item);
    await stage.endFlow(item);
  }
  await stage.bankAnswers(HOLDS, 'complete');
  await stage.untilStatus(`/payouts/${id}`, 'completed');
  return { workflowId: id, path: `/payouts/${id}`, runId };
}

/** Only recorded, each in a database of its own. */
export const ISOLATED_SCENARIOS: IsolatedScenario[] = [
  ...endings<IsolatedScenario>('payment', {
    creditAfterRefund: { run: (stage) => paidAfterRefund(stage, 200_000, 'refunded') },
    creditAfterPartialRefund: { run: (stage) => paidAfterRefund(stage, 50_000, 'partially_refunded') },
    continuedAsNew: {
      run: (stage) => longPayment(stage, 'first run'),
      eventsMax: PAYMENT_EVENTS_MAX,
    },
    continued: {
      run: (stage) => longPayment(stage, 'last run'),
      eventsMax: PAYMENT_EVENTS_MAX,
    },
  }),
  ...endings<IsolatedScenario>('reviewCase', {
    bouncedThenCredited: { run: (stage) => reviewed(stage, 'returns', 'return_to_sender', 'credit') },
    repaid: {
      run: async (stage) => {
        const { account } = await recalledWhenSpent(stage);
        const [workflowId = ''] = await stage.caseIds();
        await stage.untilAttention(workflowId, 'review');
        await stage.credit(account, 50_000);
        await stage.untilApplied(2);
        await stage.flows.runMaintenance('sweep');
        return { workflowId, path: null };
      },
    },
    continuedAsNew: {
      run: (stage) => firstRun(stage, reviewed(stage, 'completes', 'return_to_sender')),
      eventsMax: EVENTS_MAX,
    },
  }),
  ...endings<IsolatedScenario>('withdrawal', {
    paused: { run: paused },
    contradictionDismissed: {
      run: async (stage) => {
        const run = await reportedAsFailed(stage, await withdrawn(stage, 'completes', 'completed'));
        await stage.decideAttention(run.workflowId, 'rail_contradiction', 'dismiss');
        return run;
      },
    },
    outcomeUnknown: {
      run: endedLate,
      settings: { ATTENTION_OUTCOME_UNKNOWN_SECONDS: '1' },
    },
    referenceForgotten: { run: forgotten },
    notReady: {
      run: acceptedLate,
      settings: { railNotReadyMs: 1_000 },
    },
    postingRefused: { run: refused },
    continuedAsNew: {
      run: (stage) => longWithdrawal(stage, 'first run'),
      eventsMax: EVENTS_MAX,
    },
    continued: { run: (stage) => longWithdrawal(stage, 'last run'), eventsMax: EVENTS_MAX },
  }),
  ...endings<IsolatedScenario>('railResume', {
    completed: {
      run: async (stage) => {
        await paused(stage);
        return { workflowId: await stage.lastFlow('railResume'), path: null };
      },
    },
  }),
  ...endings<IsolatedScenario>('dayProof', {
    completed: {
      run: async (stage) => {
        await stage.flows.runMaintenance('dayProof');
        return { workflowId: await stage.lastFlow('dayProof'), path: null };
      },
    },
  }),
  ...endings<IsolatedScenario>('inboundCredit', {
    continuedAsNew: {
      run: (stage) => firstRun(stage, depositSetAside(stage)),
      eventsMax: EVENTS_MAX,
    },
  }),
  ...endings<IsolatedScenario>('recall', {
    continuedAsNew: {
      run: (stage) => firstRun(stage, recallSetAside(stage)),
      eventsMax: EVENTS_MAX,
    },
  }),
  ...endings<IsolatedScenario>('hold', {
    continuedAsNew: {
      run: async (stage) => {
        const { run } = await held(stage, null);
        for (let part = 0; part < 3; part += 1) await stage.money(`${run.path}/release`, { amount: 500 });
        await stage.untilContinued(run.workflowId);
        await stage.money(`${run.path}/release`, {});
        return await firstRun(stage, Promise.resolve(run));
      },
      eventsMax: EVENTS_MAX,
    },
    postingRefused: {
      run: async (stage) => {
        const { run, seller } = await held(stage, LATER_MS);
        await stage.freezeAccount(`held:wallet:${seller}`, true);
        await stage.makeDue(run.workflowId);
        await stage.untilAttention(run.workflowId, 'posting_refused');
        await stage.freezeAccount(`held:wallet:${seller}`, false);
        await stage.decideAttention(run.workflowId, 'posting_refused', 'retry');
        await stage.untilStatus(run.path, 'released');
        return run;
      },
    },
  }),
  ...endings<IsolatedScenario>('payout', {
    postingRefused: { run: rollUpRefused },
    twoRounds: { run: inTwoRounds },
    continuedAsNew: { run: inTwoRounds, eventsMax: EVENTS_MAX },
    windowTurned: { run: windowTurned },
    // The run that starts the window. The next one starts the last item.
    handedOver: { run: windowTurned, eventsMax: EVENTS_MAX },
  }),
];
