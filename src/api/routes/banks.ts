// The bank list and name enquiry, for use before money is sent. Both return what the rail reports.
import { z } from 'zod';
import { bank, resolvedBankAccount } from '../../resources/publicSchemas.ts';
import { BANK_ACCOUNT_ERRORS, fromRail, RAIL_ERRORS, requireRail, resolveBankAccount } from '../bankLookup.ts';
import { columnsOf, csvText } from '../lists/csv.ts';
import { type Route, route } from '../route.ts';
import { bankAccountNumber, bankCode } from '../schemas.ts';

const list = route({
  operationId: 'listBanks',
  success: { status: 200, data: z.array(bank), paginated: true, files: ['csv'] },
  errors: RAIL_ERRORS,
  endpoint: 'GET /banks',
  access: 'any',
  handle: async ({ dependencies, book, format }) => {
    const rail = await requireRail(dependencies, book);
    const banks = (await fromRail(rail.banks())).map(({ code, name }) => ({ code, name }));
    if (format === 'csv') return { file: [csvText(columnsOf(bank), banks, true)] };
    // The list is short, and clients show or search all of it: always one page, without a limit parameter.
    return {
      data: banks,
      pagination: { limit: banks.length, hasMore: false, nextCursor: null },
    };
  },
});

const resolve = route({
  operationId: 'resolveBankAccount',
  success: { status: 200, data: resolvedBankAccount },
  errors: BANK_ACCOUNT_ERRORS,
  endpoint: 'GET /bank-accounts/resolve',
  // It tells whose an account is, so only a key that sends money to bank accounts may ask.
  access: ['wallet', 'payout'],
  query: z.strictObject({ accountNumber: bankAccountNumber, bankCode }),
  handle: async ({ dependencies, book, query }) => {
    const rail = await requireRail(dependencies, book);
    const { bank, accountName } = await resolveBankAccount(rail, book.organisationId, query);
    return { accountNumber: query.accountNumber, accountName, bankCode: bank.code, bankName: bank.name };
  },
});

export const bankRoutes: Route[] = [list, resolve];
