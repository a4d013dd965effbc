// The rules of an adjustment as pure functions: which decisions are refused, with which message, and what operators do
// about a refusal of the ledger.
import { refuseMessage } from '../operators/decide.ts';
import type { AdjustmentAction, AdjustmentDecision } from './messages.ts';

/** The value of the search attribute `Attention` while an adjustment waits for its decision. */
export const ADJUSTMENT_ATTENTION = 'adjustment';

/** The actions, each with its effect. */
export const ACTIONS: Readonly<Record<AdjustmentAction, string>> = {
  approve: 'post it; by another operator than the one who requested it',
  reject: 'post nothing; final',
};

/** Why a decision is refused before its operator is known; null if it may be tried. */
export const refuseDecision = (isOpen: boolean, decision: Partial<AdjustmentDecision> | null): string | null =>
  isOpen ? refuseMessage(decision, Object.keys(ACTIONS)) : 'This adjustment is decided already.';

/** What to do about each code with which the ledger refuses an adjustment. */
const AFTER_REFUSAL: Readonly<Record<string, string>> = {
  WALLET_INSUFFICIENT_FUNDS: 'it holds less than that. Reject the adjustment and request one for what it holds',
  WALLET_FROZEN: 'no money leaves a frozen wallet. Unfreeze it, and approve again',
  DEBT_EXCEEDED: 'less is owed by now. Reject the adjustment and request one for what is owed',
  WALLET_CLOSED: 'a closed wallet takes no part. Reject the adjustment and request one without it',
  WALLET_KYC_REQUIRED: 'no money leaves an unverified wallet. Reject the adjustment',
  WALLET_TIER1_LIMIT_EXCEEDED:
    'a posting exceeds its limit. Reject the adjustment and request one with smaller postings',
};

/** The message of an approval of what is about a month that was closed since. The adjustment stays open. */
export const describeClosed = (month: string): string =>
  `The period ${month} was closed since. Reject the adjustment and request one without --at.`;

/** The message of an approval that the ledger refused. The adjustment stays open. */
export function describeRefusal(code: string, account: string | null): string {
  const advice = AFTER_REFUSAL[code] ?? 'Find the cause and approve again, or reject the adjustment';
  return `The ledger refused it: ${code}, at ${account ?? 'no account'}: ${advice}.`;
}
