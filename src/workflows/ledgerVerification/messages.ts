// The result of a verification of the ledger, and its activity.

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
