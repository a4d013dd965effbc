// The result of a sweep, and its activity.

export interface SweepResult {
  scanned: number;
  restartedCount: number;
  /** Workflow ids of the first of them; the log has all. */
  restarted: string[];
}

export interface SweepActivities {
  restartMissingFlows: () => Promise<SweepResult>;
}
