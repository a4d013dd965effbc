// Queries for limits: the policy of a book, and what a wallet has used.
import type { Sql } from '../../database/pool.ts';
import { publicId } from '../../ids.ts';
import { type Limit, PERIOD_LIMITS, type Policy, type Tier, type TierLimits } from '../../ledger/limits.ts';
import type { Book, Kobo } from '../../money.ts';
import type { Proof } from '../proofs.ts';
import type { Wallet } from './queries.ts';

/** The policy of a book, of the nil organisation the ceiling; null: there is none. */
export async function readPolicy(sql: Sql, { organisationId, environment }: Book): Promise<Policy | null> {
  const rows = await sql<
    { tier: Tier; balance: Kobo | null; transaction: Kobo | null; periods: (number | null)[] | null }[]
  >`
    SELECT tier, balance_max AS balance, posting_max AS transaction, to_jsonb(period_maxima) AS periods
    FROM limit_policies WHERE organisation_id = ${organisationId} AND environment = ${environment} ORDER BY tier`;
  if (rows.length === 0) return null;
  return Object.fromEntries(
    rows.map(({ tier, balance, transaction, periods }) => {
      const limits = { transaction, balance, ...Object.fromEntries(PERIOD_LIMITS.map((n, i) => [n, periods?.[i]])) };
      return [tier, Object.fromEntries(Object.entries(limits).filter(([, max]) => typeof max === 'number'))];
    }),
  );
}

/** Sets the policy of a book and the limits of its wallets, in one statement. */
export async function setPolicy(
  sql: Sql,
  { organisationId, environment }: Book,
  policy: Policy,
  { proof, reason }: { proof: Proof; reason: string },
): Promise<void> {
  const rows = (Object.entries(policy) as [Tier, TierLimits][]).map(([tier, limits]) => ({
    tier,
    balance_max: limits.balance ?? null,
    posting_max: limits.transaction ?? null,
    period_maxima: PERIOD_LIMITS.some((name) => limits[name] !== undefined)
      ? PERIOD_LIMITS.map((name) => limits[name] ?? null)
      : null,
  }));
  await sql`SELECT ledger.set_limits(${organisationId}, ${environment}, ${proof}, ${reason}, ${sql.json(rows)})`;
}

/** The limits of a wallet, each with what is left of it now. */
export async function readLimits(sql: Sql, { organisationId }: Book, wallet: Wallet) {
  const { accountId, postingMax, balanceMax, balance } = wallet;
  const used = await sql<{ limit: Limit; maximum: number; used: number; resetsAt: Date }[]>`
    SELECT u.name AS limit, u.maximum, u.used, u.resets_at
    FROM ledger.accounts a CROSS JOIN LATERAL ledger.limit_use(a.organisation_id, a.id, a.period_maxima, now()) u
    WHERE a.organisation_id = ${organisationId} AND a.id = ${accountId}`;
  const fixed = { used: null, resetsAt: null }; // not about a period
  return [
    ...(postingMax === null
      ? []
      : [{ ...fixed, limit: 'transaction' as const, maximum: postingMax, remaining: postingMax }]),
    ...(balanceMax === null
      ? []
      : [{ ...fixed, limit: 'balance' as const, maximum: balanceMax, remaining: Math.max(0, balanceMax - balance) }]),
    ...used.map((use) => ({ ...use, remaining: Math.max(0, use.maximum - use.used) })),
  ];
}

/** The limit of a day or month that an amount, fees included, exceeds: of several the one that the ledger names. */
export async function findExcess(sql: Sql, book: Book, wallet: Wallet, amount: Kobo) {
  const walletId = publicId('wallet', wallet.id);
  const exceeded = (await readLimits(sql, book, wallet)).flatMap(({ limit, maximum, remaining, resetsAt }) => {
    const attempted = limit.endsWith('count') ? 1 : amount;
    if (resetsAt === null || attempted <= remaining) return [];
    return [{ walletId, limit, maximum, attempted, remaining, resetsAt: resetsAt.toISOString() }];
  });
  const ofMonth = exceeded.filter(({ limit }) => limit.startsWith('monthly'));
  return [...ofMonth, ...exceeded].slice(0, 1); // the month's first: it ends with the day or later
}
