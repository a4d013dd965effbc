// Postings as data, and pure functions that build them. A posting moves one amount from a debited account to a credited
// one, so any list of postings balances.
import type { Kobo } from '../money.ts';
import type { AccountCode } from './chart.ts';

export interface Posting {
  debit: AccountCode;
  credit: AccountCode;
  amount: Kobo;
}

/** An amount on one account: one side of a movement, before it is matched with the other side. */
export interface Leg {
  account: AccountCode;
  amount: Kobo;
}

/** The net change of each account, without those that do not change. Credits are positive, debits negative. */
export function netChanges(changes: Iterable<readonly [AccountCode, Kobo]>): Map<AccountCode, Kobo> {
  const net = new Map<AccountCode, Kobo>();
  for (const [account, change] of changes) net.set(account, (net.get(account) ?? 0) + change);
  for (const [account, change] of net) if (change === 0) net.delete(account);
  return net;
}

/**
 * Returns the postings that move `sources` to `destinations`, both in order: the first source pays the first
 * destination until one of them is used up. Throws when the sums of the two sides differ. Zero amounts are skipped.
 */
export function allocate(sources: readonly Leg[], destinations: readonly Leg[]): Posting[] {
  const postings: Posting[] = [];
  const from = sources.filter((leg) => leg.amount > 0).map((leg) => ({ ...leg }));
  const to = destinations.filter((leg) => leg.amount > 0).map((leg) => ({ ...leg }));
  while (from[0] !== undefined && to[0] !== undefined) {
    const amount = Math.min(from[0].amount, to[0].amount);
    postings.push({ debit: from[0].account, credit: to[0].account, amount });
    from[0].amount -= amount;
    to[0].amount -= amount;
    if (from[0].amount === 0) from.shift();
    if (to[0].amount === 0) to.shift();
  }
  if (from.length + to.length > 0) throw new RangeError('the two sides of a movement have different sums');
  return postings;
}
