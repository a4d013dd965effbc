// Reconciliation as a pure function: matches the rail's statement line by line with what the ledger posted through the
// rail. It finds breaks and repairs none.
import type { Kobo } from '../money.ts';

/** `credit`: money came in. `sent`: a transfer was paid out. `returned`: it came back. */
export type LineKind = 'credit' | 'sent' | 'returned';

/** One movement through the rail, as either side recorded it. */
export interface Line {
  kind: LineKind;
  /** The identifier on both sides: the session id of a credit, the reference of a transfer. */
  reference: string;
  amount: Kobo;
  at: Date;
}

/**
 * `unmatched_ledger`: in the ledger, not on the statement. `unmatched_statement`: on the statement, and no resource of
 * ours has the reference. `status`: on the statement, and our resource exists without such a posting. `amount`: on
 * both, with different amounts. `duplicate`: more than once on one side.
 */
export type BreakKind = 'unmatched_ledger' | 'unmatched_statement' | 'amount' | 'duplicate' | 'status';

export interface Break {
  kind: BreakKind;
  line: LineKind;
  reference: string;
  /** The amount on each side, in kobo; null where the side has no such line. */
  ledgerAmount: Kobo | null;
  statementAmount: Kobo | null;
  at: Date;
}

/** `known`: whether a reference belongs to a resource of ours, posted or not. */
export function matchStatement(
  statement: readonly Line[],
  ledger: readonly Line[],
  known: (kind: LineKind, reference: string) => boolean,
): Break[] {
  const posted = Map.groupBy(ledger, matchKey);
  const stated = Map.groupBy(statement, matchKey);
  const breaks: Break[] = [];
  for (const [key, lines] of stated) {
    const ours = posted.get(key) ?? [];
    const [first] = lines as [Line];
    if (ours.length === 0) {
      if (!wasReturnedBeforePosting(first, posted, stated)) {
        breaks.push(
          breakOf(known(first.kind, first.reference) ? 'status' : 'unmatched_statement', first, null, first.amount),
        );
      }
    } else if (ours[0]?.amount !== first.amount) {
      breaks.push(breakOf('amount', first, ours[0]?.amount ?? null, first.amount));
    }
    for (const extra of lines.slice(1)) breaks.push(breakOf('duplicate', extra, null, extra.amount));
  }
  for (const [key, lines] of posted) {
    const [first] = lines as [Line];
    if (!stated.has(key)) breaks.push(breakOf('unmatched_ledger', first, first.amount, null));
    for (const extra of lines.slice(1)) breaks.push(breakOf('duplicate', extra, extra.amount, null));
  }
  return breaks;
}

const matchKey = ({ kind, reference }: Pick<Line, 'kind' | 'reference'>): string => `${kind} ${reference}`;

/** A transfer returned before its completion was posted: neither line was posted through the rail's account. */
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
