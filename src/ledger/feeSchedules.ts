// Fee schedules of organisations and of all (the nil organisation): set by operators, each version from a time on, and
// read by every process that charges (docs/decisions/0039-fees.md).
import { LookUps } from '../concurrency/lookUps.ts';
import { rowOf, type Sql } from '../database/pool.ts';
import { ALL_ORGANISATIONS } from '../ids.ts';
import { type Book, bookKey, bookOfKey } from '../money.ts';
import { CONTRACT_FEES, type FeeSchedule, type Fees, feesBy } from './fees.ts';

/** A process reads the fees of a book again after this, so that creating a payment or transfer reads none. */
const READ_AGAIN_AFTER_MS = 5_000;

/** The fees of a book. */
export type FeeDirectory = (book: Book) => Promise<Fees>;

export function createFeeDirectory(sql: Sql): FeeDirectory {
  const fees = new LookUps<Fees>({ read: (keys) => readFees(sql, keys), keptMs: READ_AGAIN_AFTER_MS });
  return async (book) => (await fees.find(bookKey(book))) ?? CONTRACT_FEES;
}

async function readFees(sql: Sql, keys: readonly string[]): Promise<Map<string, Fees>> {
  const ids = keys.map((key) => bookOfKey(key).organisationId);
  const stored = await sql<(Book & { schedule: FeeSchedule })[]>`
    SELECT DISTINCT ON (organisation_id, environment) organisation_id, environment, schedule FROM fee_schedules
    WHERE organisation_id = ANY (${[ALL_ORGANISATIONS, ...ids]}::uuid[]) AND effective_from <= now()
    ORDER BY organisation_id, environment, effective_from DESC`;
  const schedules = new Map(stored.map((row) => [bookKey(row), row.schedule]));
  const hasTiers = stored.some(({ schedule }) => schedule.rules.some(({ tiers }) => tiers !== undefined));
  const volumes = hasTiers ? await readVolumes(sql, ids) : new Map<string, Fees['volumes']>();
  return new Map(
    keys.map((key) => {
      const ofAll = bookKey({ ...bookOfKey(key), organisationId: ALL_ORGANISATIONS });
      const inForce = [key, ofAll].flatMap((one) => schedules.get(one) ?? []);
      return [key, feesBy(inForce, volumes.get(key) ?? {})];
    }),
  );
}

/** The volumes of the days of this month in Lagos that are over. */
async function readVolumes(sql: Sql, ids: readonly string[]): Promise<Map<string, Fees['volumes']>> {
  const rows = await sql<(Book & { volumes: Fees['volumes'] })[]>`
    SELECT organisation_id, environment, jsonb_object_agg(movement, amount) AS volumes FROM (
      SELECT d.organisation_id, d.environment, v.key AS movement, sum(v.value::bigint) AS amount
      FROM ledger.closed_days d CROSS JOIN LATERAL jsonb_each_text(d.volumes) v
      WHERE d.organisation_id = ANY (${[...ids]}::uuid[]) AND d.day >= date_trunc('month', ledger.accounting_day(now()))
      GROUP BY 1, 2, 3
    ) m GROUP BY 1, 2`;
  return new Map(rows.map((row) => [bookKey(row), row.volumes]));
}

/** Sets the schedule of a book from a time on, or from now, and returns that time. */
export async function setFees(
  sql: Sql,
  { organisationId, environment }: Book,
  schedule: FeeSchedule,
  { effectiveFrom, proof, reason }: { effectiveFrom: Date | null; proof: string; reason: string },
): Promise<Date> {
  const set = await rowOf(sql<{ effectiveFrom: Date }[]>`
    SELECT ledger.set_fees(${organisationId}, ${environment}, ${proof}, ${reason}, ${effectiveFrom},
                           ${JSON.stringify(schedule)}::text::jsonb) AS effective_from`);
  return set.effectiveFrom;
}

/** All schedules that a book has, had or will have, the oldest first. */
export const listFees = async (sql: Sql, { organisationId, environment }: Book) =>
  await sql<{ effectiveFrom: Date; schedule: FeeSchedule }[]>`
    SELECT effective_from, schedule FROM fee_schedules
    WHERE organisation_id = ${organisationId} AND environment = ${environment} ORDER BY effective_from`;
