// The result of a scan for failing flows, and its activity.

export interface FailingFlowsResult {
  /** Open flows that were described; the others wait by design. */
  described: number;
  failing: number;
}

export interface FailingFlowsActivities {
  scanForFailingFlows: () => Promise<FailingFlowsResult>;
}
