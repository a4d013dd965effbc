// The result of housekeeping, and the activity that it calls.

/** How many rows were forgotten. */
export interface Forgotten {
  idempotencyKeys: number;
  webhookAttempts: number;
}

export interface HousekeepingActivities {
  forgetOldRows: () => Promise<Forgotten>;
}
