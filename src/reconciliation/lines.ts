// The lines of a statement, and the business keys under which the ledger posts them: by its key a line is found
// whenever it was posted, and by its key a posting names its line.
import type { AccountCode } from '../ledger/chart.ts';
import type { Book, Kobo } from '../money.ts';
import { creditKey, recallKey } from '../resources/inboundCredits/movements.ts';
import { type StatementEntry, statementEntryKey } from '../resources/statementEntries/movements.ts';

/**
 * `credit`: money came in. `recalled`: the bank took it back. `sent`: a transfer was paid out. `returned`: it came
 * back. `charge`, `charge_returned`, `settlement`, `settled`, `interest`, `funding`, `check`: posted from its
 * statement. `other_in`, `other_out`: what none of these fits, which is a break.
 */
export type LineKind = 'credit' | 'recalled' | 'sent' | 'returned' | StatementEntry['kind'] | 'other_in' | 'other_out';

/** One movement through the rail, as either side recorded it. */
export interface BankLine {
  kind: LineKind;
  /** The identifier on both sides: the session id of a credit, the reference of a transfer, the rail's own id. */
  reference: string;
  amount: Kobo;
  at: Date;
  /** The account of a charge that is not an expense, such as a tax. */
  account?: AccountCode | null;
}

/** A row of a statement that could not be read. */
export interface UnreadRow {
  /** The same in each run. */
  reference: string;
  at: Date;
  /** Its text. */
  raw: string;
}

/** A book and the rail that it is compared with. */
export interface BookAtRail {
  book: Book;
  rail: string;
}

/** A period: `from` inclusive, `to` exclusive. */
export interface StatementPeriod {
  from: Date;
  to: Date;
}

/** Both sides have committed what they date before this. Longer than any statement and any difference of clocks. */
export const COMMITTED_AFTER_MS = 60_000;

/** A kind and a reference: what identifies a line on either side. */
export type LineName = Pick<BankLine, 'kind' | 'reference'>;

const NOT_OWN: ReadonlySet<LineKind> = new Set(['credit', 'recalled', 'sent', 'returned', 'other_in', 'other_out']);

/** Whether a line is posted from the statement: no resource of ours has it. */
export const isOwnLine = (line: BankLine): line is BankLine & Pick<StatementEntry, 'kind'> => !NOT_OWN.has(line.kind);

export const nameOf = ({ kind, reference }: LineName): string => `${kind} ${reference}`;

/** The other line of a transfer that was sent and came back; null for a line of another kind. */
export const counterpartOf = ({ kind, reference }: LineName): LineName | null =>
  kind === 'sent' || kind === 'returned' ? { kind: kind === 'sent' ? 'returned' : 'sent', reference } : null;

const INCOMING: ReadonlySet<LineKind> = new Set([
  'credit',
  'returned',
  'charge_returned',
  'interest',
  'funding',
  'other_in',
]);

/** What a line adds to the money at the rail. */
export function signedAmount({ kind, amount }: Pick<BankLine, 'kind' | 'amount'>): Kobo {
  if (kind === 'settled') return 0; // from one balance at the rail to the other
  return INCOMING.has(kind) ? amount : -amount;
}

/**
 * The business keys that a line may be posted under. `caseVersion`: the version of the review case that the reference
 * of a return belongs to; each step of a case has the version that it changed in its key.
 */
export function keysOfLine(rail: string, { kind, reference }: LineName, caseVersion: number | undefined): string[] {
  const ofCase = (step: string): string[] =>
    Array.from({ length: caseVersion ?? 0 }, (_, index) => `${reference}/${step}/${index + 1}`);
  switch (kind) {
    case 'credit':
      return [creditKey({ rail, sessionId: reference })];
    case 'recalled':
      return [recallKey({ rail, sessionId: reference })];
    case 'sent':
      return caseVersion === undefined ? [`${reference}/completion`, `${reference}/clawback`] : ofCase('completion');
    case 'returned':
      return caseVersion === undefined ? [`${reference}/return`, `${reference}/clawback_return`] : ofCase('return');
    case 'other_in':
    case 'other_out':
      return [];
    default:
      return [statementEntryKey({ rail, kind, reference })];
  }
}

/** The line of a business key; null if no statement has a line for it, as for an adjustment. */
export function lineOfKey(rail: string, key: string): LineName | null {
  const [, kind, ofRail, ownReference] =
    /^(credit|recall|charge|charge_returned|settlement|settled|interest|funding|check)\/([^/]+)\/(.+)$/.exec(key) ?? [];
  if (ownReference !== undefined) {
    if (ofRail !== rail) return null;
    return { kind: kind === 'recall' ? 'recalled' : (kind as LineKind), reference: ownReference };
  }
  const [, reference, step = ''] = /^([^/]+)\/(completion|clawback|return|clawback_return)(?:\/\d+)?$/.exec(key) ?? [];
  return reference === undefined ? null : { kind: step.endsWith('return') ? 'returned' : 'sent', reference };
}
