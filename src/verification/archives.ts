// Checks what archives have left behind: that they follow each other, the balances that the postings in the database
// begin from, and that as many transactions have no postings as were archived. The archived postings themselves are in
// files, which `ledger archives --folder` compares.
import type { Uuid } from '../ids.ts';
import { type Check, pagedCheck, type Scope } from '../ledger/verify.ts';
import { ENVIRONMENTS, type Environment } from '../money.ts';

interface ArchiveRow {
  firstSeal: number;
  archivedSeal: number;
  movedPostings: string;
  movedTransactions: string;
  /** Null while postings are moved. */
  balancesDigest: Buffer | null;
}

export const archiveCheck: Check = {
  isLast: true,
  ...pagedCheck<Uuid>('archives', async (scope) => {
    let archived = 0n;
    for (const environment of ENVIRONMENTS) {
      if (scope.books.archived[environment] !== undefined) archived += await checkBook(scope, environment);
    }
    const found = String(scope.counted().archived);
    if (found !== String(archived)) {
      const [environment] = Object.keys(scope.books.archived) as Environment[];
      const expected = `${archived} transactions whose postings are archived`;
      scope.add('ARCHIVE_MISMATCH', { environment: environment ?? 'test' }, expected, found);
    }
    return null;
  }),
};

/** Checks the archives of a book. Returns how many transactions were archived. */
async function checkBook({ sql, organisationId, books, add }: Scope, environment: Environment): Promise<bigint> {
  const mismatch = (expected: string, found: string): void => {
    if (expected !== found) add('ARCHIVE_MISMATCH', { environment }, expected, found);
  };
  const archives = await sql<ArchiveRow[]>`
    SELECT first_seal, archived_seal, moved_postings::text, moved_transactions::text, balances_digest FROM ledger.archives
    WHERE organisation_id = ${organisationId} AND environment = ${environment} ORDER BY period`;
  let before = 0;
  for (const { firstSeal, archivedSeal } of archives) {
    mismatch(`an archive that begins with seal ${before + 1}`, `an archive that begins with seal ${firstSeal}`);
    before = archivedSeal;
  }
  const [balances] = await sql<{ sum: string; entries: string }[]>`
    SELECT coalesce(sum(balance), 0)::text AS sum, coalesce(sum(entries), 0)::text AS entries FROM ledger.archived_balances
    WHERE organisation_id = ${organisationId} AND environment = ${environment}`;
  const sumOf = (name: 'movedPostings' | 'movedTransactions'): bigint =>
    archives.reduce((sum, archive) => sum + BigInt(archive[name]), 0n);
  mismatch('archived balances that sum to 0', `archived balances that sum to ${balances?.sum}`);
  mismatch(`${2n * sumOf('movedPostings')} archived entries`, `${balances?.entries} archived entries`);
  const digest = archives.at(-1)?.balancesDigest ?? null;
  if (digest !== null) {
    const [left] = await sql<{ digest: Buffer }[]>`
      SELECT ledger.archived_balances_digest(${organisationId}, ${environment}) AS digest`;
    const expected = 'the balances that the last archive has left';
    mismatch(expected, left?.digest.equals(digest) ? expected : 'other balances');
  }
  // IS TRUE: as in seals.ts.
  const [left] = await sql<{ postings: string }[]>`
    SELECT count(*)::text AS postings FROM ledger.postings p
    WHERE (p.organisation_id = ${organisationId}) IS TRUE AND (p.environment = ${environment}) IS TRUE
      AND p.created_at <= ${books.archived[environment]?.until ?? '-infinity'}::text::timestamptz`;
  mismatch('0 postings of the archived time', `${left?.postings} postings of the archived time`);
  return sumOf('movedTransactions');
}
