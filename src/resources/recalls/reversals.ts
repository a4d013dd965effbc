// Money that a rail says it took back, where we know no such credit: a break of reconciliation with its case, before
// any statement has it. A repeat finds it stored, and conflicts.
import type { Movement } from '../../ledger/movement.ts';
import type { Book } from '../../money.ts';
import type { UnmatchedReversal } from '../../rail/port.ts';
import { openReviewCase, withCaseFlows } from '../reviewCases/movements.ts';

export function openReversalCase(book: Book, rail: string, { reference, amount, at }: UnmatchedReversal): Movement {
  const opened = openReviewCase({ reason: 'reconciliation_break', amount: amount ?? 0 });
  const { id, version, createdAt } = opened;
  const line = { kind: 'unmatched_statement', line: 'other_out', reference, at: at ?? createdAt, occurrence: 1 };
  const amounts = { ledgerAmount: null, statementAmount: amount };
  const found = { id, version, rail, ...line, ...amounts, sealedRow: null, clearedAt: null, createdAt };
  return withCaseFlows({ book, rows: { review_cases: [opened], reconciliation_breaks: [found] } });
}
