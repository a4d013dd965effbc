// What a parked flow is told by operations: the update `resolve` for one flow, and the signal `retry` for many by query.
// Both take one object, because that is what the Temporal UI sends.
import { defineSignal, defineUpdate } from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';

/** Why a flow waits for a person; the value of the search attribute `Attention`. */
export type AttentionCause =
  /** The rail has not answered for longer than the limit. */
  | 'rail_unreachable'
  /** The rail answers, but has had no word on the outcome for longer than the limit. */
  | 'outcome_unknown'
  /** The rail takes back what was posted on its own earlier word. */
  | 'rail_contradiction'
  /** Operations have paused the rail. It is shown like a parked flow, but goes on by itself once the rail is resumed. */
  | 'rail_paused'
  /** The rail has not confirmed a credit that it reported, for longer than the limit. */
  | 'credit_unconfirmed'
  /** The ledger refused a posting that it has no reason to refuse. */
  | 'posting_refused'
  /** An endpoint has not taken its event in all attempts of the schedule. */
  | 'webhook_retries_exhausted';

/**
 * `retry`: go on as before. `complete`, `fail`: decide the outcome against, or without, the rail's word; a second person
 * must ask for the same. `dismiss`: leave things as they are. `set_aside`: take a credit out of the flow without posting it.
 */
export type ResolveAction = 'retry' | 'complete' | 'fail' | 'dismiss' | 'set_aside';

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

/** Type of the failure by which a step says that the ledger refused; its detail is a `PostingRefusal`. */
export const POSTING_REFUSED = 'POSTING_REFUSED';

/** What the ledger refused. Codes, account codes and amounts only: it goes into histories. */
export interface PostingRefusal {
  /** The ledger's code, the constraint that was broken, `DUPLICATE` or `DUPLICATE_DIFFERS`. */
  code: string;
  /** The account that refused, where it was one. */
  account: string | null;
  /** Business key of the transaction; null where only rows were to change. */
  transaction: string | null;
  /** What was to move, in kobo; it stands where it stood, on the debited accounts. */
  postings: readonly { debit: string; credit: string; amount: Kobo }[];
}

export const resolve = defineUpdate<ResolveAnswer, [Resolution]>('resolve');
export const retry = defineSignal<[RetryRequest]>('retry');
