// The end of a file of end-to-end tests: what its workflows did can be replayed, and the books hold.
import type { TestFlows } from './flows.ts';
import { replayEverything } from './histories.ts';
import { violationsOf } from './violations.ts';

/** Replays every workflow that these tests have run and closes the flows. Returns the violations in the books. */
export async function endFlows(flows: TestFlows) {
  await replayEverything(flows);
  const findings = await violationsOf(flows.sql);
  await flows.close();
  return findings;
}
