// How far each book is compared with its rail, and the balance that the rail last reported.
import { firstOf, rowOf, type Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book, Environment, Kobo } from '../money.ts';
import { dayOf } from '../times.ts';
import type { BookAtRail } from './lines.ts';

/** The books of an environment, in the order of their organisations: those after this one. */
export async function listBooks(sql: Sql, environment: Environment, after: Uuid | null = null): Promise<Book[]> {
  const rows = await sql<{ organisationId: Uuid }[]>`
    SELECT organisation_id FROM organisations ${after === null ? sql`` : sql`WHERE organisation_id > ${after}`}
    ORDER BY organisation_id`;
  return rows.map(({ organisationId }) => ({ organisationId, environment }));
}

/**
 * How far a book is reconciled, and where the next run reads from. It begins with its organisation, or with the latest
 * contract of the rail: the account of another one was another account, or other systems used it meanwhile.
 */
export interface ReconciliationProgress {
  reconciledTo: Date;
  readFrom: Date;
  /** When the days before that were last compared again; null: never. */
  lookedBackAt: Date | null;
  /** The beginning of the book. */
  since: Date;
}

export const findProgress = (sql: Sql, { book, rail }: BookAtRail): Promise<ReconciliationProgress> =>
  rowOf(sql<ReconciliationProgress[]>`
    SELECT coalesce(greatest(p.reconciled_to, b.connected_at), b.created_at) AS reconciled_to,
           coalesce(greatest(p.read_from, b.connected_at), b.created_at) AS read_from,
           p.looked_back_at, coalesce(b.connected_at, b.created_at) AS since
    FROM (
      SELECT max(c.connected_at) AS connected_at, min(o.created_at) AS created_at
      FROM organisations o
      LEFT JOIN rail_contracts c
        ON c.organisation_id = o.organisation_id AND c.environment = ${book.environment} AND c.rail = ${rail}
      WHERE o.organisation_id = ${book.organisationId}
    ) b
    LEFT JOIN rail_progress p
      ON p.organisation_id = ${book.organisationId} AND p.environment = ${book.environment} AND p.rail = ${rail}`);

/**
 * Stores how far a book is reconciled. It never goes back, whatever order concurrent runs end in, but from after `now`:
 * a clock was ahead.
 */
export async function saveProgress(
  sql: Sql,
  { book, rail }: BookAtRail,
  to: Pick<ReconciliationProgress, 'reconciledTo' | 'readFrom'>,
  now: Date | null = null,
): Promise<void> {
  await sql`
    INSERT INTO rail_progress AS p (organisation_id, environment, rail, reconciled_to, read_from)
    VALUES (${book.organisationId}, ${book.environment}, ${rail}, ${to.reconciledTo}, ${to.readFrom})
    ON CONFLICT (organisation_id, environment, rail)
    DO UPDATE SET reconciled_to = excluded.reconciled_to, read_from = excluded.read_from
    WHERE p.reconciled_to IS NULL OR p.reconciled_to <= excluded.reconciled_to OR p.reconciled_to > ${now}`;
}

export async function saveLookedBack(sql: Sql, { book, rail }: BookAtRail, at: Date): Promise<void> {
  await sql`
    UPDATE rail_progress SET looked_back_at = ${at}
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND rail = ${rail}`;
}

/** What a rail reported as the balance of a book, and what it must be in the books. */
export interface BankBalance {
  balance: Kobo;
  /** The balance includes every line before this moment. */
  reportedFor: Date;
  /** The postings before this moment are compared with it. */
  comparedAt: Date;
  /** What was posted and is on no statement yet, less what is on one and is not posted yet. */
  inFlight: Kobo;
}

/** Keeps of each day the balance that was reported for its latest moment. */
export async function saveBankBalance(sql: Sql, { book, rail }: BookAtRail, reported: BankBalance): Promise<void> {
  await sql`
    INSERT INTO bank_balances AS b (organisation_id, environment, rail, day, balance, reported_for, compared_at, in_flight)
    VALUES (${book.organisationId}, ${book.environment}, ${rail}, ${dayOf(new Date(reported.reportedFor.getTime() - 1))}::date,
            ${reported.balance}, ${reported.reportedFor}, ${reported.comparedAt}, ${reported.inFlight})
    ON CONFLICT (organisation_id, environment, rail, day)
    DO UPDATE SET balance = excluded.balance, reported_for = excluded.reported_for, compared_at = excluded.compared_at,
      in_flight = excluded.in_flight
    WHERE b.reported_for <= excluded.reported_for`;
}

/** Up to when the credits that a rail lists were polled, and when all that may have changed was; null: never. */
export interface CreditPoll {
  listedTo: Date;
  lookedBackAt: Date | null;
}

export const findCreditPoll = (sql: Sql, book: Book, rail: string): Promise<CreditPoll | null> =>
  firstOf(sql<CreditPoll[]>`
    SELECT listed_to, credits_looked_back_at AS looked_back_at FROM rail_progress
    WHERE organisation_id = ${book.organisationId} AND environment = ${book.environment} AND rail = ${rail}
      AND listed_to IS NOT NULL`);

export async function saveCreditPoll(
  sql: Sql,
  book: Book,
  rail: string,
  { listedTo, lookedBackAt }: CreditPoll,
): Promise<void> {
  await sql`
    INSERT INTO rail_progress (organisation_id, environment, rail, listed_to, credits_looked_back_at)
    VALUES (${book.organisationId}, ${book.environment}, ${rail}, ${listedTo}, ${lookedBackAt})
    ON CONFLICT (organisation_id, environment, rail)
    DO UPDATE SET listed_to = excluded.listed_to, credits_looked_back_at = excluded.credits_looked_back_at`;
}
