// The activities of all flows of money. Those of a bank transfer find the kind of the transfer by its public id.
import { recordDecision } from '../resources/operators.ts';
import { type TransferKind, transferOf } from '../resources/tables.ts';
import type { BankTransferActivities, BankTransferInput } from '../workflows/bankTransfer/messages.ts';
import { bookOf } from '../workflows/flows.ts';
import type { OperatorActivities } from '../workflows/operators/messages.ts';
import { createAdjustmentActivities } from './adjustments.ts';
import { createBankTransferSteps } from './bankTransfers.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { invariantViolation } from './failures.ts';
import { createHoldActivities } from './holds.ts';
import { createCreditActivities } from './inboundCredits.ts';
import { createPaymentActivities } from './payments.ts';
import { createPayoutActivities, createPayoutItemSteps } from './payouts.ts';
import { createReviewCaseActivities, returnAdapter } from './reviewCases.ts';
import { refundAdapter, withdrawalAdapter } from './transferAdapters.ts';

export const createMoneyActivities = (dependencies: ActivityDependencies) => ({
  ...createPaymentActivities(dependencies),
  ...createCreditActivities(dependencies),
  ...createBankTransferActivities(dependencies),
  ...createPayoutActivities(dependencies),
  ...createReviewCaseActivities(dependencies),
  ...createHoldActivities(dependencies),
  ...createAdjustmentActivities(dependencies),
  ...operatorActivities(dependencies),
});

const operatorActivities = ({ sql }: ActivityDependencies): OperatorActivities => ({
  recordDecision: (scope, sent) => recordDecision(sql, bookOf(scope), sent),
});

export function createBankTransferActivities(dependencies: ActivityDependencies): BankTransferActivities {
  const { sql } = dependencies;
  const steps: Record<TransferKind, BankTransferActivities> = {
    withdrawal: createBankTransferSteps(dependencies, withdrawalAdapter(sql)),
    refund: createBankTransferSteps(dependencies, refundAdapter(sql)),
    payoutItem: createPayoutItemSteps(dependencies),
    reviewCase: createBankTransferSteps(dependencies, returnAdapter(sql)),
  };
  function stepsOf({ transferId }: BankTransferInput): BankTransferActivities {
    const transfer = transferOf(transferId);
    if (transfer === null) throw invariantViolation(`${transferId} is not the id of a bank transfer`);
    return steps[transfer.kind];
  }
  return {
    sendBankTransfer: async (input, isAsked) => await stepsOf(input).sendBankTransfer(input, isAsked),
    checkBankTransfer: async (input) => await stepsOf(input).checkBankTransfer(input),
    markBankTransferUnsent: async (input) => await stepsOf(input).markBankTransferUnsent(input),
    applyBankTransferDecision: async (input, decision) =>
      await stepsOf(input).applyBankTransferDecision(input, decision),
  };
}
