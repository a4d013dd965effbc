// Queries for withdrawals. Only `ledger.post` writes them, in the same statement as the money that a change moves.
import type { Uuid } from '../../ids.ts';
import type { Kobo } from '../../money.ts';
import type { BankTransferRow } from '../bankTransfers/rows.ts';
import { bookTable } from '../bookTable.ts';
import type { Attached } from '../references.ts';

export interface Withdrawal extends BankTransferRow, Attached {
  sourceWalletId: Uuid;
  fee: Kobo;
  status: 'processing' | 'completed' | 'failed' | 'returned';
  accountNumber: string;
  accountName: string | null;
  bankCode: string;
  bankName: string | null;
  narration: string | null;
  rail: string;
  createdAt: Date;
  completedAt: Date | null;
}

export const {
  find: findWithdrawal,
  findAll: findWithdrawals,
  list: listWithdrawals,
} = bookTable<Withdrawal, 'status' | 'sourceWalletId' | 'reference'>(
  'withdrawals',
  (sql) => sql`
    id, version, source_wallet_id, amount, fee, status, account_number, account_name, bank_code, bank_name, narration,
    reference, metadata, failure_code, failure_reason, failure_detail, rail, session_id, created_at, completed_at, clawed_back`,
);
