// Withdrawals as bank transfers.
import type { Sql } from '../database/pool.ts';
import { publicId, requireUuid } from '../ids.ts';
import { findWallet } from '../resources/wallets/queries.ts';
import { clawBackWithdrawal, completeWithdrawal, returnWithdrawalFunds } from '../resources/withdrawals/movements.ts';
import { findWithdrawal, type Withdrawal } from '../resources/withdrawals/queries.ts';
import type { TransferAdapter } from './bankTransfers.ts';
import { invariantViolation } from './failures.ts';

export const withdrawalAdapter = (sql: Sql): TransferAdapter<Withdrawal> => ({
  async read(book, transferId) {
    const row = await findWithdrawal(sql, book, requireUuid('withdrawal', transferId));
    if (row === null) throw invariantViolation(`withdrawal ${transferId} is not in the database`);
    return { row, rail: row.rail, state: row.status };
  },
  instruction: (book, row) => ({
    organisationId: book.organisationId,
    reference: publicId('withdrawal', row.id),
    amount: row.amount,
    accountNumber: row.accountNumber,
    bankCode: row.bankCode,
    accountName: row.accountName,
    narration: row.narration,
  }),
  async movement(book, row, change, report, decidedBy) {
    const wallet = await findWallet(sql, book, row.sourceWalletId);
    if (wallet === null) throw invariantViolation(`the wallet of withdrawal ${row.id} is not in the database`);
    if (change === 'complete') return completeWithdrawal(book, row, report);
    if (change === 'claw_back') return clawBackWithdrawal(book, row, report, wallet.balance);
    return returnWithdrawalFunds(book, row, change, report, {
      walletIsClosed: wallet.status === 'closed',
      decidedBy,
    });
  },
});
