// The messages of a hold: money beside a wallet, which is released at a time, by a request or by an operator.
import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';
import type { FlowScope } from '../flows.ts';
import type { AppliedDecision, DecisionAnswer, OperatorMessage } from '../operators/messages.ts';

export interface HoldInput extends FlowScope {
  holdId: string;
  /** The run before this one has requested attention, if the flow has continued as new. */
  isShown?: boolean;
}

/** The state of a hold in the database. */
export interface HoldSnapshot {
  status: 'held' | 'released' | 'cancelled';
  amountHeld: Kobo;
  /** ISO 8601; null: only a request or an operator releases it. */
  releaseAt: string | null;
  /** How long it is until it is tried, by the clock of the database; null: it is not released by time. */
  waitMs: number | null;
  /** The code with which the wallet has refused it when it was due. */
  refusal: string | null;
}

/** `cancel`: back to the wallet that paid. Each is of all that is held. */
export type HoldAction = 'release' | 'cancel';

export type HoldDecision = Omit<OperatorMessage<HoldAction>, 'evidence'>;

export const decide = defineUpdate<DecisionAnswer, [HoldDecision]>('decide');

/** A request has released a part or all of it, or has cancelled it. */
export const holdChanged = defineSignal('holdChanged');

export interface HoldActivities {
  /** Releases a hold that is due; returns its state. */
  releaseDueHold: (input: HoldInput) => Promise<HoldSnapshot>;
  /** Releases or cancels it, with the audit entry; or returns why that is refused. */
  applyHoldDecision: (input: HoldInput, decision: HoldDecision) => Promise<AppliedDecision>;
}
