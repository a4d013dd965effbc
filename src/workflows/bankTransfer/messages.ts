// The messages of all flows with a bank transfer: the input, the signal of the rail's callback, the activities.
import { defineSignal } from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';
import type { CarriedAttention } from '../attention/park.ts';
import type { FlowScope } from '../flows.ts';
import type { SentDecision } from '../operators/messages.ts';
import type { Sends, TransferKnowledge, TransferLimits, TransferState, TransferStep } from './decide.ts';

export interface BankTransferInput extends FlowScope {
  /** Public id of the resource. The reference at the rail, unless `reference` is set. */
  transferId: string;
  amount: Kobo;
  /** The reference at the rail, if it is not `transferId`; only for display. */
  reference?: string;
  /** Where the run before this one was, if the flow has continued as new. */
  continued?: TransferFlowState & { attention?: CarriedAttention };
}

/** Where a flow is with its transfer, between two steps. Times are milliseconds since 1970. */
export interface TransferFlowState
  extends Pick<TransferKnowledge, 'knowsReference' | 'sends' | 'isRefused' | 'checks'> {
  /** The next step. */
  step: TransferStep;
  sentAt: number;
  openSince: number;
  /** How the last step found the rail, since when each has found it so, and their number. */
  found: { rail: TransferKnowledge['rail']; since: number; steps: number };
  /** Whether the rail has ever reported news of this transfer to this flow. */
  hasNews: boolean;
}

/** The rail has an update on this transfer. The signal carries no data: the flow queries the rail. */
export const transferUpdated = defineSignal('transferUpdated');

/** Operators have resumed the rail, or its balance has changed: a flow that waits for that runs its step again. */
export const railResumed = defineSignal('railResumed');

/**
 * Why a rail does not accept a transfer for now, and after how long it wants it again; null: unknown. `shortfall`: of
 * an underfunded one, how much less the banks of the book hold than is owed.
 */
export interface NotReady {
  why: 'underfunded' | 'duplicate_guard' | 'rate_limited' | 'unauthorised' | 'feature_off';
  retryAfterMs: number | null;
  shortfall?: Kobo;
}

/** The state of a transfer after a step. */
export interface TransferProgress {
  status: TransferState;
  rail: TransferKnowledge['rail'];
  /** Why the rail does not accept the transfer for now, if it does not. */
  notReady?: NotReady;
  /** Of a transfer in progress: what the database has of its sends. */
  sends?: Sends;
  /** Settings that the flow needs. Each result carries them, because a workflow reads no configuration. */
  limits: TransferLimits;
}

/** What operators set: `complete` or `fail` of a transfer in progress, `return` of a completed one. */
export interface OperatorDecision {
  outcome: 'complete' | 'fail' | 'return';
  reason: string;
  /** Proven and recorded by the movement that posts it. */
  sent: SentDecision;
}

/** The steps of a bank transfer. Each reads it, queries the rail, and posts what follows from its status. */
export interface BankTransferActivities {
  /**
   * Sends it, unless the rail knows its reference already. Every send has the same reference. `isAsked`: operators ask
   * for it, so that what was never sent is sent although the query of its status fails.
   */
  sendBankTransfer: (input: BankTransferInput, isAsked?: boolean) => Promise<TransferProgress>;
  checkBankTransfer: (input: BankTransferInput) => Promise<TransferProgress>;
  /** Posts it as refused or never received, unless the rail knows it after all. */
  markBankTransferUnsent: (input: BankTransferInput) => Promise<TransferProgress>;
  /** Posts what operators decided. A final status that the rail has by now takes precedence. */
  applyBankTransferDecision: (input: BankTransferInput, decision: OperatorDecision) => Promise<TransferProgress>;
}
