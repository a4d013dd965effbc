// The tier1 limits (contract, section 8). They are stored on the account of a wallet when it reaches tier1; the
// statement that moves the money then enforces them.
import type { Kobo } from '../money.ts';

export const TIER1_BALANCE_MAX: Kobo = 30_000_000;
export const TIER1_POSTING_MAX: Kobo = 5_000_000;
