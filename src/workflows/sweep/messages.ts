// The result of a sweep, and the activity that it calls.

/** What a sweep came to. */
export interface Swept {
  looked: number;
  startedCount: number;
  /** The first of them, by workflow id; the log names all. */
  started: string[];
}

export interface SweepActivities {
  startMissingFlows: () => Promise<Swept>;
}
