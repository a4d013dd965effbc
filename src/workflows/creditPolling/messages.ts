// The messages of the credit polling flow.

/** A period to ask for; ISO 8601. */
export interface CreditPeriod {
  from: string;
  to: string;
}

export interface CreditsPolled {
  books: number;
  /** Books whose bank failed; the next run looks further back for them. */
  failed: number;
  /** Credits that no callback had told. */
  recovered: number;
}

export interface CreditPollingActivities {
  /**
   * Asks the rail of every book for the credits that it received in a period, or, without one, since it was last asked,
   * and takes in those that no callback told.
   */
  pollCredits: (period: CreditPeriod | null) => Promise<CreditsPolled>;
}
