// What the ledger must hold for a resource in each of its statuses: the business keys of its transactions, and their
// net effect on each account. Pure functions, one for each kind of resource that moves money; the counterpart of the
// movements in src/resources.
import { type IdKind, publicId, type Uuid } from '../ids.ts';
import {
  type AccountCode,
  BANK_RECEIVABLE,
  clearingAccount,
  DRAWINGS,
  FEE_INCOME,
  FUNDED_REFUNDS,
  heldAccount,
  IN_TRANSIT_PAYOUTS,
  IN_TRANSIT_REFUNDS,
  IN_TRANSIT_RETURNS,
  IN_TRANSIT_WITHDRAWALS,
  INTEREST_INCOME,
  paymentSuspenseAccount,
  payoutReserveAccount,
  RAIL_EXPENSE,
  receivableOf,
  settlementAccount,
  UNCLAIMED,
  UNMATCHED,
  walletAccount,
  walletReceivable,
} from '../ledger/chart.ts';
import { netChanges } from '../ledger/postings.ts';
import { type Kobo, sumOf } from '../money.ts';
import type { Adjustment } from '../resources/adjustments/queries.ts';
import { BANK_TRANSFER_STEPS, splitClawback, walletLegs } from '../resources/bankTransfers/movements.ts';
import type { FeeSweep } from '../resources/feeSweeps/queries.ts';
import { creditLegs, type HeldPayment, isHeldFor } from '../resources/holds/movements.ts';
import { type Hold, isOfTransfer } from '../resources/holds/queries.ts';
import { cameBackKey, creditKey, recallKey } from '../resources/inboundCredits/movements.ts';
import type { InboundCredit } from '../resources/inboundCredits/queries.ts';
import type { Payment } from '../resources/payments/queries.ts';
import type { Payout, PayoutItem } from '../resources/payouts/queries.ts';
import { chargedAccount, payoutAccount } from '../resources/rails/accounts.ts';
import type { Refund, RefundSource } from '../resources/refunds/queries.ts';
import { isOfPayment, type ReviewCase, returnReference } from '../resources/reviewCases/queries.ts';
import { type StatementEntry, statementEntryKey } from '../resources/statementEntries/movements.ts';
import type { Transfer } from '../resources/transfers/queries.ts';
import type { Withdrawal } from '../resources/withdrawals/queries.ts';

/** The net effect of a resource on each account, in kobo; credits are positive. Accounts with zero are left out. */
export type NetEffect = ReadonlyMap<AccountCode, Kobo>;

export interface Expectation {
  /** Public id. */
  resource: string;
  /** The business keys that transactions of this resource can have. */
  keys: readonly string[];
  /** The effects that its status allows, the usual one first. */
  effects: readonly [NetEffect, ...NetEffect[]];
}

/** The net effect of these changes; credits are positive. */
const effectOf = (...changes: readonly (readonly [AccountCode, Kobo])[]): NetEffect => netChanges(changes);

const NOTHING: NetEffect = new Map();

const moved = (from: AccountCode, to: AccountCode, amount: Kobo): NetEffect => effectOf([from, -amount], [to, amount]);

/** Money that returned to a wallet, or to suspense if it was closed: all, or what a clawback had taken. */
const returned = (wallet: AccountCode, total: Kobo, clawedBack: Kobo | null): Expectation['effects'] => [
  NOTHING,
  moved(wallet, UNMATCHED, total),
  moved(wallet, UNMATCHED, clawedBack ?? 0),
];

/** A transfer from a wallet to a bank. */
type PaidTransfer = Pick<Withdrawal, 'rail' | 'amount' | 'fee' | 'clawedBack'>;

/**
 * After the bank has paid. `held`: the account that held the money before. A clawback takes what the wallet has; if the
 * wallet was closed when the transfer failed, the money is in suspense.
 */
function paidOut(held: AccountCode, wallet: AccountCode, row: PaidTransfer): Expectation['effects'] {
  const { amount, fee, clawedBack } = row;
  const total = amount + fee;
  const taken = clawedBack ?? total;
  const { toFees, missing } = splitClawback(row, taken);
  const from = (suspended: Kobo): NetEffect =>
    effectOf(
      [held, -total],
      [wallet, total - suspended - taken],
      [UNMATCHED, suspended],
      [BANK_RECEIVABLE, -missing],
      [payoutAccount(row.rail), amount],
      [FEE_INCOME, toFees],
    );
  return clawedBack === null ? [from(0)] : [from(0), from(total)];
}

const keysOf = (resource: string, ...steps: string[]): string[] => steps.map((step) => `${resource}/${step}`);

/** Of a resource whose id and a step are the keys of its transactions. */
function ofSteps(
  kind: IdKind,
  { id }: { id: Uuid },
  steps: readonly string[],
  effects: Expectation['effects'],
): Expectation {
  const resource = publicId(kind, id);
  return { resource, keys: keysOf(resource, ...steps), effects };
}

type MovedByTransfer = Pick<Transfer, 'id' | 'sourceWalletId' | 'destinationWalletId' | 'holdId' | 'amount' | 'fee'>;

export function expectTransfer(row: MovedByTransfer): Expectation {
  const { amount, fee } = row;
  const source = walletAccount(row.sourceWalletId);
  const destination = (row.holdId === null ? walletAccount : heldAccount)(row.destinationWalletId);
  const effect = effectOf([source, -amount - fee], [destination, amount], [FEE_INCOME, fee]);
  return ofSteps('transfer', row, ['transfer'], [effect]);
}

/** What left it; what came to it belongs to its transfer or payment, and what a refund or recall took to that. */
export function expectHold(row: Hold): Expectation {
  const { walletId, sourceWalletId, amountReleased, version } = row;
  const amountCancelled = isOfTransfer(row) ? row.amountCancelled : 0;
  const to = (back: AccountCode): NetEffect =>
    effectOf(
      [heldAccount(walletId), -amountReleased - amountCancelled],
      [walletAccount(walletId), amountReleased],
      [back, amountCancelled],
    );
  const releases = Array.from({ length: version }, (_, index) => `release/${index + 1}`);
  return ofSteps('hold', row, [...releases, 'cancellation'], [to(walletAccount(sourceWalletId ?? '')), to(UNMATCHED)]);
}

export function expectWithdrawal(row: Withdrawal): Expectation {
  const wallet = walletAccount(row.sourceWalletId);
  const total = row.amount + row.fee;
  const effects: Record<Withdrawal['status'], Expectation['effects']> = {
    processing: [moved(wallet, IN_TRANSIT_WITHDRAWALS, total)],
    completed: paidOut(wallet, wallet, row),
    failed: returned(wallet, total, null),
    returned: returned(wallet, total, row.clawedBack),
  };
  return ofSteps('withdrawal', row, BANK_TRANSFER_STEPS, effects[row.status]);
}

/** `targetWalletId`, `payerWalletId`: of its payment. */
export function expectRefund(row: Refund & Pick<Payment, 'targetWalletId' | 'payerWalletId'>): Expectation {
  const wallet = walletAccount(row.targetWalletId);
  const { amount } = row;
  const toBank = row.destination === 'bank';
  if (row.sources.length > 0) return ofSteps('refund', row, BANK_TRANSFER_STEPS, [refundOfSplits(row)]);
  const completed: Expectation['effects'] = toBank
    ? paidOut(wallet, wallet, { ...row, rail: row.rail ?? '', fee: 0 })
    : [moved(wallet, walletAccount(row.payerWalletId ?? ''), amount)];
  const effects: Record<Refund['status'], Expectation['effects']> = {
    processing: [moved(wallet, IN_TRANSIT_REFUNDS, amount)],
    completed,
    failed: returned(wallet, amount, row.clawedBack),
  };
  return ofSteps('refund', row, BANK_TRANSFER_STEPS, effects[row.status]);
}

/** What a wallet has given of a refund of several by now, and what the one in whose place it gave it owes for it. */
const GIVEN: Record<'away' | 'back' | 'clawed_back', (source: RefundSource) => { given: Kobo; owed: Kobo }> = {
  away: ({ amount, owed }) => ({ given: amount, owed }),
  // What came back and the wallet did not take is in suspense, and so is what was repaid of the debt.
  back: ({ suspended, repaid }) => ({ given: suspended, owed: repaid }),
  clawed_back: ({ suspended, repaid, clawedBack }) => ({ given: suspended + (clawedBack ?? 0), owed: repaid }),
};

/** A refund that several wallets give. */
function refundOfSplits(row: Refund & Pick<Payment, 'payerWalletId'>): NetEffect {
  const { amount, status, clawedBack, sources } = row;
  const state = status === 'failed' ? 'back' : clawedBack === null ? 'away' : 'clawed_back';
  const paid = effectOf(
    [status === 'processing' ? IN_TRANSIT_REFUNDS : paidAccount(row), amount],
    [BANK_RECEIVABLE, state === 'clawed_back' ? (clawedBack ?? 0) - amount : 0],
  );
  return effectOf(
    ...(state === 'back' ? NOTHING : paid),
    ...sources.flatMap((source) => {
      const { given, owed } = GIVEN[state](source);
      return [
        ...walletLegs({ ...source, amount: given }).map(({ account, amount: part }) => [account, -part] as const),
        [walletReceivable(source.onBehalfOf), -owed] as const,
        [FUNDED_REFUNDS, state === 'away' ? owed : 0] as const,
        [UNMATCHED, source.suspended + source.repaid] as const,
      ];
    }),
  );
}

/** Where a refund goes that was paid. */
const paidAccount = ({ destination, rail, payerWalletId }: Refund & Pick<Payment, 'payerWalletId'>): AccountCode =>
  destination === 'bank' ? payoutAccount(rail ?? '') : walletAccount(payerWalletId ?? '');

/** The reserve; what leaves it belongs to the items. */
export function expectPayout(row: Payout): Expectation {
  const total = row.totalAmount + row.totalFee;
  const reserved = moved(walletAccount(row.sourceWalletId), payoutReserveAccount(row.id), total);
  return ofSteps('payout', row, ['reserve'], [reserved]);
}

const paidInside = (reserve: AccountCode, { amount, fee, destinationWalletId }: PayoutItem): NetEffect =>
  effectOf([reserve, -amount - fee], [walletAccount(destinationWalletId ?? ''), amount], [FEE_INCOME, fee]);

/** `sourceWalletId`: of its payout. */
export function expectPayoutItem(row: PayoutItem & Pick<Payout, 'sourceWalletId'>): Expectation {
  const reserve = payoutReserveAccount(row.payoutId);
  const wallet = walletAccount(row.sourceWalletId);
  const total = row.amount + row.fee;
  const back = (toWallet: Kobo): NetEffect =>
    effectOf([reserve, -total], [wallet, toWallet], [UNMATCHED, total - toWallet]);
  const effects: Record<PayoutItem['status'], Expectation['effects']> = {
    pending: [NOTHING],
    processing: [moved(reserve, IN_TRANSIT_PAYOUTS, total)],
    completed: row.inside ? [paidInside(reserve, row)] : paidOut(reserve, wallet, row),
    failed: [back(total), back(0), back(total - (row.clawedBack ?? 0))],
  };
  return ofSteps('payoutItem', row, BANK_TRANSFER_STEPS, effects[row.status]);
}

/** What belongs to a payment. */
export interface PartsOfPayment {
  /** The credits that it accepted. */
  credits: readonly Pick<InboundCredit, 'rail' | 'sessionId' | 'amount'>[];
  /** The review cases whose money was credited to its wallets. */
  cases: readonly CreditedCase[];
}

type CreditedCase = Pick<ReviewCase, 'walletId' | 'amount' | 'fee' | 'withHeld' | 'splits'>;

/** What a case moves is expected of the case: of the payment the rest. */
export function expectPayment(row: Payment & PartsOfPayment): Expectation {
  const { amountCredited: credited, splits, credits, cases } = row;
  const resource = publicId('payment', row.id);
  const isPaid = row.settledAt !== null;
  const byWallet = row.method === 'virtual_wallet';
  const accepted = byWallet ? (isPaid ? row.amountReceived : 0) : sumOf(credits.map(({ amount }) => amount));
  const fees = row.feeCharged - sumOf(cases.map(({ fee }) => fee));
  const parts = splits.map(({ walletId, amountCredited: amount }) => ({ walletId, amount }));
  const ofTarget = { walletId: row.targetWalletId, amount: credited - sumOf(parts.map(({ amount }) => amount)) };
  const wallets = effectOf(
    ...creditLegs(row, [ofTarget, ...parts]).map(({ account, amount }) => [account, amount] as const),
    ...creditLegs(row, cases.flatMap(creditedByCase)).map(({ account, amount }) => [account, -amount] as const),
  );
  const wasHeld = !isPaid || cases.some(({ withHeld }) => withHeld > 0);
  const effect = effectOf(
    // All credits of a payment arrive by one rail.
    [byWallet ? walletAccount(row.payerWalletId ?? '') : clearingAccount(credits[0]?.rail ?? ''), -accepted],
    ...wallets,
    [FEE_INCOME, fees],
    [wasHeld ? paymentSuspenseAccount(row.id) : UNMATCHED, accepted - sumOf([...wallets.values()]) - fees],
  );
  return { resource, keys: byWallet ? keysOf(resource, 'payment') : credits.map(creditKey), effects: [effect] };
}

/** What wallets got of the money of a case: of a payment that was not settled before, the splits their parts. */
const creditedByCase = ({ walletId, amount, fee, withHeld, splits }: CreditedCase): ReviewCase['splits'] => [
  { walletId: walletId ?? '', amount: amount + withHeld - fee - sumOf(splits.map((split) => split.amount)) },
  ...splits,
];

/** Whether a recall has taken the credit out of its payment, which was not paid in full. */
export const isOutOfPayment = ({ recall, recalledFrom }: Pick<InboundCredit, 'recall' | 'recalledFrom'>): boolean =>
  recall === 'posted' && (recalledFrom?.startsWith('suspense:payment:') ?? false);

/**
 * What a payment has accepted is expected of the payment; a recall is expected of its credit. `surplusRecalled`: what
 * the recall took of it from the case of the surplus, in suspense or unclaimed; from the bank, if that had left for its
 * sender (`surplusIsAway`).
 */
export function expectInboundCredit(
  row: InboundCredit & { surplusRecalled?: Kobo | null; surplusIsAway?: boolean | null },
): Expectation {
  const resource = publicId('inboundCredit', row.id);
  const { amount, recalledFrom, recalledTaken, recalledHeld } = row;
  const surplus = row.surplusRecalled ?? 0;
  const clearing = clearingAccount(row.rail);
  const isOfPayment = row.status === 'posted' && row.ownerKind === 'payment';
  const placed: Record<InboundCredit['status'], AccountCode | null> = {
    received: null,
    set_aside: null,
    recalled: null,
    suspense: UNMATCHED,
    posted: isOfPayment ? null : walletAccount(row.ownerId ?? ''),
  };
  const destination = isOutOfPayment(row) ? recalledFrom : placed[row.status];
  const posted = destination === null ? 0 : amount;
  // A recall takes the credit back, and what is missing of it becomes a receivable.
  const [recalled, taken] = row.recall === 'posted' && recalledTaken !== null ? [amount, recalledTaken] : [0, 0];
  const receivable = recalledFrom?.startsWith('wallet:') ? `receivable:${recalledFrom}` : BANK_RECEIVABLE;
  const effect = (surplusFrom: AccountCode): NetEffect =>
    effectOf(
      [clearing, recalled - posted],
      [destination ?? clearing, posted],
      [recalledFrom ?? receivable, -taken],
      [surplusFrom, -surplus],
      [`held:${recalledFrom}`, -recalledHeld],
      [receivable, taken + recalledHeld + surplus - recalled],
    );
  const keys = [...(isOfPayment && !isOutOfPayment(row) ? [] : [creditKey(row)]), recallKey(row), cameBackKey(row)];
  return {
    resource,
    keys,
    effects: row.surplusIsAway ? [effect(BANK_RECEIVABLE)] : [effect(UNMATCHED), effect(UNCLAIMED)],
  };
}

export function expectStatementEntry(row: StatementEntry): Expectation {
  const clearing = clearingAccount(row.rail);
  const payout = payoutAccount(row.rail);
  const settlement = settlementAccount(row.rail);
  const sides: Record<StatementEntry['kind'], [from: AccountCode, to: AccountCode]> = {
    charge: [row.account ?? RAIL_EXPENSE, chargedAccount(row)],
    charge_returned: [chargedAccount(row), row.account ?? RAIL_EXPENSE],
    settled: [payout, clearing],
    settlement: [settlement, clearing],
    interest: [payout, row.account ?? INTEREST_INCOME],
    funding: [payout, row.account ?? settlement],
    check: [RAIL_EXPENSE, payout],
  };
  return {
    resource: publicId('statementEntry', row.id),
    keys: [statementEntryKey(row)],
    effects: [moved(...sides[row.kind], row.amount)],
  };
}

/** `payment`: that its money was received for. */
export function expectReviewCase(row: ReviewCase & { payment?: HeldPayment | null }): Expectation {
  const resource = publicId('reviewCase', row.id);
  const { amount, accountCode: suspense } = row;
  if (suspense === null) return { resource, keys: [], effects: [NOTHING] };
  const { payment = null } = row;
  const isHeld = (walletId: Uuid) =>
    payment !== null &&
    isOfPayment(row) &&
    (row.walletId === payment.targetWalletId || row.reason === 'split_refused') &&
    isHeldFor(payment, walletId);
  const accountOf = (walletId: Uuid) => (isHeld(walletId) ? heldAccount : walletAccount)(walletId);
  const { recalledUnclaimed } = row;
  /** `more`: where the money went from suspense; what was recalled while it was unclaimed left from there. */
  const after = (...more: readonly (readonly [AccountCode, Kobo])[]): NetEffect =>
    effectOf([suspense, -recalledUnclaimed], [UNCLAIMED, recalledUnclaimed], ...more);
  const to = (account: AccountCode): NetEffect => after([suspense, -amount], [account, amount]);
  const effects: Record<ReviewCase['status'], Expectation['effects']> = {
    open: [after()],
    closed: [NOTHING],
    repaid: [NOTHING],
    returning: [to(IN_TRANSIT_RETURNS)],
    credited: [
      after(
        [suspense, -amount],
        [paymentSuspenseAccount(row.paymentId ?? ''), -row.withHeld],
        ...creditedByCase(row).map(({ walletId, amount: credited }) => [accountOf(walletId), credited] as const),
        [FEE_INCOME, row.fee],
      ),
    ],
    unclaimed: [to(UNCLAIMED)],
    returned_to_sender: [to(payoutAccount(row.rail ?? ''))],
    // The recall took the money from suspense, or from unclaimed.
    recalled: [after(), to(UNCLAIMED)],
  };
  return { resource, keys: caseKeys(resource, row), effects: effects[row.status] };
}

export function expectAdjustment(row: Adjustment): Expectation {
  const posted = effectOf(
    ...row.postings.flatMap(({ debit, credit, amount }) => [[debit, -amount] as const, [credit, amount] as const]),
  );
  return ofSteps('adjustment', row, ['adjustment'], [row.status === 'posted' ? posted : NOTHING]);
}

/** Steps are numbered by the version of the case, as each can be repeated. */
function caseKeys(resource: string, row: ReviewCase): string[] {
  const versions = Array.from({ length: row.version }, (_, index) => index + 1);
  const references = Array.from({ length: row.attempts }, (_, index) =>
    returnReference({ id: row.id, attempts: index + 1 }),
  );
  return [
    ...keysOf(resource, 'credit', ...versions.flatMap((version) => [`unclaimed/${version}`, `hold/${version}`])),
    ...references.flatMap((reference) =>
      keysOf(reference, ...versions.flatMap((version) => [`completion/${version}`, `return/${version}`])),
    ),
  ];
}

export function expectFeeSweep(row: FeeSweep): Expectation {
  const swept = moved(DRAWINGS, walletAccount(row.walletId), row.amount);
  return ofSteps('feeSweep', row, ['sweep'], [swept]);
}

export function expectDebtRecovery(row: { id: Uuid; accountCode: AccountCode; amount: Kobo }): Expectation {
  const repaid = moved(row.accountCode, receivableOf(row.accountCode), row.amount);
  return ofSteps('debtRecovery', row, ['recovery'], [repaid]);
}

/** An effect as a text: a line `account amount` for each account, in their order; empty for none. */
export const effectText = (effect: ReadonlyMap<AccountCode, Kobo | bigint>): string =>
  // The space is less than every character of an account, so the lines have the order of the accounts.
  Array.from(effect, ([account, amount]) => `${account} ${amount}`)
    .sort()
    .join('\n');

/** The inverse of `effectText`. Accounts of both books may have one code, whose amounts are added up. */
function parseEffect(text: string): Map<AccountCode, bigint> {
  const effect = new Map<AccountCode, bigint>();
  for (const line of text === '' ? [] : text.split('\n')) {
    const space = line.lastIndexOf(' ');
    const account = line.slice(0, space);
    effect.set(account, (effect.get(account) ?? 0n) + BigInt(line.slice(space + 1)));
  }
  return effect;
}

/** The allowed effect with the fewest differences from the effect found, a text, and those differences. */
export function differences({ effects }: Expectation, foundText: string) {
  // Nearly always, so nothing else is made for it.
  if (effectText(effects[0]) === foundText) return [];
  const found = parseEffect(foundText);
  const compared = effects.map((effect) => {
    const accounts = new Set([...effect.keys(), ...found.keys()]);
    return [...accounts].toSorted().flatMap((account) => {
      const [expected, actual] = [BigInt(effect.get(account) ?? 0), found.get(account) ?? 0n];
      return expected === actual ? [] : [{ account, expected, found: actual }];
    });
  });
  return compared.reduce((best, next) => (next.length < best.length ? next : best));
}
