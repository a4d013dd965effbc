// How the resources that others name by id are read, many with one statement, and who may read them.
import type { z } from 'zod';
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { findHolds } from '../resources/holds/queries.ts';
import type { Scope } from '../resources/keys.ts';
import { findPayments } from '../resources/payments/queries.ts';
import { findPayouts } from '../resources/payouts/queries.ts';
import * as schemas from '../resources/publicSchemas.ts';
import { findRefunds } from '../resources/refunds/queries.ts';
import { findVisibleCases } from '../resources/reviewCases/queries.ts';
import { findTransfers } from '../resources/transfers/queries.ts';
import { holdView, refundView, reviewCaseView, transferView, withdrawalView } from '../resources/views.ts';
import { findWallets } from '../resources/wallets/queries.ts';
import { findWithdrawals } from '../resources/withdrawals/queries.ts';
import type { Resource } from './requireRow.ts';
import type { Call } from './route.ts';
import { paymentView, payoutView, walletView } from './views.ts';

/** What reading needs of a request. */
export type Reading = Pick<Call, 'sql' | 'book' | 'dependencies' | 'caller'>;

/** `findAll`: those of these that the book has, in any order. `view`: as the schema `item` describes it. */
function readable<Row, Item extends { id: string }>(
  resource: Resource,
  access: Scope,
  item: z.ZodType<Item>,
  findAll: (sql: Sql, book: Book, ids: readonly Uuid[]) => Promise<readonly Row[]>,
  view: (row: Row, call: Reading) => Item,
) {
  return {
    resource,
    path: `/${resource.replace('_', '-')}s`,
    access,
    item,
    view,
    find: async (sql: Sql, book: Book, id: Uuid): Promise<Row | null> => (await findAll(sql, book, [id]))[0] ?? null,
    /** The resources with these ids, as their routes return them; without those that the book does not have. */
    read: async (call: Reading, ids: readonly Uuid[]): Promise<Item[]> =>
      (await findAll(call.sql, call.book, ids)).map((row) => view(row, call)),
  };
}

export const READABLE = {
  wallet: readable('wallet', 'wallet', schemas.wallet, findWallets, walletView),
  payment: readable('payment', 'payment', schemas.payment, findPayments, paymentView),
  transfer: readable('transfer', 'transfer', schemas.transfer, findTransfers, transferView),
  hold: readable('hold', 'transfer', schemas.hold, findHolds, holdView),
  withdrawal: readable('withdrawal', 'wallet', schemas.withdrawal, findWithdrawals, withdrawalView),
  refund: readable('refund', 'payment', schemas.refund, findRefunds, refundView),
  payout: readable('payout', 'payout', schemas.payout, findPayouts, payoutView),
  reviewCase: readable('review_case', 'review', schemas.reviewCase, findVisibleCases, reviewCaseView),
};

/** The resources that the book has of these, by their public ids, with one statement a kind. */
export async function readAll(call: Reading, wanted: readonly { kind: keyof typeof READABLE; id: Uuid }[]) {
  const ids = Map.groupBy(new Map(wanted.map((one) => [one.id, one])).values(), ({ kind }) => kind);
  const read = Array.from(ids, ([kind, ofKind]) =>
    READABLE[kind].read(
      call,
      ofKind.map(({ id }) => id),
    ),
  );
  return new Map((await Promise.all(read)).flat().map((resource) => [resource.id, resource]));
}
