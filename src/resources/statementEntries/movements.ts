// Statement entries: what a rail did with our money by itself, posted as its statement tells it.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import { clearingAccount, INTEREST_INCOME, RAIL_EXPENSE, settlementAccount } from '../../ledger/chart.ts';
import type { Movement } from '../../ledger/movement.ts';
import type { Posting } from '../../ledger/postings.ts';
import type { Book, Kobo } from '../../money.ts';

/** A line of a statement that is the rail's own doing. */
export interface StatementEntry {
  id: Uuid;
  rail: string;
  /** `charge`: the rail took a fee. `settlement`: it paid our money out to us. `interest`: it paid interest. */
  kind: 'charge' | 'settlement' | 'interest';
  /** The rail's own id of the line. */
  reference: string;
  amount: Kobo;
  at: Date;
  createdAt: Date;
}

/** The business key of an entry: a repeated or overlapping statement posts it once. */
export const statementEntryKey = ({
  rail,
  kind,
  reference,
}: Pick<StatementEntry, 'rail' | 'kind' | 'reference'>): string => `${kind}/${rail}/${reference}`;

/** What an entry posts: a charge and a settlement leave the rail, interest comes in. */
function entryPosting({ rail, kind, amount }: Pick<StatementEntry, 'rail' | 'kind' | 'amount'>): Posting {
  const clearing = clearingAccount(rail);
  switch (kind) {
    case 'charge':
      return { debit: RAIL_EXPENSE, credit: clearing, amount };
    case 'settlement':
      return { debit: settlementAccount(rail), credit: clearing, amount };
    case 'interest':
      return { debit: clearing, credit: INTEREST_INCOME, amount };
  }
}

/** Posts an entry and stores its row. */
export function postEntry(book: Book, line: Omit<StatementEntry, 'id' | 'createdAt'>): Movement {
  const entry: StatementEntry = { ...line, id: newUuid(), createdAt: new Date() };
  return {
    book,
    transaction: {
      id: newUuid(),
      key: statementEntryKey(entry),
      kind: `rail_${entry.kind}`,
      resource: publicId('statementEntry', entry.id),
      effectiveAt: entry.at,
      rules: 'enforced',
      postings: [entryPosting(entry)],
    },
    rows: { statement_entries: [entry] },
  };
}
