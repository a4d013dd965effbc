// The messages of the reconciliation flow.

/** The period to compare; ISO 8601. */
export interface ReconciliationInput {
  from: string;
  to: string;
}

export interface Reconciled {
  books: number;
  lines: number;
  breaks: number;
  /** Breaks that no earlier run had found; a review case was opened for each. */
  opened: number;
}

export interface ReconciliationActivities {
  /** Compares every book that has a rail. A retry after a lost response stores one more report, which is harmless. */
  reconcileBooks: (input: ReconciliationInput) => Promise<Reconciled>;
}
