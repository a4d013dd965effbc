// The result of sealing the ledger, and its activity.

export interface SealingResult {
  /** New seals; a book without new postings gets none. */
  seals: number;
  /** Seals that were written outside of the database. */
  published: number;
}

export interface LedgerSealingActivities {
  sealLedger: () => Promise<SealingResult>;
}
