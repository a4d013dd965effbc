// The messages of the credit polling flow.

export interface CreditsPolled {
  books: number;
  /** Books whose bank failed; the next run looks further back for them. */
  failed: number;
  /** Credits that no callback had told. */
  recovered: number;
}

export interface CreditPollingActivities {
  /** Asks the rail of every book for the credits that it received, and takes in those that no callback told. */
  pollCredits: () => Promise<CreditsPolled>;
}
