// The result of housekeeping, and its activity.

/** How many rows were deleted. */
export interface DeletedRows {
  idempotencyKeys: number;
  webhookAttempts: number;
}

export interface HousekeepingActivities {
  deleteExpiredRows: () => Promise<DeletedRows>;
}
