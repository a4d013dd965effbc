// Banks and name enquiry: what a caller asks before money is sent. Both are the rail's own answers.
import { z } from 'zod';
import { requireRail, resolveBankAccount, toRailError } from '../bankLookup.ts';
import { type Route, route } from '../route.ts';
import { bankAccountNumber, bankCode } from '../schemas.ts';

const list = route({
  method: 'get',
  path: '/banks',
  access: 'any',
  handle: async ({ services, caller }) => {
    const rail = requireRail(services, caller.book.environment);
    const banks = await rail.banks().catch((error: unknown) => Promise.reject(toRailError(error)));
    // Always whole, on one page: it is short, and an integrator shows or searches it as a whole. So it takes no limit.
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
  handle: async ({ services, caller, query }) => {
    const { organisationId, environment } = caller.book;
    const { bank, accountName } = await resolveBankAccount(requireRail(services, environment), organisationId, query);
    return {
      status: 200,
      data: { accountNumber: query.accountNumber, accountName, bankCode: bank.code, bankName: bank.name },
    };
  },
});

export const bankRoutes: Route[] = [list, resolve];
