// What a parked flow is told by operations: the update `resolve` for one flow, and the signal `retry` for many by query.
// Both take one object, because that is what the Temporal UI sends.
import { defineSignal, defineUpdate } from '@temporalio/workflow';

/** Why a flow waits for a person; the value of the search attribute `Attention`. */
export type AttentionCause =
  /** The rail has not answered for longer than the limit. */
  | 'rail_unreachable'
  /** The rail answers, but has had no word on the outcome for longer than the limit. */
  | 'outcome_unknown'
  /** The rail takes back what was posted on its own earlier word. */
  | 'rail_contradiction';

/**
 * `retry`: go on as before. `complete`, `fail`: decide the outcome against, or without, the rail's word; a second person
 * must ask for the same. `keep`: leave the books as they are.
 */
export type ResolveAction = 'retry' | 'complete' | 'fail' | 'keep';

export interface Resolution {
  action: ResolveAction;
  /** Why, for the audit trail. */
  reason: string;
  /** Who decides. */
  operator: string;
  /** What it rests on, for example the bank's ticket. */
  evidence?: string;
}

/** `accepted`: it is being done. `proposed`: it is done when a second operator asks for the same. */
export interface ResolveAnswer {
  outcome: 'accepted' | 'proposed';
  message: string;
}

export interface RetryRequest {
  reason: string;
  operator: string;
}

export const resolve = defineUpdate<ResolveAnswer, [Resolution]>('resolve');
export const retry = defineSignal<[RetryRequest]>('retry');
