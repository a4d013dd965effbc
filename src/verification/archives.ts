// Checks what archives have left behind: the seals of the archived postings, the balances that the others begin from,
// and that as many transactions have no postings as were archived. The postings themselves are in files, which `ledger
// archives --folder` compares.
import type { Uuid } from '../ids.ts';
import { type Check, pagedCheck } from '../ledger/verify.ts';
import type { Environment } from '../money.ts';

interface BookRow {
  environment: Environment;
  /** The seal before the first one of an archive that does not follow the archive before; null: all follow. */
  gap: number | null;
  movedPostings: string;
  movedTransactions: string;
  /** Of the archived balances. */
  sum: string;
  entries: string;
  /** Whether they still have the digest of the last archive; null while postings are moved. */
  isIntact: boolean | null;
  /** Postings of the archived time that are in the table. */
  left: string;
}

export const archiveCheck: Check = {
  isLast: true,
  ...pagedCheck<Uuid>('archives', async (scope) => {
    const { sql, organisationId, books, add } = scope;
    if (Object.keys(books.archived).length === 0) return null;
    const rows = await sql<BookRow[]>`
      SELECT a.environment, a.gap, a.moved_postings::text, a.moved_transactions::text, b.sum::text, b.entries::text, l.left::text,
             (SELECT balances_digest = ledger.archived_balances_digest(${organisationId}, a.environment) FROM ledger.archives
              WHERE organisation_id = ${organisationId} AND environment = a.environment ORDER BY period DESC LIMIT 1) AS is_intact
      FROM (
        SELECT environment, sum(moved_postings) AS moved_postings, sum(moved_transactions) AS moved_transactions,
               max(archived_until) AS until, min(first_seal - 1) FILTER (WHERE first_seal <> seal_before + 1) AS gap
        FROM (
          SELECT *, lag(archived_seal, 1, 0) OVER (PARTITION BY environment ORDER BY period) AS seal_before FROM ledger.archives
          WHERE organisation_id = ${organisationId}
        ) x
        GROUP BY environment
      ) a
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(balance), 0) AS sum, coalesce(sum(entries), 0) AS entries FROM ledger.archived_balances
        WHERE organisation_id = ${organisationId} AND environment = a.environment
      ) b
      CROSS JOIN LATERAL (
        -- IS TRUE: as in seals.ts.
        SELECT count(*) AS left FROM ledger.postings p
        WHERE (p.organisation_id = ${organisationId}) IS TRUE AND (p.environment = a.environment) IS TRUE AND p.created_at <= a.until
      ) l
      ORDER BY a.environment`;
    for (const { environment, gap, movedPostings, sum, entries, isIntact, left } of rows) {
      const compare = (what: string, expected: string, found: string): void => {
        if (found !== expected) add('ARCHIVE_MISMATCH', { environment }, `${expected} ${what}`, found);
      };
      if (gap !== null) add('ARCHIVE_MISMATCH', { environment }, `an archive that ends with seal ${gap}`, 'none');
      compare('as the sum of the archived balances', '0', sum);
      compare('archived entries', String(2n * BigInt(movedPostings)), entries);
      compare('postings that are archived and in the database', '0', left);
      if (isIntact === false) {
        add('ARCHIVE_MISMATCH', { environment }, 'the balances that the last archive has left', 'other balances');
      }
    }
    const archived = rows.reduce((total, { movedTransactions }) => total + BigInt(movedTransactions), 0n);
    const found = String(scope.counted().archived);
    const [first] = rows;
    if (first !== undefined && found !== String(archived)) {
      const { environment } = first;
      add('ARCHIVE_MISMATCH', { environment }, `${archived} transactions whose postings are archived`, found);
    }
    return null;
  }),
};
