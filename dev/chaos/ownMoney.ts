// Whose money a bank holds after a run, judged from the bank's own book: what is at the bank is in our book, and what
// customers are owed beyond it is the shortfall that `ledger verify` names, no more than the bank took.
import type { Sql } from '../../src/database/pool.ts';
import { publicId } from '../../src/ids.ts';
import { readSafeguarding } from '../../src/ledger/safeguarding.ts';
import type { Book, Kobo } from '../../src/money.ts';
import type { Finding } from '../../src/verification/verify.ts';
import type { BankBook } from './invariants.ts';

/** By our book, each positive where it is usual. */
interface OwnBook {
  /** At the rail, and at our own bank account. */
  atRail: Kobo;
  paidOut: Kobo;
  /** Owed to customers, on its way too. */
  owed: Kobo;
  /** Charges less what was given back, and what was taken back and was not there any more. */
  taken: Kobo;
}

/** What is wrong. `book`: that of the bank, if it is not the sandbox bank. All its lines must have been posted. */
export async function wrongOwnMoney(
  sql: Sql,
  { organisationId, environment }: Book,
  book: BankBook | undefined,
  shortfalls: readonly Finding[],
): Promise<string[]> {
  const ours = await readOwn(sql, { organisationId, environment }, book?.rail ?? 'sandbox');
  const bank = book === undefined ? await readSandbox(sql, organisationId) : { atRail: book.holds, paidOut: 0 };
  const short = ours.owed - bank.atRail - bank.paidOut;
  const organisation = publicId('organisation', organisationId);
  const named = shortfalls.filter((one) => one.organisation === organisation && one.environment === environment);
  const expected = short > 0 ? [String(-short)] : [];
  const found = named.map((one) => one.found);
  return [
    ...(ours.atRail === bank.atRail ? [] : [`the bank holds ${bank.atRail}; by our book it is ${ours.atRail}`]),
    ...(ours.paidOut === bank.paidOut ? [] : [`the bank paid out ${bank.paidOut} to us; by our book ${ours.paidOut}`]),
    ...(found.join() === expected.join()
      ? []
      : [`customers are owed ${short} more than the bank holds; ledger verify says ${found.join() || 'nothing'}`]),
    ...(short <= ours.taken ? [] : [`the shortfall is ${short}, and the bank took only ${ours.taken}`]),
  ];
}

/** One line on what happened to the money of a book beside what customers did. */
export async function tally(sql: Sql, { organisationId, environment }: Book): Promise<string> {
  const ofBook = sql`organisation_id = ${organisationId} AND environment = ${environment}`;
  const [row] = await sql<Record<string, number>[]>`
    SELECT (SELECT count(*)::int FROM review_cases WHERE ${ofBook} AND reason <> 'reconciliation_break') AS reviewed,
           (SELECT count(*)::int FROM review_cases WHERE ${ofBook} AND status = 'credited') AS credited,
           (SELECT count(*)::int FROM review_cases WHERE ${ofBook} AND reason = 'wallet_frozen') AS frozen,
           (SELECT count(*)::int FROM review_cases WHERE ${ofBook} AND reason = 'late_credit') AS late,
           (SELECT count(*)::int FROM refunds r WHERE ${ofBook} AND EXISTS (
              SELECT FROM payments p WHERE p.organisation_id = r.organisation_id AND p.id = r.payment_id
                AND p.settled_at IS NULL)) AS refunds_of_late,
           (SELECT count(*)::int FROM inbound_credits WHERE ${ofBook} AND recall = 'posted') AS recalled,
           (SELECT count(*)::int FROM debt_recoveries WHERE ${ofBook}) AS debts_recovered,
           (SELECT count(*)::int FROM statement_entries WHERE ${ofBook} AND kind LIKE 'charge%') AS charges,
           (SELECT count(*)::int FROM statement_entries WHERE ${ofBook} AND kind IN ('settlement', 'settled')) AS settlements,
           (SELECT count(*)::int FROM statement_entries WHERE ${ofBook} AND kind = 'funding') AS fundings,
           (SELECT count(*)::int FROM holds WHERE ${ofBook} AND payment_id IS NOT NULL) AS holds_of_payments,
           (SELECT count(*)::int FROM holds WHERE ${ofBook} AND status = 'cancelled') AS holds_cancelled,
           (SELECT count(*)::int FROM fee_sweeps WHERE ${ofBook}) AS sweeps,
           (SELECT count(*)::int FROM withdrawals d WHERE ${ofBook} AND EXISTS (
              SELECT FROM wallets w WHERE w.organisation_id = d.organisation_id AND w.id = d.source_wallet_id
                AND w.kind = 'settlement')) AS withdrawals_of_own`;
  const { headroom } = await readSafeguarding(sql, { organisationId, environment });
  const counts = Object.entries({ ...row, headroom }).map(([name, count]) => `${name} ${count}`);
  return `${publicId('organisation', organisationId)}: ${counts.join(', ')}`;
}

async function readOwn(sql: Sql, { organisationId, environment }: Book, rail: string): Promise<OwnBook> {
  const [row] = await sql<OwnBook[]>`
    WITH balances AS (
      SELECT a.code, sum(CASE a.id WHEN p.credit_account_id THEN p.amount ELSE -p.amount END) AS balance,
             EXISTS (SELECT FROM wallets w WHERE w.organisation_id = a.organisation_id AND w.account_code = a.code
                     AND w.kind = 'settlement') AS is_own
      FROM ledger.accounts a JOIN ledger.postings p
        ON p.organisation_id = a.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
      WHERE a.organisation_id = ${organisationId} AND a.environment = ${environment}
      GROUP BY a.organisation_id, a.id, a.code
    ), sums AS (
      SELECT -sum(balance) FILTER (WHERE code IN (${`clearing:${rail}`}, ${`float:${rail}`})) AS at_rail,
             -sum(balance) FILTER (WHERE code = ${`settlement:${rail}`}) AS paid_out,
             sum(balance) FILTER (WHERE NOT is_own AND code ~ '^(wallet|held|suspense|unclaimed|in_transit|reserve):') AS owed,
             -sum(balance) FILTER (WHERE code = 'expense:rail' OR code LIKE 'receivable:%') AS taken
      FROM balances
    )
    SELECT coalesce(at_rail, 0)::float8 AS at_rail, coalesce(paid_out, 0)::float8 AS paid_out,
           coalesce(owed, 0)::float8 AS owed, coalesce(taken, 0)::float8 AS taken FROM sums`;
  return row as OwnBook;
}

async function readSandbox(
  sql: Sql,
  organisationId: Book['organisationId'],
): Promise<Pick<OwnBook, 'atRail' | 'paidOut'>> {
  const [row] = await sql<Pick<OwnBook, 'atRail' | 'paidOut'>[]>`
    SELECT ((SELECT coalesce(sum(amount), 0) FROM sandbox_bank.credits
             WHERE organisation_id = ${organisationId} AND recalled_at IS NULL)
          + coalesce(sum(CASE WHEN kind IN ('returned', 'interest') THEN amount ELSE -amount END), 0))::float8 AS at_rail,
           coalesce(sum(amount) FILTER (WHERE kind = 'settlement'), 0)::float8 AS paid_out
    FROM sandbox_bank.statement_lines WHERE organisation_id = ${organisationId}`;
  return row as Pick<OwnBook, 'atRail' | 'paidOut'>;
}
