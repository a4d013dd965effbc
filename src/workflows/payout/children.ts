// How a payout and its pages run their child workflows: with the same search attributes, never ended together with the
// parent, and a limited number at a time.
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  ChildWorkflowFailure,
  condition,
  isCancellation,
  log,
  ParentClosePolicy,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import type { Kobo } from '../../money.ts';
import { AMOUNT_KOBO, ENVIRONMENT, FLOW_STATE, ORGANISATION_ID, WALLET_ID } from '../searchAttributes.ts';
import { WINDOW, WINDOW_GROWTH_MS } from './decide.ts';

/** Ending a payout's flow does not end the transfers in progress: each continues to its own end. */
export function childOptions(child: { id: string; summary: string; state: string }, amount?: Kobo) {
  const own = workflowInfo().typedSearchAttributes;
  const [organisationId, environment, walletId] = [ORGANISATION_ID, ENVIRONMENT, WALLET_ID].map((key) => own.get(key));
  return {
    workflowId: child.id,
    parentClosePolicy: ParentClosePolicy.ABANDON,
    cancellationType: ChildWorkflowCancellationType.ABANDON,
    staticSummary: child.summary,
    typedSearchAttributes: [
      { key: FLOW_STATE, value: child.state },
      ...(organisationId === undefined ? [] : [{ key: ORGANISATION_ID, value: organisationId }]),
      ...(environment === undefined ? [] : [{ key: ENVIRONMENT, value: environment }]),
      ...(walletId === undefined ? [] : [{ key: WALLET_ID, value: walletId }]),
      ...(amount === undefined ? [] : [{ key: AMOUNT_KOBO, value: amount }]),
    ],
  };
}

/**
 * Waits until a child has ended, with any outcome, or turns out to run already without this parent. What is left to do
 * is read from the database.
 */
export async function untilEnded(child: Promise<unknown>): Promise<void> {
  try {
    await child;
  } catch (error) {
    if (!(error instanceof ChildWorkflowFailure || error instanceof WorkflowExecutionAlreadyStartedError)) throw error;
    log.warn('a child workflow ended without a result', { reason: String(error.cause ?? error) });
  }
}

/** Runs the entries in order, in a sliding window that grows with time. `run` must not throw. */
export async function runWithWindow<Entry>(
  entries: readonly Entry[],
  run: (entry: Entry) => Promise<void>,
): Promise<void> {
  let limit = WINDOW;
  let running = 0;
  const growth = new CancellationScope();
  if (entries.length > WINDOW) {
    growth
      .run(async () => {
        for (;;) {
          await sleep(WINDOW_GROWTH_MS, { summary: 'lets more items run' });
          limit += WINDOW;
        }
      })
      .catch((error: unknown) => {
        if (!isCancellation(error)) throw error;
      });
  }
  const all: Promise<void>[] = [];
  for (const entry of entries) {
    await condition(() => running < limit);
    running += 1;
    all.push(
      run(entry).finally(() => {
        running -= 1;
      }),
    );
  }
  growth.cancel();
  await Promise.all(all);
}
