// Minimal workflows: the baseline for the service's flows.
import { condition, defineSignal, executeChild, proxyActivities, setHandler, sleep } from '@temporalio/workflow';

export interface BaselineActivities {
  /** Does nothing but resolve the caller that waits for `id`. */
  nothing: (id: string) => Promise<void>;
}

const { nothing } = proxyActivities<BaselineActivities>({ startToCloseTimeout: '15 seconds' });

export const go = defineSignal('go');

/** One signal and one activity: the minimum for a settled payment. */
export async function baselineSignalled(id: string): Promise<void> {
  let isSignalled = false;
  setHandler(go, () => {
    isSignalled = true;
  });
  await condition(() => isSignalled);
  await nothing(id);
}

/** A parent that starts all its children and waits for them. */
export async function baselineParent(id: string, children: number, activities: number): Promise<void> {
  await Promise.all(
    Array.from({ length: children }, (_, child) =>
      executeChild(baselineChild, { workflowId: `${id}/${child}`, args: [activities] }),
    ),
  );
}

/** Runs this number of activities sequentially. */
export async function baselineChild(activities: number): Promise<void> {
  for (let done = 0; done < activities; done += 1) await nothing('');
}

/** A timer until this time, milliseconds since 1970, and nothing else. */
export async function baselineTimer(until: number): Promise<void> {
  await sleep(Math.max(1, until - Date.now()));
}
