// The messages of the flow that signals the waiting flows when their rail is resumed, or that its balance has changed.
import type { InstallationScope } from '../flows.ts';

/** With an organisation: the balance of its contract has changed. Without: operators have resumed the rail. */
export type RailResumeInput = InstallationScope;

export interface RailResumeResult {
  /** Number of flows that were signalled. */
  flows: number;
}

export interface RailResumeActivities {
  /** Sends `railResumed` to every flow that waits for the rail of this environment, or of this organisation. */
  signalPausedFlows: (input: RailResumeInput) => Promise<RailResumeResult>;
}
