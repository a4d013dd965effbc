// The result of a sweep, and the activity that it calls.

/** What a sweep came to. */
export interface SweepResult {
  scanned: number;
  restartedCount: number;
  /** The first of them, by workflow id; the log names all. */
  restarted: string[];
}

export interface SweepActivities {
  restartMissingFlows: () => Promise<SweepResult>;
}
