// What every flow with a bank transfer in it shares: its input, the signal that the rail's callback gives it, and what
// its activities answer.
import { defineSignal } from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';
import type { AttentionLimits } from '../attention/decide.ts';
import type { FlowScope } from '../flows.ts';
import type { TransferKnowledge, TransferState } from './decide.ts';

export interface BankTransferInput extends FlowScope {
  /** Public id of the withdrawal, refund or payout item; the rail knows the transfer by it. */
  transferId: string;
  amount: Kobo;
  /** What the rail knows it by, where that is not `transferId`; for people to read. */
  reference?: string;
}

/** The rail has news of this transfer. It says no more than that: the flow asks the rail. */
export const transferUpdated = defineSignal('transferUpdated');

/**
 * What a step does while the rail is paused. Without it, it says so and leaves the waiting to its caller; `wait`: it is
 * repeated until the rail is resumed, which costs the history nothing.
 */
export type PauseMode = 'wait';

/** Where a transfer stands after a step. */
export interface TransferProgress {
  status: TransferState;
  rail: TransferKnowledge['rail'];
  /** Settings that the flow goes by; they come with each answer, because a workflow reads no configuration. */
  limits: TransferLimits;
}

export interface TransferLimits extends AttentionLimits {
  /** How long the rail may take to know a reference that it got. */
  unknownIsFinalAfterMs: number;
}

/** The outcome that operators decided where the rail has none to tell. */
export interface OperatorDecision {
  outcome: 'complete' | 'fail';
  reason: string;
}

/** A step, as an activity. It reads the books, asks the rail, and posts what its answer means. */
export type TransferActivity<Input> = (input: Input, pauseMode?: PauseMode) => Promise<TransferProgress>;

/** Posts what operators decided, unless the rail's word came first. */
export type TransferDecisionActivity<Input> = (input: Input, decision: OperatorDecision) => Promise<TransferProgress>;
