// The messages that all flows with a bank transfer share: the input, the signal that the rail's callback causes, and
// the results of the activities.
import { defineSignal } from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';
import type { AttentionLimits } from '../attention/decide.ts';
import type { FlowMessage, FlowScope } from '../flows.ts';
import type { AuditEntry } from '../operators/messages.ts';
import type { TransferKnowledge, TransferState } from './decide.ts';

export interface BankTransferInput extends FlowScope {
  /**
   * Public id of the withdrawal, refund, payout item or review case. The reference at the rail, unless `reference` is
   * set.
   */
  transferId: string;
  amount: Kobo;
  /** The reference at the rail, if it is not `transferId`; only for display. */
  reference?: string;
}

/** The rail has an update on this transfer. The signal carries no data: the flow queries the rail. */
export const transferUpdated = defineSignal('transferUpdated');

/** The same message, which also sends the flow the signal `transferUpdated`. */
export const withTransferUpdate = (message: FlowMessage): FlowMessage => ({
  ...message,
  signal: { name: transferUpdated.name, payload: null },
});

/**
 * What a step does while the rail is paused. Undefined: it returns `rail: 'paused'` at once. `wait`: the activity is
 * retried until the rail is resumed, which adds no events to the history.
 */
export type PauseMode = 'wait';

/** The state of a transfer after a step. */
export interface TransferProgress {
  status: TransferState;
  rail: TransferKnowledge['rail'];
  /** Settings that the flow needs. Each result carries them, because a workflow reads no configuration. */
  limits: TransferLimits;
}

export interface TransferLimits extends AttentionLimits {
  /** How long the rail may take to know a reference that it received. */
  unknownIsFinalAfterMs: number;
}

/**
 * The outcome that operators set where the rail reports none: `complete` or `fail` of a transfer in progress, `return`
 * of a completed one.
 */
export interface OperatorDecision {
  outcome: 'complete' | 'fail' | 'return';
  reason: string;
  /** Written by the movement that posts it. */
  audit: AuditEntry[];
}

/** A step, as an activity: reads the transfer, queries the rail, and posts what follows from its status. */
export type TransferActivity<Input> = (input: Input, pauseMode?: PauseMode) => Promise<TransferProgress>;

/** Posts what operators decided, unless the rail has reported a final status by then. */
export type TransferDecisionActivity<Input> = (input: Input, decision: OperatorDecision) => Promise<TransferProgress>;
