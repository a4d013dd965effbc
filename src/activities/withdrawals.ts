// Withdrawals as bank transfers.
import type { Sql } from '../database/pool.ts';
import { publicId, requireUuid } from '../ids.ts';
import { returnRefusalOf } from '../resources/reviewCases/movements.ts';
import { findWallet } from '../resources/wallets/queries.ts';
import { clawBackWithdrawal, completeWithdrawal, returnWithdrawalFunds } from '../resources/withdrawals/movements.ts';
import { findWithdrawal, type Withdrawal } from '../resources/withdrawals/queries.ts';
import type { TransferAdapter } from './bankTransfers.ts';
import { requireRow } from './failures.ts';

export const withdrawalAdapter = (sql: Sql): TransferAdapter<Withdrawal> => ({
  async read(book, transferId) {
    const found = await findWithdrawal(sql, book, requireUuid('withdrawal', transferId));
    const row = requireRow(found, `withdrawal ${transferId}`);
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
  async movement(book, row, change, report, failure) {
    const wallet = requireRow(await findWallet(sql, book, row.sourceWalletId), `the wallet of withdrawal ${row.id}`);
    if (change === 'complete') return completeWithdrawal(book, row, report);
    if (change === 'claw_back') return clawBackWithdrawal(book, row, report, wallet.balance);
    return returnWithdrawalFunds(book, row, change, failure, returnRefusalOf(wallet));
  },
});
