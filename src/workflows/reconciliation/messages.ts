// The messages of the reconciliation flow.

/** The period that is looked at; ISO 8601. */
export interface ReconciliationInput {
  from: string;
  to: string;
}

export interface Reconciled {
  books: number;
  lines: number;
  breaks: number;
  /** Breaks that no earlier run had found: each has a new review case. */
  opened: number;
}

export interface ReconciliationActivities {
  /** Every book that has a rail. A repeat after a lost answer keeps one more report, which misleads nobody. */
  reconcileBooks: (input: ReconciliationInput) => Promise<Reconciled>;
}
