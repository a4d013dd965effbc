// Saved splits, for payments that are divided in the same way. A template never changes: a payment names the one whose
// splits it was made with.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import { keepOutcome } from '../ledger/keepOutcome.ts';
import type { IdempotencyOutcome } from '../ledger/movement.ts';
import type { Book } from '../money.ts';
import type { Split } from '../workflows/payment/splits.ts';
import { bookTable } from './bookTable.ts';

export interface SplitTemplate {
  id: Uuid;
  name: string;
  splits: readonly SavedSplit[];
  createdAt: Date;
}

/** `amount` or `basisPoints` is null. */
export type SavedSplit = Pick<Split, 'walletId' | 'basisPoints' | 'reference' | 'description' | 'hold'> & {
  amount: Split['amount'] | null;
  bearsFee: boolean | undefined;
};

export const { find: findSplitTemplate, list: listSplitTemplates } = bookTable<SplitTemplate>(
  'split_templates',
  (sql) => sql`id, name, splits, created_at`,
);

export async function insertSplitTemplate(
  sql: Sql,
  book: Book,
  { id, name, splits, createdAt }: SplitTemplate,
  outcome?: IdempotencyOutcome,
): Promise<void> {
  await sql`
    WITH inserted AS (
      INSERT INTO split_templates (organisation_id, environment, id, name, splits, created_at)
      SELECT ${book.organisationId}::uuid, ${book.environment}::text, ${id}::uuid, ${name}::text,
             ${JSON.stringify(splits)}::text::jsonb, ${createdAt}::timestamptz
      RETURNING id
    )${keepOutcome(sql, book, outcome, sql`inserted`)}
    SELECT FROM inserted`;
}
