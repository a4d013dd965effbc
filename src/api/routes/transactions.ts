// The statement of a wallet, and ledger transactions (contract, section 4.4): one business event with all of its
// postings.
import { findTransaction } from '../../ledger/transactions.ts';
import { listStatement } from '../../resources/wallets/statement.ts';
import { statementLine, transaction } from '../contract/ledger.ts';
import { listRoute } from '../lists/listRoute.ts';
import { requireRow } from '../requireRow.ts';
import { type Route, route } from '../route.ts';
import { createdFilters } from '../schemas.ts';
import { statementLineView, transactionView } from '../views.ts';
import { requireTier1 } from '../walletRefusal.ts';
import { requireWallet } from './wallets.ts';

const readStatement = listRoute({
  operationId: 'listWalletTransactions',
  item: statementLine,
  errors: ['WALLET_NOT_FOUND', 'WALLET_KYC_REQUIRED'],
  path: '/wallets/:id/transactions',
  access: 'wallet',
  filters: createdFilters,
  find: async (call, filters, page) => {
    const wallet = await requireWallet(call);
    requireTier1(wallet);
    return await listStatement(call.sql, call.book, wallet, filters, page);
  },
  view: statementLineView,
  positionOf: ({ createdAt, number }) => ({ createdAt, id: number }),
});

const read = route({
  operationId: 'getTransaction',
  success: { status: 200, data: transaction },
  errors: ['TRANSACTION_NOT_FOUND'],
  endpoint: 'GET /transactions/:id',
  access: 'wallet',
  handle: async (call) => transactionView(await requireRow(call, 'transaction', findTransaction)),
});

export const transactionRoutes: Route[] = [readStatement, read];
