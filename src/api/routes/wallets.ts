// Wallets (contract, section 4.4): create, list, read, KYC, balance, deposit account and statement.
import { z } from 'zod';
import { violatedCheck, violatedUnique } from '../../database/errors.ts';
import { newUuid, publicId } from '../../ids.ts';
import { TIERS, type Tier } from '../../ledger/limits.ts';
import { RailCallError } from '../../rail/errors.ts';
import { listCredits } from '../../resources/inboundCredits/queries.ts';
import {
  credit,
  virtualAccount,
  walletBalance,
  walletLimits,
  wallet as walletSchema,
} from '../../resources/publicSchemas.ts';
import { virtualAccountView } from '../../resources/views.ts';
import { readKyc, sealKyc } from '../../resources/wallets/kyc.ts';
import { readLimits, readPolicy } from '../../resources/wallets/limits.ts';
import {
  findWallet,
  findWalletByReference,
  insertWallet,
  listWallets,
  recordKyc,
  type Wallet,
} from '../../resources/wallets/queries.ts';
import { balanceAt } from '../../resources/wallets/statement.ts';
import { findDepositAccount, openDepositAccount } from '../../resources/wallets/virtualAccounts.ts';
import { RAIL_ERRORS, requireDepositAccount, requireRail } from '../bankLookup.ts';
import { COUNTRY_CODES } from '../countries.ts';
import { ApiError } from '../errors.ts';
import { listRoute, readRoutes } from '../lists/listRoute.ts';
import { READABLE } from '../readable.ts';
import { requireRow } from '../requireRow.ts';
import { type Call, type Route, route } from '../route.ts';
import {
  attachedFields,
  attachedFilters,
  createdFilters,
  line,
  optional,
  optionalOr,
  optionalOrNull,
  timestamp,
} from '../schemas.ts';
import { balanceView, creditView, limitsView, walletView } from '../views.ts';
import { requireTier1 } from '../walletRefusal.ts';

const createWallet = route({
  operationId: 'createWallet',
  success: { status: 201, data: walletSchema },
  errors: ['EXTERNAL_REFERENCE_TAKEN'],
  endpoint: 'POST /wallets',
  access: 'wallet',
  body: z.strictObject({
    email: z.email().max(254),
    fullName: optionalOrNull(line(200)),
    phone: optionalOrNull(line(32)),
    externalReference: optionalOrNull(line(255)),
    metadata: attachedFields.metadata,
  }),
  handle: async ({ sql, book, body, now, outcome }) => {
    const wallet = {
      ...body,
      metadata: body.metadata ?? null,
      id: newUuid(),
      kind: 'end_user' as const,
      createdAt: now,
    };
    const data = walletView({ ...wallet, kycStatus: 'none', status: 'active', heldBalance: 0, amountOwed: 0 });
    try {
      await insertWallet(sql, book, wallet, outcome(data));
    } catch (error) {
      if (violatedUnique(error) !== 'wallet_external_reference_unique' || wallet.externalReference === null)
        throw error;
      const existing = await findWalletByReference(sql, book, wallet.externalReference);
      throw new ApiError('EXTERNAL_REFERENCE_TAKEN', {
        externalReference: wallet.externalReference,
        ...(existing && { walletId: publicId('wallet', existing.id) }),
      });
    }
    return data;
  },
});

const reads = readRoutes({
  ...READABLE.wallet,
  filters: {
    externalReference: line(255).optional(),
    email: z.email().max(254).optional(),
    kind: z.enum(['settlement', 'end_user']).optional(),
    status: z.enum(['active', 'frozen', 'closed']).optional(),
    kycStatus: z.enum(['none', ...TIERS]).optional(),
    metadata: attachedFilters.metadata,
  },
  list: listWallets,
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
  tier: optional(z.enum(TIERS)).describe('Default: that of the wallet, or `tier1`'),
  bvn: z
    .string()
    .regex(/^[0-9]{11}$/, 'must be exactly 11 digits')
    .refine((bvn) => new Set(bvn).size > 1, plausible('must not be the same digit eleven times', { format: 'bvn' })),
  dateOfBirth: z.iso
    .date() // one that exists
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
  addressLine1: line(200),
  addressLine2: optional(line(200)),
  city: line(100),
  state: line(100),
  country: optionalOr(
    z.string().refine(
      (code) => COUNTRY_CODES.has(code),
      plausible('must be an ISO 3166-1 alpha-2 country code in capital letters, such as NG', {
        format: 'iso3166-1-alpha-2',
      }),
    ),
    'NG',
  ),
  postalCode: optional(line(20)),
  nin: optional(z.string().regex(/^[0-9]{11}$/, 'must be exactly 11 digits')).describe('Of tier2 and tier3'),
  proofOfAddress: optional(line(200)).describe('Of tier3: such as the number of a utility bill'),
  businessName: optional(line(200)).describe('Of business'),
  registrationNumber: optional(line(32)).describe('Of business: at the Corporate Affairs Commission'),
});

type KycBody = z.output<typeof kycBody>;

/** What a tier needs besides the details of tier1. */
const TIER_DETAILS = {
  tier1: [],
  tier2: ['nin'],
  tier3: ['nin', 'proofOfAddress'],
  business: ['businessName', 'registrationNumber'],
} as const satisfies Record<Tier, readonly (keyof KycBody)[]>;

/** The tier that a submission asks for, else that of the wallet, if the organisation has limits for it. */
async function requireTier({ sql, book, params, body }: Call<KycBody>, wallet: Wallet): Promise<Tier> {
  const tier = body.tier ?? (wallet.kycStatus === 'none' ? 'tier1' : wallet.kycStatus);
  const missing = TIER_DETAILS[tier].filter((field) => body.tier !== undefined && body[field] === undefined);
  if (missing.length > 0)
    throw new ApiError('VALIDATION_FAILED', {
      fields: missing.map((field) => ({ field, code: 'invalid_type', message: `is needed for ${tier}` })),
    });
  if (tier === 'tier1') return tier;
  const policy = (await readPolicy(sql, book)) ?? {};
  if (policy[tier] !== undefined) return tier;
  if (body.tier === undefined) return 'tier1';
  const tiers = TIERS.filter((each) => each === 'tier1' || policy[each] !== undefined);
  throw new ApiError('WALLET_TIER_UNAVAILABLE', { walletId: params.id, tier, tiers });
}

/** The details of the wallet's tier, as far as a submission that names no tier leaves them out: they stay. */
async function keptDetails({ dependencies, book, body }: Call<KycBody>, wallet: Wallet, tier: Tier): Promise<object> {
  if (body.tier !== undefined || TIER_DETAILS[tier].length === 0) return {};
  const kept = await readKyc(dependencies, book, wallet.id);
  return Object.fromEntries(TIER_DETAILS[tier].map((field) => [field, body[field] ?? kept?.[field]]));
}

const submitKyc = route({
  operationId: 'submitKyc',
  success: { status: 200, data: walletSchema },
  errors: ['WALLET_KYC_NOT_APPLICABLE', 'WALLET_TIER_UNAVAILABLE', 'WALLET_BVN_LIMIT_REACHED', 'BANK_RAIL_TIMEOUT'],
  endpoint: 'POST /wallets/:id/kyc',
  access: 'wallet',
  body: kycBody,
  handle: async (call) => {
    const { dependencies, sql, book, body, caller } = call;
    const wallet = await requireWallet(call);
    if (wallet.kind === 'settlement') throw new ApiError('WALLET_KYC_NOT_APPLICABLE', { walletId: call.params.id });
    const { keyring, config } = dependencies;
    const limit = config.walletsPerBvnMax;
    const tier = await requireTier(call, wallet);
    const data = walletView({ ...wallet, kycStatus: tier });
    const details = { ...body, ...(await keptDetails(call, wallet, tier)) };
    try {
      const kyc = { ...sealKyc(keyring, book, wallet.id, details), walletsPerBvnMax: limit };
      await recordKyc(sql, book, wallet, tier, kyc, caller.proof, call.outcome(data));
    } catch (error) {
      if (violatedCheck(error) !== 'wallets_per_bvn') throw error;
      throw new ApiError('WALLET_BVN_LIMIT_REACHED', { walletId: call.params.id, limit });
    }
    const rail = await dependencies.rails.accepting(book);
    if (rail !== null) {
      try {
        await openDepositAccount(dependencies, rail, book, wallet);
      } catch (error) {
        // The wallet has its tier anyway; its account number is opened when it is first read.
        if (!(error instanceof RailCallError)) throw error;
      }
    }
    return data;
  },
});

const readBalance = route({
  operationId: 'getWalletBalance',
  success: { status: 200, data: walletBalance },
  errors: ['WALLET_KYC_REQUIRED'],
  endpoint: 'GET /wallets/:id/balance',
  access: 'wallet',
  query: z.strictObject({ at: timestamp.optional() }),
  handle: async (call) => {
    const wallet = await requireWallet(call);
    requireTier1(wallet);
    const { at } = call.query;
    const balance = at === undefined ? wallet.balance : await balanceAt(call.sql, call.book, wallet, at);
    return balanceView({ walletId: wallet.id, balance });
  },
});

const limits = route({
  operationId: 'getWalletLimits',
  success: { status: 200, data: walletLimits },
  errors: ['WALLET_KYC_REQUIRED'],
  endpoint: 'GET /wallets/:id/limits',
  access: 'wallet',
  handle: async (call) => {
    const wallet = await requireWallet(call);
    requireTier1(wallet);
    const tier = wallet.kycStatus === 'none' ? null : wallet.kycStatus;
    return limitsView({ walletId: wallet.id, tier, limits: await readLimits(call.sql, call.book, wallet) });
  },
});

const readDepositAccount = route({
  operationId: 'getDepositAccount',
  success: { status: 200, data: virtualAccount },
  errors: ['WALLET_KYC_REQUIRED', 'DEPOSIT_ACCOUNT_UNAVAILABLE', ...RAIL_ERRORS],
  endpoint: 'GET /wallets/:id/deposit-account',
  access: 'wallet',
  handle: async (call) => {
    const { dependencies, sql, book } = call;
    const wallet = await requireWallet(call);
    requireTier1(wallet);
    const connected = await dependencies.rails.of(book);
    const existing = connected && (await findDepositAccount(sql, book, connected, wallet.id));
    if (existing !== null) return virtualAccountView(existing);
    const rail = await requireRail(dependencies, book);
    await requireDepositAccount(dependencies, rail, book, wallet);
    const opened = await findDepositAccount(sql, book, rail, wallet.id);
    if (opened === null) throw new Error('a deposit account was opened but has no row');
    return virtualAccountView(opened);
  },
});

const readDeposits = listRoute({
  operationId: 'listWalletDeposits',
  item: credit,
  path: '/wallets/:id/deposits',
  access: 'wallet',
  filters: createdFilters,
  find: async (call, filters, page) => {
    const { id } = await requireWallet(call);
    return await listCredits(call.sql, call.book, { kind: 'wallet', id }, filters, page);
  },
  view: creditView,
});

/** Reads the wallet of the path. Throws WALLET_NOT_FOUND. */
export const requireWallet = (call: Call): Promise<Wallet> => requireRow(call, 'wallet', findWallet);

export const walletRoutes: Route[] = [
  createWallet,
  ...reads,
  submitKyc,
  readBalance,
  limits,
  readDepositAccount,
  readDeposits,
];
