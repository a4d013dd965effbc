// Withdrawals, and refunds to a bank, as bank transfers.
import type { Sql } from '../database/pool.ts';
import { publicId, requireUuid, type Uuid } from '../ids.ts';
import { findPayment } from '../resources/payments/queries.ts';
import { clawBackRefund, completeRefund, returnRefundFunds, sourcesOf } from '../resources/refunds/movements.ts';
import { findRefund, type Refund, sumOtherRefunds } from '../resources/refunds/queries.ts';
import { returnRefusalOf } from '../resources/reviewCases/movements.ts';
import { findWallet, findWallets } from '../resources/wallets/queries.ts';
import { clawBackWithdrawal, completeWithdrawal, returnWithdrawalFunds } from '../resources/withdrawals/movements.ts';
import { findWithdrawal, type Withdrawal } from '../resources/withdrawals/queries.ts';
import { instructionOf, type TransferAdapter } from './bankTransfers.ts';
import { invariantViolation, requireRow } from './failures.ts';

export const withdrawalAdapter = (sql: Sql): TransferAdapter<Withdrawal> => ({
  async read(book, transferId) {
    const found = await findWithdrawal(sql, book, requireUuid('withdrawal', transferId));
    const row = requireRow(found, `withdrawal ${transferId}`);
    return { row, rail: row.rail, state: row.status };
  },
  instruction: (book, row) => instructionOf(book, publicId('withdrawal', row.id), row, row.narration),
  async movement(book, row, change, report, failure) {
    const wallet = requireRow(await findWallet(sql, book, row.sourceWalletId), `the wallet of withdrawal ${row.id}`);
    if (change === 'complete') return completeWithdrawal(book, row, report);
    if (change === 'claw_back') return clawBackWithdrawal(book, row, report, wallet.balance);
    return returnWithdrawalFunds(book, row, change, failure, returnRefusalOf(wallet));
  },
});

export const refundAdapter = (sql: Sql): TransferAdapter<Refund> => ({
  async read(book, transferId) {
    const row = await findRefund(sql, book, requireUuid('refund', transferId));
    if (row === null || row.rail === null)
      throw invariantViolation(`refund ${transferId} is not in the database or is not a refund to a bank`);
    return { row, rail: row.rail, state: row.returnedAt === null ? row.status : 'returned' };
  },
  instruction(book, row) {
    const { accountNumber, bankCode } = row;
    if (accountNumber === null || bankCode === null) throw invariantViolation(`refund ${row.id} has no bank account`);
    const narration = `Refund ${publicId('payment', row.paymentId)}`;
    return instructionOf(book, publicId('refund', row.id), { ...row, accountNumber, bankCode }, narration);
  },
  async movement(book, row, change, report, failure) {
    const payment = requireRow(await findPayment(sql, book, row.paymentId), `the payment of refund ${row.id}`);
    if (change === 'complete') return completeRefund(book, payment, row, report);
    const sources = sourcesOf(payment, row).flatMap(({ walletId, onBehalfOf }) => [walletId, onBehalfOf]);
    const wallets = await findWallets(sql, book, sources);
    const walletOf = (walletId: Uuid) =>
      requireRow(wallets.find(({ id }) => id === walletId) ?? null, `a wallet of refund ${row.id}`);
    const others = await sumOtherRefunds(sql, book, row);
    return change === 'claw_back'
      ? clawBackRefund(book, payment, row, report, { balanceOf: (id) => walletOf(id).balance, others })
      : returnRefundFunds(book, payment, row, change, failure, {
          refusalOf: (id) => returnRefusalOf(walletOf(id)),
          owedBy: (id) => walletOf(id).amountOwed,
          others,
        });
  },
  sharedRow: (row) => row.paymentId,
});
