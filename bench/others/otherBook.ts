// What every other ledger has for the load: accounts with money, a transfer, a judgement of its answer, and its own word
// on where the money is, which is held against what it answered.
import { WALLETS } from '../book.ts';
import type { LoadRequest } from '../load.ts';

/** What each account starts with, in kobo: so much that a run of small transfers empties none. */
export const FUNDS = 1_000_000_000;
export const HOT_FUNDS = 1_000_000_000_000;
const FUNDED = WALLETS * FUNDS + HOT_FUNDS;

/** An account by the name that its ledger knows it by. */
export type Account = string;

/** How an answer to a transfer is judged: the kobo that it says were posted, or why it is none, in a few words. */
export type Verdict = { posted: number } | { refused: string };

/** Kobo, as the ledger itself tells them. */
export interface Standing {
  /** On all accounts, the hot one included. */
  held: number;
  /** That ever went into the hot account or out of it. */
  throughHot: number;
}

/** Accounts in another ledger, and how it is spoken to. */
export interface OtherBook {
  hot: Account;
  wallets: readonly Account[];
  transfer: (source: Account, destination: Account, amount: number) => LoadRequest;
  judge: (status: number, body: string) => Verdict;
  read: () => Promise<Standing>;
}

/**
 * What is wrong with the money after a run, if anything. Every transfer has the hot account on one side, so what went
 * through it is what was moved: at least what was answered as posted, at most what was asked for. Between the two lie the
 * last requests of each round, one a connection, which were sent and their answers not awaited; it is no finer than that.
 */
export function findWrongMoney(
  { held, throughHot }: Standing,
  { asked, posted }: { asked: number; posted: number },
): string | undefined {
  const moved = throughHot - HOT_FUNDS;
  if (held !== FUNDED) return `its accounts hold ${held} kobo and were given ${FUNDED}`;
  if (moved >= posted && moved <= asked) return undefined;
  return `it moved ${moved} kobo, was asked for ${asked} and answered that it posted ${posted}`;
}
