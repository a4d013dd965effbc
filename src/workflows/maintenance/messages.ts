// The inputs, results and activities of the maintenance flows.
import type { InstallationScope } from '../flows.ts';

export interface SweepResult {
  scanned: number;
  restartedCount: number;
  /** Workflow ids of the first of them; the log has all. */
  restarted: string[];
}

export interface FailingFlowsResult {
  /** Flows of which a task has failed, or may wait, that were described. */
  described: number;
  failing: number;
}

/** How many rows were deleted. */
export interface DeletedRows {
  idempotencyKeys: number;
  webhookAttempts: number;
  requestLogs: number;
  transferSends: number;
  /** With their deliveries. */
  events: number;
  sandboxBank: number;
}

export interface RetentionResult extends DeletedRows {
  /** Accounting days of all books. */
  closedDays: number;
}

export interface SealingResult {
  /** New seals; a book without new postings gets none. */
  seals: number;
  /** Seals that were written outside of the database. */
  published: number;
}

/** What was verified. A verification with findings fails, and has no result. */
export interface VerificationResult {
  books: number;
  accounts: number;
  transactions: number;
  postings: number;
}

/** A period to ask for or to compare; ISO 8601. */
export interface Period {
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

export interface Reconciled {
  books: number;
  /** Books whose bank failed. */
  failed: number;
  lines: number;
  breaks: number;
  /** Breaks that no earlier run had found; a review case was opened for each. */
  opened: number;
}

/** Days at banks. */
export interface DaysProved {
  proved: number;
  /** Two operators must prove them. */
  withBreaks: number;
  /** Without a statement that ends with the day. */
  withoutStatement: number;
}

export interface MaintenanceActivities {
  /** Ends the cases of repaid debts too. */
  restartMissingFlows: () => Promise<SweepResult>;
  scanForFailingFlows: () => Promise<FailingFlowsResult>;
  deleteExpiredRows: () => Promise<DeletedRows>;
  /** Returns the number of days. */
  closeAccountingDays: () => Promise<number>;
  sealLedger: () => Promise<SealingResult>;
  verifyLedger: () => Promise<VerificationResult>;
  /** Asks every rail for the credits of a period, or since the last time; imports those without a callback. */
  pollCredits: (period: Period | null) => Promise<CreditsPolled>;
  /** Every book with a rail: the period, or from where it is reconciled to until now. May run twice. */
  reconcileBooks: (period: Period | null) => Promise<Reconciled>;
  /** Proves the days of the last week that have a statement, no break and no proof. */
  proveDays: () => Promise<DaysProved>;
  /**
   * Sends `railResumed` to every flow that waits for the rail of this environment, because operators have resumed it;
   * or to those of an organisation, because the balance of its contract has changed. Returns their number.
   */
  signalPausedFlows: (input: InstallationScope) => Promise<{ flows: number }>;
}
