// Reconciliation as pure functions: matches the rail's statement line by line with what the ledger posted through the
// rail, by reference and not by time, and compares the breaks with those of earlier runs. It repairs none.
import type { Kobo } from '../money.ts';
import {
  type BankLine,
  counterpartOf,
  isOwnLine,
  type LineKind,
  type LineName,
  nameOf,
  signedAmount,
} from './lines.ts';

/**
 * `unmatched_ledger`: in the ledger, and neither on the statement nor known to the rail. `unmatched_statement`: on the
 * statement, and no resource of ours has the reference. `status`: on the statement, and our resource has ended without
 * such a posting. `amount`: on both, with different amounts. `duplicate`: more than once on the statement.
 * `unreadable`: a row of the statement cannot be read. `balance`: the balance at the rail is not what the books expect.
 * `reversal`: the rail says, beside a statement, that it took back a credit which we do not know.
 */
export type BreakKind =
  | 'unmatched_ledger'
  | 'unmatched_statement'
  | 'amount'
  | 'duplicate'
  | 'status'
  | 'unreadable'
  | 'balance'
  | 'reversal';

export interface Break {
  kind: BreakKind;
  line: LineKind;
  reference: string;
  /** The amount on each side, in kobo; null where the side has no such line. */
  ledgerAmount: Kobo | null;
  statementAmount: Kobo | null;
  at: Date;
}

/**
 * Whether the resource of a reference may still post its line, has ended, or does not exist. `void`: a credit that was
 * recalled before it was posted, so that neither of its two lines is.
 */
export type ResourceState = 'in_progress' | 'ended' | 'void' | 'unknown';

export interface Sides {
  statement: readonly BankLine[];
  /** What was posted under the references of the statement, at any time. */
  postings: readonly BankLine[];
  /** What was posted in the period of the statement. */
  ledger: readonly BankLine[];
}

interface Answers {
  stateOf: (line: BankLine) => ResourceState;
  /** Whether the rail, asked by reference, knows a line that its statement lacks. */
  isKnownToRail: (line: LineName) => boolean;
  /** Whether what is expected to follow a line has been missing for too long. */
  isOverdue: (line: BankLine) => boolean;
  /** Whether the flow of a transfer, which was woken for the return on this line, may not have posted it yet. */
  isBeingReturned?: (line: BankLine) => boolean;
}

/** The lines that `others` lack, by kind and reference. */
export function linesMissingIn<One extends BankLine>(lines: readonly One[], others: readonly BankLine[]): One[] {
  const names = new Set(others.map(nameOf));
  return lines.filter((line) => !names.has(nameOf(line)));
}

interface Match {
  breaks: Break[];
  /** On the statement and not posted yet, because our resource is still in progress. */
  outstanding: BankLine[];
  /** What undoes transfers and credits that are not posted for it, dated as their lines: not stated yet. */
  returning: BankLine[];
}

export function matchStatement(sides: Sides, answers: Answers): Match {
  const stated = Map.groupBy(sides.statement, nameOf);
  const posted = new Map([...sides.ledger, ...sides.postings].map((line) => [nameOf(line), line]));
  const breaks: Break[] = [];
  const outstanding: BankLine[] = [];
  const returning: BankLine[] = [];
  for (const [name, lines] of stated) {
    const [first] = lines as [BankLine];
    const ours = posted.get(name);
    if (ours === undefined) {
      const state = stateOf(first, answers);
      const returned = state === 'ended' ? returnedBeforePosting(first, posted, stated, answers) : 'no';
      if (state === 'in_progress' || isReturning(first, posted, answers)) outstanding.push(first);
      else if (returned === 'not stated yet') returning.push({ ...first, kind: 'returned' });
      else if (state === 'void') returning.push(...recallToCome(first, stated, answers));
      else if (returned === 'no') {
        breaks.push(breakOf(state === 'ended' ? 'status' : 'unmatched_statement', first, null, first.amount));
      }
    } else if (ours.amount !== first.amount) {
      breaks.push(breakOf('amount', first, ours.amount, first.amount));
    }
    for (const extra of lines.slice(1)) breaks.push(breakOf('duplicate', extra, null, extra.amount));
  }
  for (const line of linesMissingIn(sides.ledger, sides.statement)) {
    // What was posted from a statement is on that one.
    if (!isOwnLine(line) && !wasUndone(line, posted, answers) && !answers.isKnownToRail(line))
      breaks.push(breakOf('unmatched_ledger', line, line.amount, null));
  }
  return { breaks, outstanding, returning };
}

/** A resource that is in progress for too long counts as ended. */
function stateOf(line: BankLine, answers: Answers): ResourceState {
  const state = answers.stateOf(line);
  return state === 'in_progress' && answers.isOverdue(line) ? 'ended' : state;
}

/**
 * Whether a transfer was returned before its completion was posted: neither line was posted through the rail's account.
 * The two lines may be on different statements. A return alone follows a sent line on an earlier one; a
 * sent line without a return came back if the rail says so, and the return is on a later statement, unless that is
 * overdue.
 */
function returnedBeforePosting(
  line: BankLine,
  posted: ReadonlyMap<string, BankLine>,
  stated: ReadonlyMap<string, BankLine[]>,
  { isKnownToRail, isOverdue }: Answers,
): 'no' | 'stated' | 'not stated yet' {
  const other = counterpartOf(line);
  if (other === null || posted.has(nameOf(other))) return 'no';
  const [beside] = stated.get(nameOf(other)) ?? [];
  if (beside !== undefined) return beside.amount === line.amount ? 'stated' : 'no';
  if (line.kind === 'returned') return 'stated';
  return !isOverdue(line) && isKnownToRail(other) ? 'not stated yet' : 'no';
}

/** The recall of a credit that is not posted for it: until a statement has it, the credit is in the balance. */
function recallToCome(line: BankLine, stated: ReadonlyMap<string, BankLine[]>, { isOverdue }: Answers): BankLine[] {
  const recall = { ...line, kind: 'recalled' } as const;
  return line.kind === 'credit' && !stated.has(nameOf(recall)) && !isOverdue(line) ? [recall] : [];
}

/** The return of a transfer that was posted as completed. */
function isReturning(line: BankLine, posted: ReadonlyMap<string, BankLine>, { isBeingReturned }: Answers): boolean {
  const sent = line.kind === 'returned' ? posted.get(nameOf({ ...line, kind: 'sent' })) : undefined;
  return sent?.amount === line.amount && isBeingReturned?.(line) === true;
}

/** A transfer that the rail first confirmed and then denied, and whose completion was returned: it has no line. */
function wasUndone(line: BankLine, posted: ReadonlyMap<string, BankLine>, { isKnownToRail }: Answers): boolean {
  const other = counterpartOf(line);
  if (other === null || posted.get(nameOf(other))?.amount !== line.amount) return false;
  return !isKnownToRail({ kind: 'sent', reference: line.reference });
}

/** The sum of lines in the balance at the rail. */
export const sumOf = (lines: readonly BankLine[]): Kobo => lines.reduce((sum, line) => sum + signedAmount(line), 0);

function breakOf(kind: BreakKind, line: BankLine, ledgerAmount: Kobo | null, statementAmount: Kobo | null): Break {
  return { kind, line: line.kind, reference: line.reference, ledgerAmount, statementAmount, at: line.at };
}

/** A break with a number that distinguishes it from otherwise equal breaks. */
export interface NumberedBreak extends Break {
  occurrence: number;
}

/** The fields of a stored break that the comparison reads. */
type Stored = Pick<NumberedBreak, 'kind' | 'line' | 'reference' | 'at' | 'occurrence'> & {
  clearedAt: Date | null;
  /** Of its case. */
  status: string;
};

/**
 * Which breaks are new, cleared or reopened. Runs overlap and may be repeated, so a break is identified by its line and
 * not by the run. `stored`: all stored breaks of the period of the run.
 */
export function compareBreaks<One extends Stored>(
  found: readonly Break[],
  stored: readonly One[],
): { opened: NumberedBreak[]; cleared: One[]; reopened: One[] } {
  const seen = numbered(found);
  const known = new Set(stored.map(keyOf));
  return {
    opened: [...seen].filter(([key]) => !known.has(key)).map(([, one]) => one),
    // With one that a run has cleared, and ended before it closed the case.
    cleared: stored.filter((one) => (one.clearedAt === null || one.status === 'open') && !seen.has(keyOf(one))),
    reopened: stored.filter((one) => one.clearedAt !== null && seen.has(keyOf(one))),
  };
}

/** Breaks by their keys, which are the same in each run that finds them. */
export function numbered(found: readonly Break[]): Map<string, NumberedBreak> {
  const seen = new Map<string, NumberedBreak>();
  const occurrences = new Map<string, number>();
  for (const one of found) {
    const line = lineOf(one);
    const occurrence = (occurrences.get(line) ?? 0) + 1;
    occurrences.set(line, occurrence);
    seen.set(`${line} ${occurrence}`, { ...one, occurrence });
  }
  return seen;
}

const lineOf = ({ kind, line, reference, at }: Pick<Break, 'kind' | 'line' | 'reference' | 'at'>): string =>
  `${kind} ${line} ${at.toISOString()} ${reference}`;

const keyOf = (one: Stored): string => `${lineOf(one)} ${one.occurrence}`;
