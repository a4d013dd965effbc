// How a payout runs the flows of its items: as children with the same search attributes that are never ended together
// with it, and a limited number at a time.
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
import { WINDOW, WINDOW_TURN_MS } from './decide.ts';
import type { OpenItem } from './messages.ts';

const INHERITED = [ORGANISATION_ID, ENVIRONMENT, WALLET_ID].map(({ name }) => name);

/** Ending a payout's flow does not end the transfers in progress: each continues to its own end. */
export function childOptions(child: { id: string; summary: string; amount: Kobo }) {
  return {
    workflowId: child.id,
    parentClosePolicy: ParentClosePolicy.ABANDON,
    cancellationType: ChildWorkflowCancellationType.ABANDON,
    staticSummary: child.summary,
    typedSearchAttributes: [
      ...workflowInfo()
        .typedSearchAttributes.getAll()
        .filter(({ key: { name } }) => INHERITED.includes(name)),
      { key: FLOW_STATE, value: 'pending' },
      { key: AMOUNT_KOBO, value: child.amount },
    ],
  };
}

/** The result of a child, or why there is none: it ended without one, or runs already without this parent. */
export async function resultOf<Result>(child: Promise<Result>): Promise<Result | 'none' | 'elsewhere'> {
  try {
    return await child;
  } catch (error) {
    if (error instanceof WorkflowExecutionAlreadyStartedError) return 'elsewhere';
    if (!(error instanceof ChildWorkflowFailure)) throw error;
    log.warn('a child workflow ended without a result', { reason: String(error.cause ?? error) });
    return 'none';
  }
}

/**
 * Runs the items in order, in a sliding window, until all have ended. `run` must not throw, and goes on when the flow
 * is cancelled. While items are left to be started and the history has become long, it calls `handOver` with those that
 * are running. It does not return, hand over or throw before each child has started: the server drops the start of a
 * child whose parent has ended, and may leave a child that never gets its first task.
 */
export async function runWithWindow(
  items: readonly OpenItem[],
  run: (item: OpenItem, onStarted: () => void) => Promise<void>,
  handOver: (running: string[]) => Promise<void>,
): Promise<void> {
  const running = new Set<string>();
  const starting = new Set<string>();
  const window = new Set<string>();
  let hasMore = items.length > WINDOW;
  const turn = async (): Promise<void> => {
    while (hasMore) {
      await sleep(WINDOW_TURN_MS, { summary: 'lets more items run' });
      window.clear();
    }
  };
  turn().catch((error: unknown) => {
    if (!isCancellation(error)) throw error;
  });
  const all: Promise<void>[] = [];
  const runAll = async (): Promise<void> => {
    for (const item of items) {
      const { itemId } = item;
      await condition(() => window.size < WINDOW);
      if (running.size > 0 && workflowInfo().continueAsNewSuggested) {
        await condition(() => starting.size === 0);
        await handOver([...running]);
      }
      for (const set of [window, starting, running]) set.add(itemId);
      all.push(
        run(item, () => starting.delete(itemId)).finally(() => {
          for (const set of [window, starting, running]) set.delete(itemId);
        }),
      );
    }
    hasMore = false;
    await Promise.race([Promise.all(all), CancellationScope.current().cancelRequested]);
  };
  try {
    await runAll();
  } finally {
    await CancellationScope.nonCancellable(() => condition(() => starting.size === 0));
  }
}
