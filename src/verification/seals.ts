// Seals of the ledger (migration 0013): a chain of digests over the postings of each book. This makes them, and finds
// history that no longer has the digests of its seals.
import type { Sql } from '../database/pool.ts';
import { publicId, requireUuid, type Uuid } from '../ids.ts';
import type { Finding } from '../ledger/verify.ts';
import type { Environment } from '../money.ts';

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
  /** ISO 8601. It covers the postings of its book after the seal before it and up to this time. */
  sealedUntil: string;
  postings: number;
  /** Kobo, as text. */
  amount: string;
  digest: string;
}

/**
 * Seals the postings of all books that are older than `lagMs`, or the first of them. `isBehind`: there are more.
 * Several processes may call it; one of them seals.
 */
export async function sealNext(sql: Sql, lagMs: number): Promise<{ seals: number; isBehind: boolean }> {
  const [row] = await sql<{ seals: number; isBehind: boolean }[]>`
    SELECT seals, is_behind FROM ledger.seal(now() - make_interval(secs => ${lagMs / 1000}), ${POSTINGS_MAX})`;
  return row ?? { seals: 0, isBehind: false };
}

/**
 * How long to wait before the next part is sealed, in milliseconds. Like autovacuum, sealing has a limited share of the
 * machine, a thirtieth of one processor: with more postings than that seals, it is behind until there are fewer. So it
 * costs the postings of a saturated database next to nothing.
 */
export const pauseAfter = (partMs: number): number => Math.min(PAUSE_RATIO * partMs, PAUSE_MAX_MS);

interface SealRow {
  organisationId: Uuid;
  environment: Environment;
  number: number;
  sealedUntil: Date;
  postingCount: number;
  amount: string;
  digest: Buffer;
}

export const sealOf = ({ organisationId, digest, sealedUntil, postingCount, ...row }: SealRow): Seal => ({
  organisation: publicId('organisation', organisationId),
  environment: row.environment,
  number: row.number,
  sealedUntil: sealedUntil.toISOString(),
  postings: postingCount,
  amount: row.amount,
  digest: digest.toString('hex'),
});

/** The seals that are not published yet, oldest first. */
export const listUnpublished = async (sql: Sql, max: number): Promise<SealRow[]> => [
  ...(await sql<SealRow[]>`
    SELECT organisation_id, environment, number, sealed_until, posting_count, amount::text, digest
    FROM ledger.seals WHERE published_at IS NULL ORDER BY organisation_id, environment, number LIMIT ${max}`),
];

export async function markPublished(sql: Sql, seals: readonly SealRow[]): Promise<void> {
  await sql`
    UPDATE ledger.seals s SET published_at = now()
    FROM unnest(${seals.map(({ organisationId }) => organisationId)}::uuid[],
                ${seals.map(({ environment }) => environment)}::text[],
                ${seals.map(({ number }) => number)}::integer[]) AS p (organisation_id, environment, number)
    WHERE s.organisation_id = p.organisation_id AND s.environment = p.environment AND s.number = p.number
      AND s.published_at IS NULL`;
}

/** What is in the ledger for a seal now. `isIntact`: its postings still have its digest. */
interface Sealed extends SealRow {
  foundCount: number;
  foundAmount: string;
  isIntact: boolean;
}

/**
 * Compares every seal with the postings that it covers, and every published seal with the one in the database. Of each
 * book the first violation is reported: the seals after it are chained to it.
 */
export async function checkSeals(sql: Sql, published: readonly Seal[] = []): Promise<Finding[]> {
  const findings: Finding[] = [];
  let after: SealRow | undefined;
  let wrongBook = '';
  // The copies whose seal was not found yet.
  const copies = new Map(published.map((seal) => [nameOf(seal), seal]));
  const [database] = await sql`SELECT FROM pg_extension WHERE extname = 'citus'`;
  const isDistributed = database !== undefined;
  for (;;) {
    const page = await readSeals(sql, after, isDistributed);
    for (const row of page) {
      const seal = sealOf(row);
      const copy = copies.get(nameOf(seal));
      copies.delete(nameOf(seal));
      const book = `${seal.organisation} ${seal.environment}`;
      const previous = after !== undefined && bookOf(after) === bookOf(row) ? after.number : 0;
      after = row;
      if (book === wrongBook) continue;
      const violation = violationOf(row, previous, copy);
      if (violation === null) continue;
      wrongBook = book;
      findings.push({ ...place(seal), ...violation });
    }
    if (page.length < PAGE_SIZE) break;
  }
  for (const seal of published) {
    if (!copies.has(nameOf(seal))) continue;
    findings.push({ ...place(seal), kind: 'SEAL_MISSING', expected: describe(seal), found: 'no such seal' });
  }
  return findings;
}

const bookOf = ({ organisationId, environment }: SealRow): string => `${organisationId} ${environment}`;
const nameOf = ({ organisation, environment, number }: Seal): string => `${organisation} ${environment} ${number}`;

const place = ({ organisation, environment }: Seal) => ({
  organisation,
  environment,
  account: null,
  resource: null,
  transaction: null,
  posting: null,
});

const describe = ({ number, sealedUntil, postings, amount }: Omit<Seal, 'digest'>): string =>
  `seal ${number} until ${sealedUntil}: ${postings} postings of ${amount} kobo`;

function violationOf(
  row: Sealed,
  previousNumber: number,
  copy: Seal | undefined,
): Pick<Finding, 'kind' | 'expected' | 'found'> | null {
  const seal = sealOf(row);
  if (row.number !== previousNumber + 1) {
    return { kind: 'SEAL_MISSING', expected: `seal ${previousNumber + 1}`, found: `seal ${row.number} comes next` };
  }
  if (copy !== undefined && copy.digest !== seal.digest) {
    return {
      kind: 'SEAL_MISMATCH',
      expected: `${describe(copy)}, as published`,
      found: 'another digest in the database',
    };
  }
  if (row.isIntact) return null;
  const same = row.foundCount === row.postingCount && row.foundAmount === row.amount;
  const found = `${row.foundCount} postings of ${row.foundAmount} kobo`;
  return { kind: 'SEAL_MISMATCH', expected: describe(seal), found: same ? `${found}, which were changed` : found };
}

/** The next page of seals, each with the postings that it covers; after the first of them it begins at its own book. */
async function readSeals(sql: Sql, after: SealRow | undefined, isDistributed: boolean): Promise<Sealed[]> {
  const page = await sql<SealRow[]>`
    SELECT organisation_id, environment, number, sealed_until, posting_count, amount::text, digest FROM ledger.seals
    ${after === undefined ? sql`` : sql`WHERE (organisation_id, environment, number) > (${after.organisationId}, ${after.environment}, ${after.number})`}
    ORDER BY organisation_id, environment, number LIMIT ${PAGE_SIZE}`;
  const sealed: Sealed[] = [];
  for (const seal of page) sealed.push({ ...seal, ...(await readPostings(sql, seal, isDistributed)) });
  return sealed;
}

/** The postings that a seal covers. */
async function readPostings(
  sql: Sql,
  { organisationId, environment, number }: SealRow,
  isDistributed: boolean,
): Promise<Pick<Sealed, 'foundCount' | 'foundAmount' | 'isIntact'>> {
  // IS TRUE: only the index by time, which is small, fits; the others would be read from end to end for each seal. Citus
  // routes by an equality.
  const ofBook = isDistributed
    ? sql`p.organisation_id = ${organisationId} AND p.environment = ${environment}`
    : sql`(p.organisation_id = s.organisation_id) IS TRUE AND (p.environment = s.environment) IS TRUE`;
  const [found] = await sql<Pick<Sealed, 'foundCount' | 'foundAmount' | 'isIntact'>[]>`
    SELECT f.found_count, f.found_amount,
           sha256(coalesce(previous.digest, '') || coalesce(f.digests, '')) = s.digest AS is_intact
    FROM ledger.seals s
    LEFT JOIN ledger.seals previous ON previous.organisation_id = s.organisation_id
      AND previous.environment = s.environment AND previous.number = s.number - 1
    CROSS JOIN LATERAL (
      SELECT count(*) AS found_count, coalesce(sum(p.amount), 0)::text AS found_amount,
             CASE s.version WHEN 1 THEN string_agg(ledger.posting_digest(ROW(p.*)::ledger.postings, ROW(t.*)::ledger.transactions), '' ORDER BY p.id)
                            ELSE string_agg(d.digest, '' ORDER BY d.digest) END AS digests
      FROM ledger.postings p
      JOIN ledger.transactions t ON t.organisation_id = p.organisation_id AND t.id = p.transaction_id
      CROSS JOIN LATERAL (SELECT ledger.posting_digest_2(ROW(p.*)::ledger.postings, ROW(t.*)::ledger.transactions) AS digest OFFSET 0) d
      WHERE ${ofBook} AND p.created_at > coalesce(previous.sealed_until, '-infinity') AND p.created_at <= s.sealed_until
    ) f
    WHERE s.organisation_id = ${organisationId} AND s.environment = ${environment} AND s.number = ${number}`;
  if (found === undefined) throw new Error(`seal ${number} of ${organisationId} ${environment} was deleted meanwhile`);
  return found;
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
