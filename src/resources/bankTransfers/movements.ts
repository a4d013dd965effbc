// The ledger movements that withdrawals, refunds and payout items share. The money of a transfer is held until the rail
// has paid it, returned to the wallet if the rail has not, and clawed back if the bank has paid it after all. What the
// wallet cannot give back is in receivable:bank, and a review case that holds no money names it
// (docs/decisions/0012-returned-and-recovered-money.md).
import { publicId, type Uuid } from '../../ids.ts';
import {
  type AccountCode,
  BANK_RECEIVABLE,
  FEE_INCOME,
  heldAccount,
  UNMATCHED,
  walletAccount,
} from '../../ledger/chart.ts';
import type { EventRow, Movement, Transaction } from '../../ledger/movement.ts';
import { allocate, type Leg, type Posting } from '../../ledger/postings.ts';
import { type Book, CURRENCY, type Kobo } from '../../money.ts';
import { newEvent } from '../events.ts';
import { newTransaction } from '../movement.ts';
import { payoutAccount } from '../rails/accounts.ts';
import { openReviewCase, type ReturnRefusal, withCaseFlows } from '../reviewCases/movements.ts';
import type { ReviewCase } from '../reviewCases/queries.ts';
import type { TransferSource } from './rows.ts';

/** The steps that post; each ends the business key of its transaction. */
export const BANK_TRANSFER_STEPS = ['hold', 'completion', 'return', 'clawback', 'clawback_return'] as const;
export type BankTransferStep = (typeof BANK_TRANSFER_STEPS)[number];

export interface TransferMoney {
  /** Begins the kinds of its transactions. */
  kind: 'withdrawal' | 'refund' | 'payout_item';
  /** Public id. */
  id: string;
  status: 'pending' | 'processing' | 'completed' | 'failed' | 'returned';
  rail: string;
  amount: Kobo;
  fee: Kobo;
  /** The account that has amount and fee until the rail has paid. */
  heldIn: AccountCode;
  /** What a clawback took from the wallet; null: there was none. */
  clawedBack: Kobo | null;
}

export interface BankTransfer extends TransferMoney {
  /** The wallet that pays. */
  walletId: Uuid;
  /** Where several pay: what each pays of amount and fee. */
  sources?: readonly TransferSource[];
  /** The payment that is refunded. */
  paymentId?: Uuid;
}

/** The transaction of a step. `more`: what differs from that of most steps. */
export const stepTransaction = (
  { kind, id }: Pick<TransferMoney, 'kind' | 'id'>,
  step: BankTransferStep,
  postings: readonly Posting[],
  more: Partial<Omit<Transaction, 'postings'>> = {},
): Transaction => newTransaction(id, step, `${kind}_${step}`, postings, more);

/** Where the money goes that the rail pays: the amount leaves through the rail's account, the fee becomes income. */
const paidLegs = ({ rail, amount, fee }: TransferMoney): Leg[] => [
  { account: payoutAccount(rail), amount },
  { account: FEE_INCOME, amount: fee },
];

/** The accounts that have amount and fee now. */
export function currentLegs(transfer: TransferMoney): Leg[] {
  const { id, status, heldIn, amount, fee } = transfer;
  if (status === 'failed' || status === 'returned') throw new Error(`the funds of ${id} were already returned`);
  return status === 'completed' ? paidLegs(transfer) : [{ account: heldIn, amount: amount + fee }];
}

/** After the rail has paid. An operator may complete a transfer that was never held. */
export const completeTransfer = (transfer: TransferMoney): Transaction =>
  stepTransaction(
    transfer,
    'completion',
    allocate(currentLegs(transfer), paidLegs(transfer)),
    transfer.status === 'processing' ? { resolves: `${transfer.id}/hold` } : {},
  );

/** What a change of a transfer writes besides its money. */
type Written = Pick<Movement, 'rows' | 'events'>;

/** `at`: the time that the row shows; default: now. */
type WrittenAt = Written & { at?: Date };

/** What a return undoes besides the transfer, with the cases of money in suspense. */
type Returned = WrittenAt & { postings?: readonly Posting[]; cases?: readonly ReviewCase[] };

/** The wallets that pay a transfer. */
const sourcesOf = ({ walletId, sources, amount, fee, clawedBack }: BankTransfer): readonly TransferSource[] =>
  sources ?? [{ walletId, amount: amount + fee, clawedBack }];

/** What comes back to each wallet that paid: of a transfer that was clawed back, what that took. */
const partsBack = (sources: readonly TransferSource[]) =>
  sources.map(({ walletId, amount, held = 0, clawedBack }) => ({
    walletId,
    amount: clawedBack ?? amount,
    held: clawedBack === null ? held : 0,
  }));

/** How much of what was held is held again: no limit of a wallet counts what is held. */
export const heldBack = (refusal: ReturnRefusal, held: Kobo = 0): Kobo => (refusal === 'wallet_closed' ? 0 : held);

/** The accounts of a wallet that give or get an amount, of which a part is held. */
export const walletLegs = ({ walletId, amount, held = 0 }: Omit<TransferSource, 'clawedBack'>): [Leg, Leg] => [
  { account: heldAccount(walletId), amount: held },
  { account: walletAccount(walletId), amount: amount - held },
];

/**
 * Returns amount and fee to the wallet, once, from where they are. After a clawback, what that took. If the wallet does
 * not take it, the money goes to suspense with a review case for an operator. `kind`: of the transaction.
 */
export function returnFunds(
  book: Book,
  transfer: BankTransfer,
  kind: string,
  refusalOf: (walletId: Uuid) => ReturnRefusal,
  { rows, events = [], at = new Date(), postings = [], cases = [] }: Returned,
): Movement {
  const { id, status, clawedBack, paymentId } = transfer;
  const parts = partsBack(sourcesOf(transfer)).map((part) => {
    const refusal = refusalOf(part.walletId);
    return { ...part, refusal, held: heldBack(refusal, part.held) };
  });
  const destinations = parts.flatMap((part) => {
    const [held, paid] = walletLegs(part);
    return [held, part.refusal === null ? paid : { account: UNMATCHED, amount: part.amount - part.held }];
  });
  const undone = clawedBack !== null ? 'clawback' : status === 'completed' ? 'completion' : 'hold';
  return withCaseFlows({
    book,
    transaction: stepTransaction(
      transfer,
      clawedBack === null ? 'return' : 'clawback_return',
      clawedBack === null
        ? [...allocate(currentLegs(transfer), destinations), ...postings]
        : undoClawback(transfer, clawedBack, destinations),
      { kind, rules: 'credit_exempt', effectiveAt: at, ...(status !== 'pending' && { reverses: `${id}/${undone}` }) },
    ),
    rows: {
      ...rows,
      review_cases: [
        ...parts.flatMap(({ walletId, amount: whole, held, refusal: reason }) => {
          const [amount, toPayment] = [whole - held, paymentId ?? null];
          return reason !== null && amount > 0
            ? [openReviewCase({ reason, amount, accountCode: UNMATCHED, walletId, paymentId: toPayment })]
            : [];
        }),
        ...cases,
      ],
    },
    events,
  });
}

/** How much of amount and fee a wallet with this balance gives. */
export const clawable = ({ amount, fee }: Pick<TransferMoney, 'amount' | 'fee'>, balance: Kobo): Kobo =>
  Math.min(amount + fee, balance);

/** What is taken, by its destination: the amount comes before the fee. `missing`: the rest of the amount. */
export function splitClawback({ amount }: Pick<TransferMoney, 'amount'>, taken: Kobo) {
  const toBank = Math.min(taken, amount);
  return { toBank, toFees: taken - toBank, missing: amount - toBank };
}

const clawbackLegs = ({ toBank, toFees }: { toBank: Kobo; toFees: Kobo }): Leg[] => [
  { account: BANK_RECEIVABLE, amount: toBank },
  { account: FEE_INCOME, amount: toFees },
];

/**
 * After the rail has paid a transfer that it reported as failed. `taken`: from the wallet, at most amount and fee;
 * where several paid, from all, as their sources say.
 */
export function clawBack(
  book: Book,
  transfer: BankTransfer,
  taken: Kobo,
  { rows, events = [], at = new Date() }: WrittenAt,
): Movement {
  const { id, rail, amount, walletId, paymentId = null } = transfer;
  const split = splitClawback(transfer, taken);
  const sources = sourcesOf({ ...transfer, clawedBack: taken });
  const legs = sources.map((source) => ({ account: walletAccount(source.walletId), amount: source.clawedBack ?? 0 }));
  const postings = [
    ...allocate(legs, clawbackLegs(split)),
    { debit: BANK_RECEIVABLE, credit: payoutAccount(rail), amount },
  ];
  const opened = openReviewCase({
    reason: 'paid_after_failure',
    amount: split.missing,
    paymentId,
    walletId,
    transfer: id,
  });
  return withCaseFlows({
    book,
    transaction: stepTransaction(transfer, 'clawback', postings, { rules: 'exempt', effectiveAt: at }),
    rows: { ...rows, review_cases: [opened] },
    events: [
      ...events,
      ...sources.map((source) =>
        walletDebited({
          walletId: source.walletId,
          transferId: id,
          reason: 'paid_after_failure',
          amount: source.clawedBack ?? 0,
          missing: source.amount - (source.clawedBack ?? 0),
        }),
      ),
    ],
  });
}

/** Gives back what a clawback took, because the bank has returned the money: to wallets, or suspense. */
function undoClawback(transfer: TransferMoney, taken: Kobo, destinations: readonly Leg[]): Posting[] {
  return [
    { debit: payoutAccount(transfer.rail), credit: BANK_RECEIVABLE, amount: transfer.amount },
    ...allocate(clawbackLegs(splitClawback(transfer, taken)), destinations),
  ];
}

/** Why the platform debited a wallet. `debt_recovery`: written by src/ledger/sql/repay_debts.sql. */
export const DEBIT_REASONS = ['paid_after_failure', 'credit_recalled', 'refund_funded', 'debt_recovery'] as const;

/** `missing`: what the wallet should have given, and did not have. */
export function walletDebited({
  walletId,
  ...about
}: { walletId: Uuid; reason: (typeof DEBIT_REASONS)[number]; amount: Kobo; missing: Kobo } & (
  | { transferId: string }
  | { inboundCreditId: string }
)): EventRow {
  const id = publicId('wallet', walletId);
  return newEvent('wallet.debited', id, { walletId: id, ...about, currency: CURRENCY });
}
