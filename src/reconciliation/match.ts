// Reconciliation as a pure function: the rail's statement line by line against what our books say went through it. It
// finds breaks and repairs none.
import type { Kobo } from '../money.ts';

/** `credit`: money came in. `sent`: a transfer left. `returned`: it came back. */
export type LineKind = 'credit' | 'sent' | 'returned';

/** One movement through the rail, told by either side. */
export interface Line {
  kind: LineKind;
  /** What both sides know it by: the session id of a credit, the reference of a transfer. */
  reference: string;
  amount: Kobo;
  at: Date;
}

/**
 * `missing`: ledger, and not on the statement. `extra`: on the statement, and we know of no such thing. `status`: on the
 * statement, and our resource stands otherwise. `amount`: both, by different amounts. `duplicate`: once more than it may be.
 */
export type BreakKind = 'unmatched_ledger' | 'unmatched_statement' | 'amount' | 'duplicate' | 'status';

export interface Break {
  kind: BreakKind;
  line: LineKind;
  reference: string;
  /** What each side says, in kobo; null where it says nothing. */
  ledgerAmount: Kobo | null;
  statementAmount: Kobo | null;
  at: Date;
}

/** `known`: whether a reference belongs to a resource of ledger, posted or not. */
export function matchStatement(
  statement: readonly Line[],
  ledger: readonly Line[],
  known: (kind: LineKind, reference: string) => boolean,
): Break[] {
  const posted = Map.groupBy(ledger, matchKey);
  const stated = Map.groupBy(statement, matchKey);
  const breaks: Break[] = [];
  for (const [key, lines] of stated) {
    const mine = posted.get(key) ?? [];
    const [first] = lines as [Line];
    if (mine.length === 0) {
      if (!wasReturnedBeforePosting(first, posted, stated)) {
        breaks.push(
          breakOf(known(first.kind, first.reference) ? 'status' : 'unmatched_statement', first, null, first.amount),
        );
      }
    } else if (mine[0]?.amount !== first.amount) {
      breaks.push(breakOf('amount', first, mine[0]?.amount ?? null, first.amount));
    }
    for (const again of lines.slice(1)) breaks.push(breakOf('duplicate', again, null, again.amount));
  }
  for (const [key, lines] of posted) {
    const [first] = lines as [Line];
    if (!stated.has(key)) breaks.push(breakOf('unmatched_ledger', first, first.amount, null));
    for (const again of lines.slice(1)) breaks.push(breakOf('duplicate', again, again.amount, null));
  }
  return breaks;
}

const matchKey = ({ kind, reference }: Pick<Line, 'kind' | 'reference'>): string => `${kind} ${reference}`;

/** A transfer that left and came back before we heard that it had left: neither was posted through the rail's account. */
function wasReturnedBeforePosting(
  { kind, reference, amount }: Line,
  posted: ReadonlyMap<string, Line[]>,
  stated: ReadonlyMap<string, Line[]>,
): boolean {
  if (kind === 'credit') return false;
  const other = matchKey({ kind: kind === 'sent' ? 'returned' : 'sent', reference });
  return !posted.has(other) && stated.get(other)?.[0]?.amount === amount;
}

function breakOf(kind: BreakKind, line: Line, ledgerAmount: Kobo | null, statementAmount: Kobo | null): Break {
  return { kind, line: line.kind, reference: line.reference, ledgerAmount, statementAmount, at: line.at };
}
