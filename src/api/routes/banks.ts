// The bank list and name enquiry, for use before money is sent. Both return what the rail reports.
import { z } from 'zod';
import { requireRail, resolveBankAccount, toRailError } from '../bankLookup.ts';
import { type Route, route } from '../route.ts';
import { bankAccountNumber, bankCode } from '../schemas.ts';

const list = route({
  method: 'get',
  path: '/banks',
  access: 'any',
  handle: async ({ dependencies, caller }) => {
    const rail = requireRail(dependencies, caller.book.environment);
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
  method: 'get',
  path: '/bank-accounts/resolve',
  access: 'any',
  query: z.strictObject({ accountNumber: bankAccountNumber, bankCode }),
  handle: async ({ dependencies, caller, query }) => {
    const { organisationId, environment } = caller.book;
    const { bank, accountName } = await resolveBankAccount(
      requireRail(dependencies, environment),
      organisationId,
      query,
    );
    return {
      status: 200,
      data: { accountNumber: query.accountNumber, accountName, bankCode: bank.code, bankName: bank.name },
    };
  },
});

export const bankRoutes: Route[] = [list, resolve];
