// The inputs, results and activities of the maintenance flows.

export interface SweepResult {
  scanned: number;
  restartedCount: number;
  /** Workflow ids of the first of them; the log has all. */
  restarted: string[];
}

export interface SweepActivities {
  restartMissingFlows: () => Promise<SweepResult>;
}

export interface FailingFlowsResult {
  /** Open flows that were described; the others wait by design. */
  described: number;
  failing: number;
}

export interface FailingFlowsActivities {
  scanForFailingFlows: () => Promise<FailingFlowsResult>;
}

/** How many rows were deleted. */
export interface DeletedRows {
  idempotencyKeys: number;
  webhookAttempts: number;
  requestLogs: number;
}

export interface RetentionResult extends DeletedRows {
  /** Accounting days of all books. */
  closedDays: number;
}

export interface RetentionActivities {
  deleteExpiredRows: () => Promise<DeletedRows>;
  closeAccountingDays: () => Promise<number>;
}

export interface SealingResult {
  /** New seals; a book without new postings gets none. */
  seals: number;
  /** Seals that were written outside of the database. */
  published: number;
}

export interface LedgerSealingActivities {
  sealLedger: () => Promise<SealingResult>;
}

/** What was verified. A verification with findings fails, and has no result. */
export interface VerificationResult {
  books: number;
  accounts: number;
  transactions: number;
  postings: number;
}

export interface LedgerVerificationActivities {
  verifyLedger: () => Promise<VerificationResult>;
}

/** A period to ask for; ISO 8601. */
export interface CreditPeriod {
  from: string;
  to: string;
}

export interface CreditsPolled {
  books: number;
  /** Books whose bank failed; the next run looks further back for them. */
  failed: number;
  /** Credits that no callback had reported. */
  recovered: number;
}

export interface CreditPollingActivities {
  /**
   * Asks the rail of every book for the credits that it received in a period, or, without one, since it was last asked,
   * and imports those that no callback reported.
   */
  pollCredits: (period: CreditPeriod | null) => Promise<CreditsPolled>;
}
