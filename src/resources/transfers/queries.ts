// Queries for transfers. `ledger.post` writes a transfer with its money; only what is attached to it changes later.
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import { entryNumber } from '../../ledger/entries.ts';
import type { Book, Kobo } from '../../money.ts';
import { bookTable, type FiltersOf } from '../bookTable.ts';
import { directionOf, filterClause, type PageRequest } from '../pages.ts';
import type { Attached } from '../references.ts';
import type { Wallet } from '../wallets/queries.ts';
import { entriesAround, literal } from '../wallets/statement.ts';

export interface Transfer extends Attached {
  id: Uuid;
  sourceWalletId: Uuid;
  destinationWalletId: Uuid;
  /** The money is beside the destination, until this hold is released. */
  holdId: Uuid | null;
  amount: Kobo;
  fee: Kobo;
  status: 'completed' | 'failed';
  description: string | null;
  createdAt: Date;
}

type Filter = 'reference' | 'sourceWalletId' | 'destinationWalletId';
export type TransferFilters = FiltersOf<Transfer, Filter>;

export const { findAll: findTransfers, list: listTransfers } = bookTable<Transfer, Filter>(
  'transfers',
  (sql) => sql`
    id, source_wallet_id, destination_wallet_id, hold_id, amount, fee, status, description, reference, metadata, created_at`,
);

/** A transfer with the number of its entry in the wallet's account, which orders the transfers of a wallet. */
export interface WalletTransfer extends Transfer {
  entry: number;
}

/**
 * A page of the transfers from or to a wallet, plus one row when another page exists. Read from its postings, because
 * another index would slow down transfers; and not by its id too, from which the planner expects few and reads all.
 */
export async function listWalletTransfers(
  sql: Sql,
  book: Book,
  { wallet, side }: { wallet: Pick<Wallet, 'accountId'>; side: 'debit' | 'credit' },
  filters: TransferFilters,
  page: PageRequest,
): Promise<WalletTransfer[]> {
  const { before, last } = await entriesAround(sql, book, wallet, filters);
  const account = sql(`p.${side}_account_id`);
  const [direction, isAfter] = directionOf(sql, page);
  return await sql<WalletTransfer[]>`
    SELECT t.id, t.source_wallet_id, t.destination_wallet_id, t.hold_id, t.amount, t.fee, t.status, t.description,
           t.reference, t.metadata, t.created_at, p.number AS entry
    FROM (SELECT *, ${entryNumber(sql, side)} AS number FROM ledger.postings) p
    JOIN transfers t ON t.organisation_id = p.organisation_id AND t.id = p.transaction_id
    WHERE p.organisation_id = ${book.organisationId} AND ${account} BETWEEN ${wallet.accountId} AND ${wallet.accountId}
      AND t.environment = ${book.environment}
      AND p.credit_balance_after IS NOT NULL -- not the posting of a fee, which goes to an account without a balance
      ${page.after ? sql`AND p.number ${isAfter} ${Number(page.after.id)}` : sql``}
      ${before ? sql`AND p.number > ${before.number}` : sql``} ${last ? sql`AND p.number <= ${last.number}` : sql``}
      ${filterClause(sql, book, { ...filters, [side === 'debit' ? 'sourceWalletId' : 'destinationWalletId']: undefined }, 't')}
    ORDER BY ${account} ${direction}, p.number ${direction} LIMIT ${literal(sql, page.limit + 1)}`;
}
