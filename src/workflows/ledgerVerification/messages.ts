// The result of a verification, and the activity that it calls.

/** What was verified. Where there are findings there is no such result. */
export interface VerificationResult {
  books: number;
  accounts: number;
  transactions: number;
  postings: number;
}

export interface LedgerVerificationActivities {
  verifyLedger: () => Promise<VerificationResult>;
}
