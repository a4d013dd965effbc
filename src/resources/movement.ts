// What the movements of all resources are made of.
import { newUuid } from '../ids.ts';
import type { Movement, RowTable, Transaction } from '../ledger/movement.ts';
import type { Posting } from '../ledger/postings.ts';

/** The transaction of a step of a resource, which make its key. `more`: what differs from that of most steps. */
export const newTransaction = (
  resource: string,
  step: string,
  kind: string,
  postings: readonly Posting[],
  more: Partial<Transaction> = {},
): Transaction => ({
  key: `${resource}/${step}`,
  kind,
  resource,
  rules: 'enforced',
  ...more,
  // Not made where it is given: a transfer has both.
  id: more.id ?? newUuid(),
  effectiveAt: more.effectiveAt ?? new Date(),
  postings,
});

type Part = Pick<Movement, 'rows' | 'events' | 'outbox'>;

/** A movement with what is committed beside it: rows, events and messages after its own. */
export function together(one: Movement, { rows = {}, events = [], outbox = [] }: Part): Movement {
  const all = { ...one.rows };
  for (const [table, added] of Object.entries(rows) as [RowTable, readonly object[]][])
    all[table] = [...(all[table] ?? []), ...added];
  return { ...one, rows: all, events: [...(one.events ?? []), ...events], outbox: [...(one.outbox ?? []), ...outbox] };
}
