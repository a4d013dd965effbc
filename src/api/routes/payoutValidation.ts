// Checks a payout without making it (contract, section 4.9): names, fees, funds and limits. Nothing is reserved.
import type { z } from 'zod';
import { mapAtMost } from '../../concurrency/mapAtMost.ts';
import { REQUEST_RAIL_MAX_MS } from '../../concurrency/timeLimits.ts';
import { publicId } from '../../ids.ts';
import { readSafeguarding } from '../../ledger/safeguarding.ts';
import { CURRENCY } from '../../money.ts';
import { isSameName } from '../../rail/accountNames.ts';
import { RailCallError } from '../../rail/errors.ts';
import type { BankRail } from '../../rail/port.ts';
import { payoutValidation } from '../../resources/publicSchemas.ts';
import { findExcess } from '../../resources/wallets/limits.ts';
import { fromRail, RAIL_ERRORS, requireRail } from '../bankLookup.ts';
import { payoutFile } from '../payoutFile.ts';
import { itemErrors, itemFee, loadWallets, PAYOUT_BYTES_MAX, type PayoutBody, payoutBody } from '../payoutRequest.ts';
import { route } from '../route.ts';
import { requireUsable, WALLET_REFUSALS } from '../walletRefusal.ts';

/** How many names are asked for at the same time. */
const ENQUIRIES_AT_ONCE = 10;

/** A caller waits for the answer: items whose bank has not answered by then are reported as not checked. */
const ENQUIRIES_WITHIN_MS = REQUEST_RAIL_MAX_MS - 1_000;

type Item = PayoutBody['items'][number];
type Problem = z.infer<typeof payoutValidation>['items'][number]['problems'][number];

export const validatePayout = route({
  operationId: 'validatePayout',
  success: { status: 200, data: payoutValidation },
  errors: ['WALLET_NOT_FOUND', ...WALLET_REFUSALS, ...RAIL_ERRORS],
  endpoint: 'POST /payouts/validate',
  access: 'payout',
  idempotencyKey: 'none',
  body: payoutBody,
  fromCsv: payoutFile,
  bodyBytesMax: PAYOUT_BYTES_MAX,
  handle: async ({ dependencies, sql, book, body }) => {
    const rail = await requireRail(dependencies, book);
    const fees = await dependencies.fees(book);
    const wallets = await loadWallets(dependencies, rail, book, body);
    const errors = itemErrors(body.items, wallets, await fromRail(rail.banks()));
    requireUsable(wallets.source);
    const { postingMax, hasPeriodLimits } = wallets.source;
    const errorsOfItem = Map.groupBy(errors, ({ field }) => Number(field.split('.')[1]));
    const [names, { headroom }] = await Promise.all([
      enquire(rail, book.organisationId, body.items),
      wallets.source.kind === 'settlement' ? readSafeguarding(sql, book) : { headroom: wallets.source.balance },
    ]);
    const items = body.items.map((item, position) => {
      const fee = itemFee(fees, rail, wallets.source, item);
      const known = errorsOfItem.get(position) ?? [];
      const problems = known.map(({ field, code, message }) => ({ field, code, message }));
      if (postingMax !== null && item.amount > postingMax) {
        problems.push({ ...OVER_LIMIT, field: `items.${position}.amount` });
      }
      const name = nameOf(names, item);
      const ofName = known.length > 0 ? null : problemOfName(item, name);
      if (ofName !== null) problems.push({ ...ofName, field: `items.${position}.${ofName.field}` });
      return {
        reference: item.reference ?? null,
        amount: item.amount,
        fee,
        totalAmount: item.amount + fee,
        accountName: typeof name === 'string' ? name : null,
        problems,
      };
    });
    const totalAmount = items.reduce((sum, { amount }) => sum + amount, 0);
    const totalFee = items.reduce((sum, { fee }) => sum + fee, 0);
    // A settlement wallet is own money, which pays out no more than customers and the state are not owed.
    const available = Math.max(0, Math.min(wallets.source.balance, headroom));
    const missingAmount = Math.max(0, totalAmount + totalFee - available);
    const excess = hasPeriodLimits ? await findExcess(sql, book, wallets.source, totalAmount + totalFee) : [];
    const message = 'must not exceed what may still leave the source wallet in a day or month';
    const problems = excess.map((details) => ({ field: 'items', code: 'wallet_limit_exceeded', message, details }));
    return {
      sourceWalletId: publicId('wallet', wallets.source.id),
      isValid: missingAmount === 0 && [{ problems }, ...items].every((one) => one.problems.length === 0),
      totalAmount,
      totalFee,
      missingAmount,
      itemCount: items.length,
      problems,
      items,
      currency: CURRENCY,
    };
  },
});

const OVER_LIMIT = {
  code: 'wallet_tier1_limit_exceeded',
  message: 'must not exceed what the source wallet may send in one transaction',
};

/** The name that a bank has for an account; null: it has no such account; undefined: it did not answer. */
type Name = string | null | undefined;
type Account = { accountNumber: string; bankCode: string };

const keyOf = ({ accountNumber, bankCode }: Account): string => `${bankCode}/${accountNumber}`;

/** Name enquiry for the accounts of all items, each once. Ends early when the bank does not respond. */
async function enquire(rail: BankRail, organisationId: string, items: readonly Item[]): Promise<Map<string, Name>> {
  const accounts = new Map<string, Account>();
  for (const { bankAccount } of items) if (bankAccount !== undefined) accounts.set(keyOf(bankAccount), bankAccount);
  const names = new Map<string, Name>();
  const deadline = AbortSignal.timeout(ENQUIRIES_WITHIN_MS);
  let isUnavailable = false;
  await mapAtMost(ENQUIRIES_AT_ONCE, [...accounts], async ([key, { accountNumber, bankCode }]) => {
    if (isUnavailable || deadline.aborted) return;
    try {
      const found = await rail.resolveAccount({ organisationId, accountNumber, bankCode }, deadline);
      names.set(key, found?.accountName ?? null);
    } catch (error) {
      if (!(error instanceof RailCallError) && !deadline.aborted) throw error;
      isUnavailable = true;
    }
  });
  return names;
}

/** The deposit account of a wallet is ours: it needs no enquiry. */
const nameOf = (names: ReadonlyMap<string, Name>, { bankAccount }: Item): Name =>
  bankAccount === undefined ? undefined : names.get(keyOf(bankAccount));

/** What the name shows to be wrong with an item; null: nothing. */
function problemOfName({ bankAccount }: Item, name: Name): Problem | null {
  if (bankAccount === undefined) return null;
  if (name === undefined) {
    const message = 'could not be checked: the bank does not respond. Send the request again later';
    return { field: 'bankAccount', code: 'not_checked', message };
  }
  if (name === null) {
    const message = 'must be an account number that the bank has';
    return { field: 'bankAccount.accountNumber', code: 'account_not_resolved', message };
  }
  if (bankAccount.accountName === undefined || isSameName(bankAccount.accountName, name)) return null;
  const message = `must be the name that the bank has: ${name}`;
  return { field: 'bankAccount.accountName', code: 'name_mismatch', message };
}
