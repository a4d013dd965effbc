// The messages of the reconciliation flow.

/** A period to compare; ISO 8601. */
export interface ReconciliationInput {
  from: string;
  to: string;
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

export interface ReconciliationActivities {
  /**
   * Compares every book that has a rail: the given period, or, without one, each from where it is reconciled to until
   * now. A retry after a lost response stores one more report, which is harmless.
   */
  reconcileBooks: (input: ReconciliationInput | null) => Promise<Reconciled>;
}
