// The statement of a wallet for a month: its balances as JSON, all of it as CSV or PDF.
import { z } from 'zod';
import { publicId } from '../../ids.ts';
import { balanceAt, listStatement, POSTED_WITHIN_MS, type StatementLine } from '../../resources/wallets/statement.ts';
import { dayStart, isMonth, type Month, monthAfter, monthOf } from '../../times.ts';
import { walletStatement } from '../contract/ledger.ts';
import { invalidField } from '../errors.ts';
import { readPages } from '../lists/csv.ts';
import { type Route, route } from '../route.ts';
import { statementCsv } from '../statements/csv.ts';
import { statementPdf } from '../statements/pdf.ts';
import { statementRows, UNITS } from '../statements/rows.ts';
import { statementView } from '../views.ts';
import { requireTier1 } from '../walletRefusal.ts';
import { requireWallet } from './wallets.ts';

/** Lines of a file that are read and written at a time. To draw one takes ten times as long as to write it as text. */
const PAGE_SIZES = { csv: 500, pdf: 50 };

const FIRST_MONTH = '2000-01';

/** Throws VALIDATION_FAILED unless it is this month or an earlier one. */
function requireMonth(text: string | undefined, now: Date): Month {
  const month = text ?? '';
  if (isMonth(month) && month >= FIRST_MONTH && month <= monthOf(now)) return month;
  const message = `must be a month from ${FIRST_MONTH} to this one`;
  throw invalidField({ field: 'month', code: 'invalid_string', message });
}

const readStatement = route({
  operationId: 'getWalletStatement',
  success: { status: 200, data: walletStatement, files: ['csv', 'pdf'] },
  errors: ['WALLET_NOT_FOUND', 'WALLET_KYC_REQUIRED'],
  endpoint: 'GET /wallets/:id/statements/:month',
  access: 'wallet',
  query: z.strictObject({ unit: z.enum(UNITS).default('naira').describe('Of the amounts of a file') }),
  handle: async (call) => {
    const { sql, book, now, format, query } = call;
    const month = requireMonth(call.params.month, now);
    const wallet = await requireWallet(call);
    requireTier1(wallet);
    const createdAtFrom = dayStart(`${month}-01`);
    const createdAtTo = dayStart(`${monthAfter(month)}-01`);
    // Of the last millisecond before the month: what moved in its first is in it.
    const openingBalance = await balanceAt(sql, book, wallet, new Date(createdAtFrom.getTime() - 1));
    const isComplete = createdAtTo.getTime() + POSTED_WITHIN_MS <= now.getTime();
    if (format === 'json') {
      const end = new Date(Math.min(createdAtTo.getTime() - 1, now.getTime()));
      const closingBalance = await balanceAt(sql, book, wallet, end);
      return statementView({ walletId: wallet.id, month, openingBalance, closingBalance, isComplete });
    }
    const pages = await readPages<StatementLine>({
      positionOf: ({ createdAt, number }) => ({ createdAt, id: number }),
      read: (after, limit) =>
        listStatement(sql, book, wallet, { createdAtFrom, createdAtTo }, { limit, after, order: 'asc' }),
      pageSize: PAGE_SIZES[format],
    });
    const statement = {
      walletId: publicId('wallet', wallet.id),
      owner: wallet.fullName ?? wallet.email,
      month,
      openingBalance,
      until: isComplete ? null : now,
      unit: query.unit,
      format,
      pages,
    };
    const rows = statementRows(statement);
    return { file: format === 'csv' ? statementCsv(rows, query.unit) : statementPdf(statement, rows) };
  },
});

export const statementRoutes: Route[] = [readStatement];
