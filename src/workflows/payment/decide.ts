// The rules of a payment (contract, section 3.2) as pure functions: what a credit or the end of the window makes of it.
// They name the money by where it goes; the activities post it.
import type { Kobo } from '../../money.ts';
import type { RailWait } from '../railWait/decide.ts';

/** What the rules need to know of a payment. */
export interface PaymentState {
  status: 'pending' | 'partial' | 'settled' | 'expired' | 'failed' | 'refunded' | 'partially_refunded';
  baseAmount: Kobo;
  fee: Kobo;
  amountReceived: Kobo;
}

/** How much of a credit the target wallet can take, as far as it is known. */
export type WalletCapacity = 'all' | 'base_only' | 'nothing';

export type CreditDecision =
  /** The money waits with the payment until the rest comes. */
  | { kind: 'hold'; amountReceived: Kobo }
  /** The wallet gets base plus surplus, the service its fee. Surplus that may not be credited waits for a person. */
  | {
      kind: 'settle';
      amountReceived: Kobo;
      toWallet: Kobo;
      toFees: Kobo;
      toReview: Kobo;
      /** Of the sum of these three, what earlier credits already brought. */
      heldBefore: Kobo;
    }
  /** The payment takes no more money: all of it waits for a person. */
  | { kind: 'to_suspense'; reason: 'late_credit' | 'credit_after_settlement' | 'wallet_refused' };

/** What one credit makes of a payment. */
export function decideCredit(payment: PaymentState, amount: Kobo, room: WalletCapacity): CreditDecision {
  if (payment.status === 'expired' || payment.status === 'failed')
    return { kind: 'to_suspense', reason: 'late_credit' };
  if (payment.status !== 'pending' && payment.status !== 'partial') {
    return { kind: 'to_suspense', reason: 'credit_after_settlement' };
  }
  const amountReceived = payment.amountReceived + amount;
  const surplus = amountReceived - payment.baseAmount - payment.fee;
  if (surplus < 0) return { kind: 'hold', amountReceived };
  if (room === 'nothing') return { kind: 'to_suspense', reason: 'wallet_refused' };
  return {
    kind: 'settle',
    amountReceived,
    toWallet: payment.baseAmount + (room === 'all' ? surplus : 0),
    toFees: payment.fee,
    toReview: room === 'all' ? 0 : surplus,
    heldBefore: payment.amountReceived,
  };
}

/** The room to try next when the wallet refused: first without the surplus, where that is the part over a limit. */
export function capacityAfterRefusal(
  room: WalletCapacity,
  decision: CreditDecision,
  overLimit: boolean,
  base: Kobo,
): WalletCapacity {
  const surplusWasTried = room === 'all' && decision.kind === 'settle' && decision.toWallet > base;
  return surplusWasTried && overLimit ? 'base_only' : 'nothing';
}

export type ExpiryDecision =
  /** The window closed. What was received so far waits for a person. */
  | { kind: 'expire'; toReview: Kobo }
  /** It ended some other way before. */
  | { kind: 'no_change' };

export function decideExpiry(payment: PaymentState): ExpiryDecision {
  return payment.status === 'pending' || payment.status === 'partial'
    ? { kind: 'expire', toReview: payment.amountReceived }
    : { kind: 'no_change' };
}

/** What paying from a wallet needs to know besides. Wallets are told apart by whatever ids the caller uses. */
export interface WalletPaymentState extends PaymentState {
  method: 'bank_transfer' | 'virtual_wallet';
  targetWalletId: string;
  expiresAt: Date;
}

export type PayRefusal = 'PAYMENT_METHOD_MISMATCH' | 'PAYMENT_NOT_PAYABLE' | 'SAME_WALLET';

export type PayDecision =
  /** The payer gives all that is payable at once: the wallet gets the base, the service its fee. */
  { kind: 'settle'; amountReceived: Kobo; toWallet: Kobo } | { kind: 'refuse'; code: PayRefusal };

/** Whether a wallet may pay this payment now. */
export function decidePay(payment: WalletPaymentState, payerWalletId: string, now: Date): PayDecision {
  if (payment.method !== 'virtual_wallet') return { kind: 'refuse', code: 'PAYMENT_METHOD_MISMATCH' };
  if (payment.status !== 'pending' || now >= payment.expiresAt) return { kind: 'refuse', code: 'PAYMENT_NOT_PAYABLE' };
  if (payment.targetWalletId === payerWalletId) return { kind: 'refuse', code: 'SAME_WALLET' };
  return { kind: 'settle', amountReceived: payment.baseAmount + payment.fee, toWallet: payment.baseAmount };
}

/** Where the flow of a payment stands. Times are milliseconds since 1970. */
export interface PaymentAgenda {
  /** Whether the payment takes money. */
  isOpen: boolean;
  expiresAt: number;
  /** Credits that were not looked at yet; public ids. */
  fresh: readonly string[];
  /** What the rail was asked for in vain. */
  waits: readonly RailWait[];
}

export type PaymentStep =
  | { do: 'place'; inboundCreditId: string }
  | { do: 'expire' }
  | { do: 'closeAccount' }
  | { do: 'wait'; until: number }
  | { do: 'end' };

/**
 * What the flow of a payment does next. A fresh credit goes before the end of the window, which it may have reached the bank before,
 * and both go before what the rail was asked for in vain: nothing that the rail does not confirm holds up anything else.
 */
export function decideNext({ isOpen, expiresAt, fresh, waits }: PaymentAgenda, now: number): PaymentStep {
  const [inboundCreditId] = fresh;
  if (inboundCreditId !== undefined) return { do: 'place', inboundCreditId };
  if (isOpen && now >= expiresAt) return { do: 'expire' };
  const due = waits.find(({ nextAt }) => now >= nextAt);
  if (due !== undefined) {
    return due.last.what === 'account' ? { do: 'closeAccount' } : { do: 'place', inboundCreditId: due.last.id };
  }
  if (!isOpen && waits.length === 0) return { do: 'end' };
  return { do: 'wait', until: Math.min(...(isOpen ? [expiresAt] : []), ...waits.map(({ nextAt }) => nextAt)) };
}
