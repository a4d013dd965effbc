// Workflows with nothing to them, as yardsticks for the service's flows.
import { condition, defineSignal, executeChild, proxyActivities, setHandler } from '@temporalio/workflow';

export interface BaselineActivities {
  /** Does nothing. `id` tells whoever waits that it was done. */
  nothing: (id: string) => Promise<void>;
}

const { nothing } = proxyActivities<BaselineActivities>({ startToCloseTimeout: '15 seconds' });

export const go = defineSignal('go');

/** One signal, one activity: what a settled payment cannot do without. */
export async function baselineSignalled(id: string): Promise<void> {
  let gone = false;
  setHandler(go, () => {
    gone = true;
  });
  await condition(() => gone);
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

/** So many activities, one after the other. */
export async function baselineChild(activities: number): Promise<void> {
  for (let done = 0; done < activities; done += 1) await nothing('');
}
