// The proof of a day: for each book and bank one row that never changes, of what the bank held at the end of the day by
// its own statement and what the books say of it (src/ledger/sql/day_proofs.sql). A month is closed when each of its
// days is proved, or waived with a reason.
import { rowOf, type Sql } from '../database/pool.ts';
import { clearingAccount } from '../ledger/chart.ts';
import type { Book, Kobo } from '../money.ts';
import type { Proof } from '../resources/proofs.ts';
import type { Day } from '../times.ts';

/** A day at a bank. Amounts are of the end of the day. */
export interface DayAtBank {
  day: Day;
  rail: string;
  /** By the bank's own statement; null: there is none that ends with the day. */
  bank: Kobo | null;
  books: Kobo;
  /** What only the books have yet, less what only the statement has; null: without a statement. */
  inFlight: Kobo | null;
  /** Open at the bank, by reason. */
  breaks: Readonly<Record<string, { count: number; amount: Kobo }>>;
  customer: Kobo;
  statutory: Kobo;
  own: Kobo;
  receivable: Kobo;
  headroom: Kobo;
  /** Why it has no proof. */
  waived: string | null;
  /** Who proved or waived it; null: no one yet, and the facts are those of now. */
  preparedBy: string | null;
  reviewedBy: string | null;
  createdAt: Date | null;
  /** What happened on the day at the bank and was booked after the proof. */
  bookedLater: Kobo;
}

/** The days of a period, both inclusive, at each bank of a book, until today. */
export async function listDays(sql: Sql, book: Book, from: Day, to: Day): Promise<DayAtBank[]> {
  const { organisationId, environment } = book;
  return await sql<DayAtBank[]>`
    SELECT d.day::text, d.rail, f.bank, f.books, f.in_flight, f.breaks, f.customer, f.statutory, f.own, f.receivable,
           f.headroom, f.waived, f.prepared_by, f.reviewed_by, f.created_at, coalesce(l.amount, 0)::bigint AS booked_later
    FROM ledger.bank_days(${organisationId}, ${environment}, ${from}::date,
                          least(${to}::date, ledger.accounting_day(now()))) d
    CROSS JOIN LATERAL (
      SELECT * FROM day_proofs p
      WHERE p.organisation_id = ${organisationId} AND p.environment = ${environment} AND p.day = d.day AND p.rail = d.rail
      UNION ALL
      SELECT * FROM ledger.day_facts(${organisationId}, ${environment}, d.day, d.rail) WHERE NOT d.is_proved
    ) f
    LEFT JOIN LATERAL (
      SELECT sum(e.debit - e.credit) AS amount
      FROM ledger.balances_before(${organisationId}, ${environment}, f.created_at,
                                  ARRAY[${clearingAccount('')}::text || d.rail]) r
      JOIN ledger.entries e ON e.organisation_id = ${organisationId} AND e.account_id = r.account_id AND e.number > r.after
      WHERE f.created_at IS NOT NULL AND e.created_at >= f.created_at AND ledger.accounting_day(e.effective_at) = d.day
    ) l ON true
    ORDER BY d.day, d.rail`;
}

/**
 * `proposed`: another operator must do the same, because there are breaks. `needs_people`: two must, and a worker did.
 * `day_open`: the day is not closed yet.
 */
export interface ProofOutcome {
  outcome: 'proved' | 'waived' | 'unchanged' | 'day_open' | 'no_statement' | 'proposed' | 'needs_people' | 'refused';
  because: string | null;
}

/** Proves a day at a bank, or waives it with a reason, once. */
export const proveDay = (
  sql: Sql,
  { organisationId, environment }: Book,
  { day, rail }: Pick<DayAtBank, 'day' | 'rail'>,
  { proof, waiver }: { proof: Proof; waiver: string | null },
): Promise<ProofOutcome> =>
  rowOf(sql<ProofOutcome[]>`
    SELECT outcome, because FROM ledger.prove_day(${organisationId}, ${environment}, ${proof}, ${day}::date, ${rail}, ${waiver})`);
