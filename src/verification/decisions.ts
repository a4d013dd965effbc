// Checks that each change that only operators decide, or a caller with a key, has its audit entries, of as many people
// as it needs, and each entry the code that proved it. Only functions of the database write them, so a missing one
// means that a row was written without these functions.
import type { Snapshot } from '../database/snapshot.ts';
import { ALL_ORGANISATIONS as INSTALLATION, type Uuid } from '../ids.ts';
import type { Environment } from '../money.ts';
import { type Check, pagedCheck } from './verify.ts';

interface Decided {
  /** SQL: the table, with the condition of the rows that were decided. */
  table: string;
  condition: string;
  /** SQL: the subject of its entries, as the audit log has it. */
  subject: string;
  actions: readonly string[];
  /** SQL: how many people had to decide. Default: one. */
  people?: string;
}

/** A credit of a case needs two from an amount on, since that is the limit. */
const CREDITED_BY = `CASE WHEN amount >= (SELECT credit_by_two_from FROM decision_limits WHERE since <= resolved_at)
  THEN 2 ELSE 1 END`;

const byTwo = (table: string, suffix: string): Decided => ({
  table,
  condition: `failure_code = 'operator_decision'`,
  subject: `ledger.public_id(id, '${suffix}')`,
  actions: ['resolve:fail', 'resolve:fail:proposed', 'resolve:return', 'resolve:return:proposed'],
  people: '2',
});

const ofCase = (status: string, actions: readonly string[], people = '1'): Decided => ({
  table: 'review_cases',
  condition: `status = '${status}'`,
  subject: `ledger.public_id(id, 'rev')`,
  actions,
  people,
});

/**
 * A case of a credit that its bank has confirmed after all, or of a break that has cleared, is closed without a
 * decision.
 */
const CLOSED = `status = 'closed' AND NOT EXISTS (
  SELECT FROM reconciliation_breaks b
  WHERE b.organisation_id = review_cases.organisation_id AND b.id = review_cases.id AND b.cleared_at IS NOT NULL
) AND (reason <> 'credit_unconfirmed' OR EXISTS (
  SELECT FROM inbound_credits c
  WHERE c.organisation_id = review_cases.organisation_id AND c.id = review_cases.inbound_credit_id AND c.status = 'set_aside'))`;

const DECIDED: readonly Decided[] = [
  {
    table: 'adjustments',
    condition: `status = 'posted'`,
    subject: `ledger.public_id(id, 'adj')`,
    actions: ['adjustment.request', 'adjustment.approve'],
    people: '2',
  },
  { table: 'fee_sweeps', condition: 'true', subject: `ledger.public_id(id, 'fsw')`, actions: ['fees.sweep'] },
  ofCase('credited', ['review:credit', 'review:credit:proposed'], CREDITED_BY),
  ofCase('unclaimed', ['review:move_to_unclaimed']),
  { ...ofCase('closed', ['review:close', 'review:retry']), condition: CLOSED },
  {
    table: 'inbound_credits',
    condition: `status = 'set_aside'`,
    subject: `CASE owner_kind WHEN 'payment' THEN ledger.public_id(owner_id, 'pay') ELSE ledger.public_id(id, 'inc') END`,
    actions: ['resolve:set_aside'],
  },
  byTwo('withdrawals', 'wth'),
  byTwo('refunds', 'rfd'),
  byTwo('payout_items', 'poi'),
];

/** `kind`: the position in DECIDED. */
export const decisionCheck: Check = pagedCheck<{ kind: number; id: Uuid }>('decisions', async (scope, after) => {
  const { snapshots, pageSize, add } = scope;
  return await snapshots.read(async (snapshot) => {
    for (let kind = after?.kind ?? 0; kind < DECIDED.length; kind += 1) {
      const page = await readPage(snapshot, scope, DECIDED[kind] as Decided, after?.kind === kind ? after.id : null);
      for (const { environment, subject, people, found } of page) {
        if (found >= people) continue;
        add('DECISION_MISSING', { environment, resource: subject }, `decided by ${people}`, `by ${found}`);
      }
      const last = page.at(-1);
      if (page.length === pageSize && last !== undefined) return { kind, id: last.id };
    }
    return null;
  });
});

/** A page of the rows of one kind, each with the number of people who have provably decided it. */
async function readPage(
  sql: Snapshot,
  { organisationId, pageSize }: { organisationId: Uuid; pageSize: number },
  { table, condition, subject, actions, people = '1' }: Decided,
  after: Uuid | null,
) {
  return await sql<{ id: Uuid; environment: Environment; subject: string; people: number; found: number }[]>`
    SELECT d.*, (
      SELECT count(DISTINCT a.operator)::int FROM audit_log a
      WHERE a.organisation_id = ${organisationId} AND a.subject = d.subject AND a.action = ANY (${actions as string[]})
        AND (a.code IS NULL OR EXISTS (
          SELECT FROM operator_codes c
          WHERE c.organisation_id = ${INSTALLATION} AND c.hash = a.code AND c.operator_id = a.operator_id
            AND c.first_used_at IS NOT NULL))
    ) AS found
    FROM (
      SELECT id, environment, ${sql.unsafe(subject)} AS subject, (${sql.unsafe(people)})::int AS people
      FROM ${sql(table)}
      WHERE organisation_id = ${organisationId} AND ${sql.unsafe(condition)} ${after === null ? sql`` : sql`AND id > ${after}`}
      ORDER BY id LIMIT ${pageSize}
    ) d ORDER BY d.id`;
}
