// The activities of a refund to a bank: the steps of its bank transfer.
import { publicId, requireUuid } from '../ids.ts';
import { findPayment } from '../resources/payments/queries.ts';
import { clawBackRefund, completeRefund, returnRefundFunds } from '../resources/refunds/movements.ts';
import { findRefund, type Refund, sumOtherRefunds } from '../resources/refunds/queries.ts';
import { findWallet } from '../resources/wallets/queries.ts';
import type { RefundActivities, RefundInput } from '../workflows/refund/messages.ts';
import { createBankTransferSteps, type TransferAdapter } from './bankTransfers.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { invariantViolation } from './failures.ts';

export function createRefundActivities(dependencies: ActivityDependencies): RefundActivities {
  const { sql } = dependencies;
  const adapter: TransferAdapter<Refund> = {
    async read(book, transferId) {
      const row = await findRefund(sql, book, requireUuid('refund', transferId));
      if (row === null || row.rail === null)
        throw invariantViolation(`refund ${transferId} is not in the database or is not a refund to a bank`);
      return { row, rail: row.rail, state: row.returnedAt === null ? row.status : 'returned' };
    },
    instruction(book, row) {
      const { accountNumber, bankCode, accountName, amount } = row;
      if (accountNumber === null || bankCode === null) throw invariantViolation(`refund ${row.id} has no bank account`);
      const reference = publicId('refund', row.id);
      return {
        organisationId: book.organisationId,
        reference,
        amount,
        accountNumber,
        bankCode,
        accountName,
        narration: `Refund ${publicId('payment', row.paymentId)}`,
      };
    },
    async movement(book, row, change, report, decidedBy) {
      const payment = await findPayment(sql, book, row.paymentId);
      const wallet = payment === null ? null : await findWallet(sql, book, payment.targetWalletId);
      if (payment === null || wallet === null)
        throw invariantViolation(`the payment of refund ${row.id} is not in the database`);
      if (change === 'complete') return completeRefund(book, payment, row, report);
      const others = change === 'claw_back' || row.clawedBack !== null ? await sumOtherRefunds(sql, book, row) : 0;
      return change === 'claw_back'
        ? clawBackRefund(book, payment, row, report, { balance: wallet.balance, others })
        : returnRefundFunds(book, payment, row, report, {
            walletIsClosed: wallet.status === 'closed',
            others,
            decidedBy,
          });
    },
    sharedRow: (row) => row.paymentId,
  };
  const { send, check, markUnsent, decide } = createBankTransferSteps<Refund, RefundInput>(dependencies, adapter);
  return { sendRefund: send, checkRefund: check, markRefundUnsent: markUnsent, applyRefundDecision: decide };
}
