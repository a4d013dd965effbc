// The result of housekeeping, and its activities.

/** How many rows were deleted. */
export interface DeletedRows {
  idempotencyKeys: number;
  webhookAttempts: number;
  requestLogs: number;
}

export interface Housekept extends DeletedRows {
  /** Accounting days of all books. */
  closedDays: number;
}

export interface HousekeepingActivities {
  deleteExpiredRows: () => Promise<DeletedRows>;
  closeAccountingDays: () => Promise<number>;
}
