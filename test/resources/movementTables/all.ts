// All tables of movements.
import type { Step } from '../movementTable.ts';
import { ADJUSTMENTS } from './adjustments.ts';
import { FEE_SWEEPS } from './feeSweeps.ts';
import { HOLDS } from './holds.ts';
import { INBOUND_CREDITS } from './inboundCredits.ts';
import { PAYMENTS } from './payments.ts';
import { PAYOUTS } from './payouts.ts';
import { RECALLS } from './recalls.ts';
import { RECONCILIATION } from './reconciliation.ts';
import { REFUNDS } from './refunds.ts';
import { REVIEW_CASES } from './reviewCases.ts';
import { SPLITS } from './splits.ts';
import { STATEMENT_ENTRIES } from './statementEntries.ts';
import { TRANSFERS } from './transfers.ts';
import { WITHDRAWALS } from './withdrawals.ts';

/** The movements of every resource. */
export const BY_RESOURCE: Record<string, readonly Step[]> = {
  withdrawals: WITHDRAWALS,
  refunds: REFUNDS,
  payouts: PAYOUTS,
  payments: PAYMENTS,
  splits: SPLITS,
  transfers: TRANSFERS,
  holds: HOLDS,
  'inbound credits': INBOUND_CREDITS,
  recalls: RECALLS,
  'review cases': REVIEW_CASES,
  reconciliation: RECONCILIATION,
  'statement entries': STATEMENT_ENTRIES,
  'fee sweeps': FEE_SWEEPS,
  adjustments: ADJUSTMENTS,
};
