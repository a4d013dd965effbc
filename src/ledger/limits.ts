// The tier1 limits (contract, section 8). They are written onto a wallet's account when it reaches tier1; from then on
// the database enforces them in the statement that moves the money.
import type { Kobo } from '../money.ts';

export const TIER1_BALANCE_MAX: Kobo = 30_000_000;
export const TIER1_POSTING_MAX: Kobo = 5_000_000;
