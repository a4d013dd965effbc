// Seals of the ledger: a chain of digests over the postings and audit entries of each book. This makes them, and finds
// history that no longer has the digests of its seals.
import { rowOf, type Sql } from '../database/pool.ts';
import { publicId, requireUuid } from '../ids.ts';
import { type Book, type Environment, nairaText } from '../money.ts';
import { type Check, type Finding, type FindingKind, findingOf, pagedCheck } from './verify.ts';

/** Limits the memory of a statement, and how long it keeps a processor busy: about 0.2 s. */
const POSTINGS_MAX = 20_000;

/** A run that is behind waits this many times as long as the last part took: see `pauseAfter`. */
const PAUSE_RATIO = 29;
const PAUSE_MAX_MS = 60_000;

/** Few, because a seal may cover many postings, and no snapshot should be held for long. */
const PAGE_SIZE = 5;

/** A seal as it is published. `digest`: hexadecimal. */
export interface Seal {
  /** Public id. */
  organisation: string;
  environment: Environment;
  number: number;
  /** ISO 8601. It covers what its book has after the seal before it and up to this time. */
  sealedUntil: string;
  postings: number;
  /** Kobo, as text. */
  amount: string;
  auditEntries: number;
  digest: string;
}

/** Seals all postings older than `lagMs`, or the first of them (`isBehind`). One of concurrent calls does it. */
export const sealNext = (sql: Sql, lagMs: number) =>
  rowOf(sql<{ seals: number; isBehind: boolean }[]>`
    SELECT seals, is_behind FROM ledger.seal(now() - make_interval(secs => ${lagMs / 1000}), ${POSTINGS_MAX})`);

/**
 * How long to wait before the next part is sealed, in milliseconds. Like autovacuum, sealing has a limited share of the
 * machine, a thirtieth of one processor: with more postings than that seals, it is behind until there are fewer. So it
 * costs the postings of a saturated database next to nothing.
 */
export const pauseAfter = (partMs: number): number => Math.min(PAUSE_RATIO * partMs, PAUSE_MAX_MS);

interface SealRow extends Book {
  number: number;
  sealedUntil: Date;
  postingCount: number;
  amount: string;
  auditCount: number;
  digest: Buffer;
}

export const sealOf = ({ organisationId, digest, sealedUntil, postingCount, auditCount, ...row }: SealRow): Seal => ({
  organisation: publicId('organisation', organisationId),
  environment: row.environment,
  number: row.number,
  sealedUntil: sealedUntil.toISOString(),
  postings: postingCount,
  amount: row.amount,
  auditEntries: auditCount,
  digest: digest.toString('hex'),
});

/** The seals that are not published yet, oldest first. */
export const listUnpublished = (sql: Sql, max: number): Promise<SealRow[]> => sql<SealRow[]>`
    SELECT organisation_id, environment, number, sealed_until, posting_count, amount::text, audit_count, digest
    FROM ledger.seals WHERE published_at IS NULL ORDER BY organisation_id, environment, number LIMIT ${max}`;

export async function markPublished(sql: Sql, seals: readonly SealRow[]): Promise<void> {
  await sql`
    UPDATE ledger.seals s SET published_at = now()
    FROM unnest(${seals.map(({ organisationId }) => organisationId)}::uuid[],
                ${seals.map(({ environment }) => environment)}::text[],
                ${seals.map(({ number }) => number)}::integer[]) AS p (organisation_id, environment, number)
    WHERE s.organisation_id = p.organisation_id AND s.environment = p.environment AND s.number = p.number
      AND s.published_at IS NULL`;
}

/** What is in the database for a seal now. `isIntact`: it still has its digest. */
interface Sealed extends SealRow {
  foundPostings: number;
  foundAmount: string;
  foundAudit: number;
  isIntact: boolean;
}

/** After the last seal of a book. */
const NO_MORE = 2 ** 31 - 1;

/** Compares seals with what they cover and with their published copies. Of each book the first violation. */
export function sealCheck(published: readonly Seal[] = []): Check {
  const copies = new Map(published.map((seal) => [nameOf(seal), seal]));
  return pagedCheck<Pick<SealRow, 'environment' | 'number'>>('seals', async (context, after) => {
    const page = await context.sql<Sealed[]>`
      SELECT * FROM ledger.compare_seals(${context.organisationId}, ${after?.environment ?? null},
                                         ${after?.number ?? null}::integer, ${PAGE_SIZE})
      ORDER BY environment, number`;
    let previous = after;
    for (const row of page) {
      const { environment, number } = row;
      const expected = previous?.environment === environment ? previous.number + 1 : 1;
      const violation = violationOf(row, expected, copies.get(nameOf(sealOf(row))));
      if (violation !== null) {
        const [kind, wanted, found] = violation;
        context.add(kind, { environment }, wanted, found);
        return { environment, number: NO_MORE };
      }
      context.count({ sealed: row.foundPostings });
      previous = { environment, number };
    }
    return page.length < PAGE_SIZE ? null : previous;
  });
}

export async function findMissingSeals(sql: Sql, published: readonly Seal[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const [organisation, seals] of Map.groupBy(published, (seal) => seal.organisation)) {
    const organisationId = requireUuid('organisation', organisation);
    const rows = await sql<Pick<Seal, 'environment' | 'number'>[]>`
      SELECT environment, number FROM ledger.seals
      WHERE organisation_id = ${organisationId} AND number = ANY (${seals.map(({ number }) => number)}::integer[])`;
    const known = new Set(rows.map(({ environment, number }) => `${environment} ${number}`));
    for (const seal of seals) {
      const { environment, number } = seal;
      if (known.has(`${environment} ${number}`)) continue;
      findings.push(findingOf(organisationId, 'SEAL_MISSING', { environment }, describe(seal), 'no such seal'));
    }
  }
  return findings;
}

const nameOf = ({ organisation, environment, number }: Seal): string => `${organisation} ${environment} ${number}`;

const describe = ({ number, sealedUntil, ...covered }: Seal): string =>
  `seal ${number} until ${sealedUntil}: ${describeCovered(covered)}`;

const describeCovered = ({ postings, amount, auditEntries }: Pick<Seal, 'postings' | 'amount' | 'auditEntries'>) =>
  `${postings} postings of ${nairaText(BigInt(amount))}${auditEntries === 0 ? '' : `, ${auditEntries} audit entries`}`;

function violationOf(
  row: Sealed,
  expectedNumber: number,
  copy: Seal | undefined,
): [kind: FindingKind, expected: string, found: string] | null {
  const seal = sealOf(row);
  if (row.number !== expectedNumber) {
    return ['SEAL_MISSING', `seal ${expectedNumber}`, `seal ${row.number} comes next`];
  }
  if (copy !== undefined && copy.digest !== seal.digest) {
    return ['SEAL_MISMATCH', `${describe(copy)}, as published`, 'another digest in the database'];
  }
  if (row.isIntact) return null;
  const [sealed, found] = [
    describeCovered(seal),
    describeCovered({ postings: row.foundPostings, amount: row.foundAmount, auditEntries: row.foundAudit }),
  ];
  return ['SEAL_MISMATCH', describe(seal), found === sealed ? `${found}, which were changed` : found];
}

/** Parses published seals: one JSON object a line, as the log of the worker and SEAL_FILE have them. */
export function parseSeals(text: string): Seal[] {
  return text.split('\n').flatMap((line) => {
    if (!line.includes('"sealedUntil"')) return [];
    const parsed = JSON.parse(line) as Seal & { seal?: Seal };
    const seal = parsed.seal ?? parsed;
    requireUuid('organisation', seal.organisation);
    return [seal];
  });
}
