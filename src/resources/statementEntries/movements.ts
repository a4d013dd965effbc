// Statement entries: what a rail did with our money by itself, posted from its statement.
import { newUuid, publicId, type Uuid } from '../../ids.ts';
import {
  type AccountCode,
  clearingAccount,
  INTEREST_INCOME,
  RAIL_EXPENSE,
  settlementAccount,
} from '../../ledger/chart.ts';
import type { Movement } from '../../ledger/movement.ts';
import type { Posting } from '../../ledger/postings.ts';
import type { Book, Kobo } from '../../money.ts';
import { newTransaction } from '../movement.ts';
import { chargedAccount, payoutAccount } from '../rails/accounts.ts';

/** A line of a statement that is the rail's own doing. */
export interface StatementEntry {
  id: Uuid;
  rail: string;
  /**
   * `charge`: the rail took a fee. `charge_returned`: it gave one back. `settlement`: it paid our money out to us.
   * `settled`: it moved collected money to the balance that it pays from. `interest`: it paid interest. `funding`: the
   * organisation paid money in. `check`: a transfer of `rail check`, to an account of the operator's choice.
   */
  kind: 'charge' | 'charge_returned' | 'settlement' | 'settled' | 'interest' | 'funding' | 'check';
  /** The rail's own id of the line; of a charge for another line, that line's name (`chargeReference`). */
  reference: string;
  amount: Kobo;
  at: Date;
  /**
   * What a charge is booked to, if not to the expenses, and interest, if not to income; where a funding is from, if not
   * from settlement:<rail>.
   */
  account: AccountCode | null;
  createdAt: Date;
}

/** The business key of an entry: a repeated or overlapping statement posts it once. */
export const statementEntryKey = ({
  rail,
  kind,
  reference,
}: Pick<StatementEntry, 'rail' | 'kind' | 'reference'>): string => `${kind}/${rail}/${reference}`;

/** What an entry posts: a charge, a check and a settlement leave the rail, interest and funding come in. */
function entryPosting({ rail, kind, reference, amount, account }: StatementEntry): Posting {
  const clearing = clearingAccount(rail);
  switch (kind) {
    case 'check':
      return { debit: RAIL_EXPENSE, credit: payoutAccount(rail), amount };
    case 'charge':
      return { debit: account ?? RAIL_EXPENSE, credit: chargedAccount({ rail, reference }), amount };
    case 'charge_returned':
      return { debit: chargedAccount({ rail, reference }), credit: account ?? RAIL_EXPENSE, amount };
    case 'settled':
      return { debit: payoutAccount(rail), credit: clearing, amount };
    case 'settlement':
      return { debit: settlementAccount(rail), credit: clearing, amount };
    case 'interest':
      return { debit: payoutAccount(rail), credit: account ?? INTEREST_INCOME, amount };
    case 'funding':
      return { debit: payoutAccount(rail), credit: account ?? settlementAccount(rail), amount };
  }
}

type NewEntry = Omit<StatementEntry, 'id' | 'createdAt' | 'account'> & Partial<Pick<StatementEntry, 'account'>>;

/** Posts an entry and stores its row. */
export function postEntry(book: Book, line: NewEntry): Movement {
  const entry: StatementEntry = { account: null, ...line, id: newUuid(), createdAt: new Date() };
  return {
    book,
    transaction: newTransaction(
      publicId('statementEntry', entry.id),
      'entry',
      `rail_${entry.kind}`,
      [entryPosting(entry)],
      { key: statementEntryKey(entry), effectiveAt: entry.at },
    ),
    rows: { statement_entries: [entry] },
  };
}
