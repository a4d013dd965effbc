// The messages of the flow that tells the waiting flows that their rail is resumed.
import type { InstallationScope } from '../flows.ts';

export type RailResumeInput = InstallationScope;

export interface RailResumeResult {
  /** Number of flows that were signalled. */
  flows: number;
}

export interface RailResumeActivities {
  /** Sends `railResumed` to every flow that waits for the rail of this environment. */
  signalPausedFlows: (input: RailResumeInput) => Promise<RailResumeResult>;
}
