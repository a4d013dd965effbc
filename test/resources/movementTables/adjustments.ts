// Movements of adjustments: ₦500.00 that a bank still has go to a wallet, ₦10.00 of them are a charge; the
// reversal of that.
import { newUuid, publicId } from '../../../src/ids.ts';
import { RAIL_EXPENSE, walletAccount } from '../../../src/ledger/chart.ts';
import type { Decision } from '../../../src/ledger/movement.ts';
import { openAdjustment, postAdjustment, rejectAdjustment } from '../../../src/resources/adjustments/movements.ts';
import { reversedPostings } from '../../../src/resources/adjustments/postings.ts';
import type { Adjustment } from '../../../src/resources/adjustments/queries.ts';
import { BOOK, call, newId, OWNER, rowAfter, step } from '../movementTable.ts';

const ADA = newUuid();
const PROOF = 'key:…';

const decided = (action: string, name: string): Decision => ({
  proof: PROOF,
  action,
  subject: publicId('adjustment', newId('adjustment', name)),
  reason: "agrees with the bank's letter",
});

const POSTINGS = [
  { debit: 'clearing:sandbox', credit: walletAccount(OWNER), amount: 50_000 },
  { debit: RAIL_EXPENSE, credit: 'clearing:sandbox', amount: 1_000 },
];

function requested(name: string, change: Partial<Adjustment>): Adjustment {
  return {
    id: newId('adjustment', name),
    version: 1,
    status: 'requested',
    postings: POSTINGS,
    reason: 'the bank paid nothing after all',
    evidence: 'ticket 1234',
    reverses: null,
    effectiveAt: null,
    corrects: null,
    description: null,
    requestedBy: ADA,
    decidedBy: null,
    createdAt: new Date(),
    decidedAt: null,
    ...change,
  };
}

const REQUESTED = step({
  title: 'an adjustment is requested without a posting',
  call: call(openAdjustment, BOOK, requested('adjustment', {}), PROOF),
  rows: ['adjustments: requested, version 1', 'audit_log: adjustment.request of adjustment'],
  outbox: ['adjustment: start'],
});

const POSTED = step({
  title: 'an approved adjustment posts what was requested',
  after: REQUESTED,
  call: call(postAdjustment, BOOK, rowAfter(REQUESTED, 'adjustments'), decided('adjustment.approve', 'adjustment')),
  net: { 'clearing:sandbox': -49_000, 'wallet:owner': 50_000, 'expense:rail': -1_000 },
  transaction: 'adjustment adjustment/adjustment, credit_exempt',
  rows: ['adjustments: posted, version 2', 'audit_log: adjustment.approve of adjustment'],
  events: ['wallet.adjusted'],
});

const REVERSAL_REQUESTED = step({
  title: 'the reversal of an adjustment is requested without a posting',
  after: POSTED,
  call: call(
    openAdjustment,
    BOOK,
    requested('reversal', { postings: reversedPostings(POSTINGS), reverses: rowAfter(REQUESTED, 'adjustments').id }),
    PROOF,
  ),
  rows: ['adjustments: requested, version 1', 'audit_log: adjustment.request of reversal'],
  outbox: ['adjustment: start'],
});

export const ADJUSTMENTS = [
  REQUESTED,
  POSTED,
  step({
    title: 'a rejected adjustment posts nothing',
    after: REQUESTED,
    call: call(rejectAdjustment, BOOK, rowAfter(REQUESTED, 'adjustments'), decided('adjustment.reject', 'adjustment')),
    rows: ['adjustments: rejected, version 2', 'audit_log: adjustment.reject of adjustment'],
  }),
  REVERSAL_REQUESTED,
  step({
    title: 'an approved reversal undoes the adjustment that it names',
    after: REVERSAL_REQUESTED,
    call: call(
      postAdjustment,
      BOOK,
      rowAfter(REVERSAL_REQUESTED, 'adjustments'),
      decided('adjustment.approve', 'reversal'),
    ),
    net: { 'clearing:sandbox': 49_000, 'wallet:owner': -50_000, 'expense:rail': 1_000 },
    transaction: 'adjustment_reversal reversal/adjustment, credit_exempt, reverses adjustment/adjustment',
    rows: ['adjustments: posted, version 2', 'audit_log: adjustment.approve of reversal'],
    events: ['wallet.adjusted'],
  }),
];
