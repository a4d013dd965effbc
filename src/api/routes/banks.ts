// The bank list and name enquiry, for use before money is sent. Both return what the rail reports.
import { z } from 'zod';
import { BANK_ACCOUNT_ERRORS, requireRail, resolveBankAccount, toRailError } from '../bankLookup.ts';
import { bank, resolvedBankAccount } from '../contract/resources.ts';
import { type Route, route } from '../route.ts';
import { bankAccountNumber, bankCode } from '../schemas.ts';

const list = route({
  operationId: 'listBanks',
  summary: 'List the banks',
  success: { status: 200, data: z.array(bank), paginated: true },
  errors: ['BANK_RAIL_ERROR', 'BANK_RAIL_TIMEOUT'],
  method: 'get',
  path: '/banks',
  access: 'any',
  handle: async ({ dependencies, caller }) => {
    const rail = await requireRail(dependencies, caller.book);
    const banks = await rail.banks().catch((error: unknown) => Promise.reject(toRailError(error)));
    // The list is short, and clients show or search all of it: always one page, without a limit parameter.
    return {
      status: 200,
      data: banks.map(({ code, name }) => ({ code, name })),
      pagination: { limit: banks.length, hasMore: false, nextCursor: null },
    };
  },
});

const resolve = route({
  operationId: 'resolveBankAccount',
  summary: 'Look up the name of a bank account',
  success: { status: 200, data: resolvedBankAccount },
  errors: BANK_ACCOUNT_ERRORS,
  method: 'get',
  path: '/bank-accounts/resolve',
  access: 'any',
  query: z.strictObject({ accountNumber: bankAccountNumber, bankCode }),
  handle: async ({ dependencies, caller, query }) => {
    const { bank, accountName } = await resolveBankAccount(
      await requireRail(dependencies, caller.book),
      caller.book.organisationId,
      query,
    );
    return {
      status: 200,
      data: { accountNumber: query.accountNumber, accountName, bankCode: bank.code, bankName: bank.name },
    };
  },
});

export const bankRoutes: Route[] = [list, resolve];
