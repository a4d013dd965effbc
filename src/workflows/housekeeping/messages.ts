// The result of housekeeping, and the activity that it calls.

/** How many rows were forgotten. */
export interface DeletedRows {
  idempotencyKeys: number;
  webhookAttempts: number;
}

export interface HousekeepingActivities {
  deleteExpiredRows: () => Promise<DeletedRows>;
}
