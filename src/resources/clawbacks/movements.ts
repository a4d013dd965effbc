// Clawbacks: the bank has paid a transfer that it had reported as failed, so what was put back is taken again, as far
// as the wallet goes. The rest stands in receivable:bank, and a review case that holds no money names it
// (docs/decisions/0012-returned-and-recovered-money.md).
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import { type AccountCode, BANK_RECEIVABLE, FEE_INCOME, walletAccount } from '../../ledger/chart.ts';
import type { EventRow, Movement, Transaction } from '../../ledger/movement.ts';
import { allocate, type Posting } from '../../ledger/postings.ts';
import { type Book, CURRENCY, type Kobo } from '../../money.ts';
import { newEvent } from '../events.ts';
import { payoutAccount } from '../rails/accounts.ts';
import { startReviewCase } from '../flows.ts';
import { openReviewCase } from '../reviewCases/movements.ts';

/** The steps of a transfer to a bank that post; each ends the business key of its transaction. */
export const BANK_TRANSFER_STEPS = ['hold', 'completion', 'return', 'clawback', 'clawback_return'] as const;
export type BankTransferStep = (typeof BANK_TRANSFER_STEPS)[number];

/** A transfer that the bank has paid: the amount, and the fee of it. */
interface PaidTransfer {
  rail: string;
  amount: Kobo;
  fee: Kobo;
}

export interface Clawback extends PaidTransfer {
  book: Book;
  /** Public id of the transfer. */
  transfer: string;
  kind: string;
  paymentId?: Uuid;
  walletId: Uuid;
  /** What is taken from the wallet: at most amount and fee. */
  taken: Kobo;
}

/** How much of amount and fee a wallet with this balance gives. */
export const clawable = ({ amount, fee }: Pick<PaidTransfer, 'amount' | 'fee'>, balance: Kobo): Kobo =>
  Math.min(amount + fee, balance);

/** What is taken, by its destination: the amount comes before the fee. `missing`: the rest of the amount. */
export function splitClawback({ amount }: Pick<PaidTransfer, 'amount'>, taken: Kobo) {
  const toBank = Math.min(taken, amount);
  return { toBank, toFees: taken - toBank, missing: amount - toBank };
}

/** The movement of a clawback, without the rows of its transfer. */
export function clawBack({ book, transfer, kind, rail, amount, fee, paymentId, walletId, taken }: Clawback): Movement {
  const { toBank, toFees, missing } = splitClawback({ amount }, taken);
  const transaction: Transaction = {
    id: newUuid(),
    key: `${transfer}/clawback`,
    kind,
    resource: transfer,
    effectiveAt: new Date(),
    rules: 'exempt',
    postings: [
      ...allocate(
        [{ account: walletAccount(walletId), amount: taken }],
        [
          { account: BANK_RECEIVABLE, amount: toBank },
          { account: FEE_INCOME, amount: toFees },
        ],
      ),
      { debit: BANK_RECEIVABLE, credit: payoutAccount(rail), amount },
    ],
  };
  const opened = openReviewCase({
    reason: 'paid_after_failure',
    amount: missing,
    accountCode: null,
    inboundCreditId: null,
    paymentId: paymentId ?? null,
    walletId,
    transfer,
  });
  return {
    book,
    transaction,
    rows: { review_cases: [opened] },
    events: [walletDebited({ walletId, transferId: transfer, amount: taken, missing: amount + fee - taken })],
    outbox: [startReviewCase(book, opened)],
  };
}

/** Gives back what a clawback took, because the bank has returned the money. `destination`: the wallet, or suspense. */
export function undoClawback({ rail, amount }: PaidTransfer, taken: Kobo, destination: AccountCode): Posting[] {
  const { toBank, toFees } = splitClawback({ amount }, taken);
  return [
    { debit: payoutAccount(rail), credit: BANK_RECEIVABLE, amount },
    ...allocate(
      [
        { account: BANK_RECEIVABLE, amount: toBank },
        { account: FEE_INCOME, amount: toFees },
      ],
      [{ account: destination, amount: taken }],
    ),
  ];
}

/** `missing`: what the wallet should have given, and did not have. */
export function walletDebited({
  walletId,
  ...about
}: { walletId: Uuid; amount: Kobo; missing: Kobo } & ({ transferId: string } | { inboundCreditId: string })): EventRow {
  const id = publicId('wallet', walletId);
  return newEvent('wallet.debited', id, { walletId: id, ...about, currency: CURRENCY });
}
