// The messages that operators send to parked flows: the update `resolve` to one flow, and the signal `retry` to many,
// selected by a query. Each takes one object, because that is what the Temporal UI sends.
import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';
import type { OperatorMessage } from '../operators/messages.ts';

/** Why a flow waits for an operator; the value of the search attribute `Attention`. */
export type AttentionCause =
  /** The rail has not responded for longer than the limit. */
  | 'rail_unreachable'
  /** The rail has not accepted the transfer for longer than the limit, for a reason that is not the transfer's. */
  | 'rail_not_ready'
  /** The rail responds, but has not reported a final status within the limit. */
  | 'outcome_unknown'
  /** The rail reports a status that contradicts what was posted on its earlier report. */
  | 'rail_contradiction'
  /** An operator has paused the rail. Shown like a parked flow, but continues by itself when it is resumed. */
  | 'rail_paused'
  /** The rail has not confirmed a credit that it reported, for longer than the limit. */
  | 'credit_unconfirmed'
  /** The ledger refused a posting that no rule expects it to refuse. */
  | 'posting_refused';

/**
 * `retry`: continue as before. `complete`, `fail`, `return`: set the outcome without, or against, the rail's report; a
 * second operator must send the same action. `dismiss`: leave things as they are. `set_aside`: take a credit out of the
 * flow without posting it.
 */
export type ResolveAction = 'retry' | 'complete' | 'fail' | 'return' | 'dismiss' | 'set_aside';

export type Resolution = OperatorMessage<ResolveAction>;

/** `accepted`: it takes effect now. `proposed`: it takes effect when a second operator sends the same action. */
export interface ResolveAnswer {
  outcome: 'accepted' | 'proposed';
  message: string;
}

export interface RetryRequest {
  reason: string;
  /** The operator's code for this workflow, or for the batch. */
  code: string;
  /** The job id of the batch operation that sends this to many flows. */
  batch?: string;
}

/** Type of the failure with which a step reports a refusal of the ledger; its detail is a `PostingRefusal`. */
export const POSTING_REFUSED = 'POSTING_REFUSED';

/** What the ledger refused. Codes, account codes and amounts only, because it is stored in workflow histories. */
export interface PostingRefusal {
  /** The ledger's code, the name of the violated constraint, `DUPLICATE` or `DUPLICATE_DIFFERS`. */
  code: string;
  /** The account that refused, if one did. */
  account: string | null;
  /** Business key of the transaction; null if only rows were to change. */
  transaction: string | null;
  /** The refused postings, in kobo. The money is still in the debited accounts. */
  postings: readonly { debit: string; credit: string; amount: Kobo }[];
}

export const resolve = defineUpdate<ResolveAnswer, [Resolution]>('resolve');
export const retry = defineSignal<[RetryRequest]>('retry');
