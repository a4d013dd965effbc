// Wallets (contract, section 4.4): create, list, read, KYC, balance, deposit account and statement.
import { z } from 'zod';
import { violatedUnique } from '../../database/errors.ts';
import { newUuid, publicId } from '../../ids.ts';
import { RailRefusedError, RailUnavailableError } from '../../rail/port.ts';
import { listCredits } from '../../resources/inboundCredits/queries.ts';
import {
  balanceAt,
  findWallet,
  findWalletByReference,
  insertWallet,
  listStatement,
  listWallets,
  recordKyc,
  type Wallet,
} from '../../resources/wallets/queries.ts';
import { findAccountByOwner, openDepositAccount } from '../../resources/wallets/virtualAccounts.ts';
import { requireRail, toRailError } from '../bankLookup.ts';
import { COUNTRY_CODES } from '../countries.ts';
import { ApiError } from '../errors.ts';
import { byCreation, listRoute } from '../lists/listRoute.ts';
import { requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import { calendarDate, createdFilters, optional, optionalOr, text, timestamp } from '../schemas.ts';
import { balanceView, creditView, statementLineView, virtualAccountView, walletView } from '../views.ts';

const createBody = z.strictObject({
  email: z.email().max(254),
  fullName: optional(text(200)),
  phone: optional(text(32)),
  externalReference: optional(text(255)),
});

const createWallet = route({
  method: 'post',
  path: '/wallets',
  access: 'wallet',
  body: createBody,
  handle: async ({ dependencies, caller, body }) => {
    const wallet = {
      id: newUuid(),
      kind: 'end_user' as const,
      email: body.email,
      fullName: body.fullName ?? null,
      phone: body.phone ?? null,
      externalReference: body.externalReference ?? null,
      createdAt: new Date(),
    };
    try {
      await insertWallet(dependencies.sql, caller.book, wallet);
    } catch (error) {
      if (violatedUnique(error) !== 'wallet_external_reference_unique' || wallet.externalReference === null)
        throw error;
      const existing = await findWalletByReference(dependencies.sql, caller.book, wallet.externalReference);
      throw new ApiError('EXTERNAL_REFERENCE_TAKEN', {
        externalReference: wallet.externalReference,
        ...(existing && { walletId: publicId('wallet', existing.id) }),
      });
    }
    return { status: 201, data: walletView({ ...wallet, kycStatus: 'none', status: 'active' }) };
  },
});

const list = listRoute({
  path: '/wallets',
  access: 'wallet',
  filters: {
    ...createdFilters,
    externalReference: text(255).optional(),
    email: text(254).optional(),
    kind: z.enum(['settlement', 'end_user']).optional(),
    status: z.enum(['active', 'frozen', 'closed']).optional(),
    kycStatus: z.enum(['none', 'tier1']).optional(),
  },
  find: ({ dependencies, caller }, filters, page) => listWallets(dependencies.sql, caller.book, filters, page),
  view: walletView,
  positionOf: byCreation,
});

const read = route({
  method: 'get',
  path: '/wallets/:id',
  access: 'wallet',
  handle: async (call) => ({ status: 200, data: walletView(await requireWallet(call)) }),
});

/** Parameters of a rule that is checked after the format of a string, and reported as `invalid_string` too. */
const plausible = (message: string, constraint: Record<string, unknown>) => ({
  message,
  params: { code: 'invalid_string', constraint },
  when: ({ issues }: { issues: readonly unknown[] }) => issues.length === 0,
});

/** The longest verified human lifespan is 122 years. */
const AGE_MAX_YEARS = 120;

/** Today's date in UTC minus a number of years, as `YYYY-MM-DD`. */
function dateYearsAgo(years: number): string {
  const day = new Date();
  day.setUTCFullYear(day.getUTCFullYear() - years);
  return day.toISOString().slice(0, 10);
}

/**
 * KYC details are not verified, so this rejects only typing errors and placeholders. There is no minimum age: accounts
 * are opened for children, and the caller decides who may have one.
 */
const kycBody = z.strictObject({
  bvn: z
    .string()
    .regex(/^[0-9]{11}$/, 'must be exactly 11 digits')
    .refine((bvn) => new Set(bvn).size > 1, plausible('must not be the same digit eleven times', { format: 'bvn' })),
  dateOfBirth: calendarDate
    .refine((date) => date <= dateYearsAgo(0), plausible('must not be in the future', { format: 'date' }))
    .refine(
      (date) => date >= dateYearsAgo(AGE_MAX_YEARS),
      plausible(`must not be more than ${AGE_MAX_YEARS} years ago`, { format: 'date' }),
    ),
  gender: z.enum(['male', 'female', 'other']),
  phone: z
    .string()
    .regex(
      /^(\+[1-9][0-9]{6,14}|0[1-9][0-9]{9})$/,
      'must be a phone number without spaces: international (+2348012345678) or Nigerian (08012345678)',
    ),
  addressLine1: text(200),
  addressLine2: optional(text(200)),
  city: text(100),
  state: text(100),
  country: optionalOr(
    z.string().refine(
      (code) => COUNTRY_CODES.has(code),
      plausible('must be an ISO 3166-1 alpha-2 country code in capital letters, such as NG', {
        format: 'iso3166-1-alpha-2',
      }),
    ),
    'NG',
  ),
  postalCode: optional(text(20)),
});

const submitKyc = route({
  method: 'post',
  path: '/wallets/:id/kyc',
  access: 'wallet',
  body: kycBody,
  handle: async (call) => {
    const { dependencies, caller, body } = call;
    const wallet = await requireWallet(call);
    if (wallet.kind === 'settlement') throw new ApiError('WALLET_KYC_NOT_APPLICABLE', { walletId: call.params.id });
    await recordKyc(
      dependencies.sql,
      caller.book,
      wallet,
      dependencies.keyring.seal('kyc', wallet.id, JSON.stringify(body)),
    );
    const rail = dependencies.rails.of(caller.book.environment);
    if (rail !== null) {
      try {
        await openDepositAccount(dependencies.sql, rail, caller.book, wallet);
      } catch (error) {
        // The wallet is tier1 anyway; its account number is opened when it is first read.
        if (!(error instanceof RailUnavailableError || error instanceof RailRefusedError)) throw error;
      }
    }
    return { status: 200, data: walletView({ ...wallet, kycStatus: 'tier1' }) };
  },
});

const balanceQuery = z.strictObject({ at: timestamp.optional() });

const readBalance = route({
  method: 'get',
  path: '/wallets/:id/balance',
  access: 'wallet',
  query: balanceQuery,
  handle: async (call) => {
    const wallet = await requireWallet(call);
    requireTier1(wallet);
    const { at } = call.query;
    const balance =
      at === undefined ? wallet.balance : await balanceAt(call.dependencies.sql, call.caller.book, wallet, at);
    return { status: 200, data: balanceView(wallet.id, balance) };
  },
});

const readDepositAccount = route({
  method: 'get',
  path: '/wallets/:id/deposit-account',
  access: 'wallet',
  handle: async (call) => {
    const { dependencies, caller } = call;
    const wallet = await requireWallet(call);
    requireTier1(wallet);
    const existing = await findAccountByOwner(dependencies.sql, caller.book, wallet.id);
    if (existing !== null) return { status: 200, data: virtualAccountView(existing) };
    const rail = requireRail(dependencies, caller.book.environment);
    try {
      await openDepositAccount(dependencies.sql, rail, caller.book, wallet);
    } catch (error) {
      throw toRailError(error);
    }
    const opened = await findAccountByOwner(dependencies.sql, caller.book, wallet.id);
    if (opened === null) throw new Error('a deposit account was opened but has no row');
    return { status: 200, data: virtualAccountView(opened) };
  },
});

const readStatement = listRoute({
  path: '/wallets/:id/transactions',
  access: 'wallet',
  filters: createdFilters,
  find: async (call, filters, page) => {
    const wallet = await requireWallet(call);
    requireTier1(wallet);
    return await listStatement(call.dependencies.sql, call.caller.book, wallet, filters, page);
  },
  view: statementLineView,
  positionOf: byCreation,
});

const readDeposits = listRoute({
  path: '/wallets/:id/deposits',
  access: 'wallet',
  filters: createdFilters,
  find: async (call, filters, page) => {
    const { id } = await requireWallet(call);
    return await listCredits(call.dependencies.sql, call.caller.book, { kind: 'wallet', id }, filters, page);
  },
  view: creditView,
  positionOf: byCreation,
});

/** Reads the wallet of the path. Throws WALLET_NOT_FOUND. */
export const requireWallet = (call: Call<unknown, unknown>): Promise<Wallet> =>
  requireRow(call, 'wallet', call.params.id ?? '', findWallet);

function requireTier1(wallet: Wallet): void {
  if (wallet.kind === 'end_user' && wallet.kycStatus === 'none') {
    throw new ApiError('WALLET_KYC_REQUIRED', { walletId: publicId('wallet', wallet.id) });
  }
}

export const walletRoutes: Route[] = [
  createWallet,
  list,
  read,
  submitKyc,
  readBalance,
  readDepositAccount,
  readStatement,
  readDeposits,
];
