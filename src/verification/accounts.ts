// The check of accounts: each stored balance is the sum of the account's entries, which are numbered without a gap up
// to the last number of the account; the balance after each entry is the previous one less or plus its amount; and the
// balances of a book add up to zero.
import type postgres from 'postgres';
import { type AccountCode, mayBeNegative } from '../ledger/chart.ts';
import { entryNumber, type Side } from '../ledger/entries.ts';
import type { Environment } from '../money.ts';
import { type CheckContext, type Location, pagedCheck } from './verify.ts';

/** The end of a page of accounts, or of a page of their entries. Amounts and ids are text. */
interface AccountsCursor {
  /** The sum of the balances of each book. */
  sums: Partial<Record<Environment, string>>;
  lastAccount: string;
  /** The accounts of the page, unless they are all checked. */
  scans: AccountScan[];
}

/** The state of a scan over the entries of an account, in the order of their numbers. */
interface AccountScan {
  id: string;
  environment: Environment;
  code: AccountCode;
  /** Stored balance; null for an account with a derived balance. */
  balance: string | null;
  /** The last number of the account; null for a derived balance. */
  lastNumber: string | null;
  /** The entry up to which they are read: the last one of a stored balance, else the last one that is final. */
  until: string;
  /** Number of the last entry that was read. */
  last: string;
  /** The balance after that entry. */
  before: string;
  sum: string;
  /** The sum of those whose posting is final. */
  finalSum: string;
  isRead: boolean;
}

export const accountCheck = pagedCheck<AccountsCursor>('entries', async (context, after) => {
  const { add } = context;
  let cursor = after ?? { sums: {}, lastAccount: '0', scans: [] };
  if (cursor.scans.length === 0) {
    const scans = await readAccounts(context, cursor);
    cursor = { ...cursor, scans, lastAccount: scans.at(-1)?.id ?? cursor.lastAccount };
  }
  const scans = await readEntries(context, cursor);
  if (scans.some(({ isRead }) => !isRead)) return { ...cursor, scans };

  const sums = { ...cursor.sums };
  for (const { environment, code, balance, sum, finalSum, until, lastNumber } of scans) {
    if (lastNumber !== null && until !== lastNumber) {
      add('ENTRY_MISSING', { environment, code }, `${lastNumber} as the last number`, until);
    }
    const actual = BigInt(balance ?? sum);
    if (actual !== BigInt(sum)) add('BALANCE_MISMATCH', { environment, code }, sum, String(actual));
    if (actual < 0n && !mayBeNegative(code)) {
      add('NEGATIVE_BALANCE', { environment, code }, '>= 0', String(actual));
    }
    const final = actual - (BigInt(sum) - BigInt(finalSum));
    sums[environment] = String(BigInt(sums[environment] ?? 0) + final);
  }
  context.count({ accounts: scans.length });
  if (scans.length === accountsPerPage(context)) return { ...cursor, sums, scans: [] };

  for (const [environment, sum] of Object.entries(sums) as [Environment, string][]) {
    if (sum !== '0') add('BOOK_UNBALANCED', { environment }, '0', sum);
  }
  context.count({ books: Object.keys(sums).length });
  return null;
});

/** A page is limited by the entries of its accounts; most accounts have many, so it has fewer accounts. */
const accountsPerPage = ({ pageSize }: CheckContext): number => Math.ceil(Math.sqrt(pageSize));

/** The next accounts, each with the last of its entries that the balance in the same snapshot includes. */
async function readAccounts(context: CheckContext, { lastAccount }: AccountsCursor): Promise<AccountScan[]> {
  const { sql, organisationId, lastPosting } = context;
  const lastOf = (side: Side): postgres.Fragment => sql`
    (SELECT ${entryNumber(sql, side)} FROM ledger.postings
     WHERE organisation_id = ${organisationId} AND ${sql(`${side}_account_id`)} = a.id
     ORDER BY ${entryNumber(sql, side)} DESC LIMIT 1)`;
  type Row = Omit<AccountScan, 'before' | 'finalSum' | 'isRead'>;
  const accounts = await sql<Row[]>`
    SELECT a.id::text, a.environment, a.code, a.balance::text,
           CASE WHEN a.balance IS NOT NULL THEN a.last_number::text END AS last_number,
           '0' AS last, '0' AS sum,
           (CASE WHEN a.balance IS NULL THEN ${lastPosting}::text::bigint
                 ELSE coalesce(greatest(${lastOf('debit')}, ${lastOf('credit')}), 0) END)::text AS until
    FROM (
      SELECT * FROM ledger.accounts WHERE organisation_id = ${organisationId} AND id > ${lastAccount}::text::bigint
      ORDER BY id LIMIT ${accountsPerPage(context)}
    ) a
    ORDER BY a.id`;
  return accounts.map((account) => ({
    ...account,
    before: account.sum,
    finalSum: account.sum,
    isRead: account.until === account.last,
  }));
}

type EntryLocation = Required<Pick<Location, 'environment' | 'transactionId' | 'postingId'>>;

async function readEntries(context: CheckContext, { scans }: AccountsCursor): Promise<AccountScan[]> {
  const { sql, organisationId, lastPosting, pageSize, add, count } = context;
  const unread = scans.filter(({ isRead }) => !isRead);
  if (unread.length === 0) return scans;
  const entriesMax = Math.ceil(pageSize / unread.length);
  // WITH TIES: entries of an account with a derived balance may share a number, and a page must not part them.
  const entries = (side: Side, change: postgres.Fragment) => sql`
    (SELECT environment, transaction_id, id AS posting_id, ${entryNumber(sql, side)} AS number, ${change} AS change,
            ${sql(`${side}_balance_after`)} AS after
     FROM ledger.postings
     WHERE organisation_id = ${organisationId} AND ${sql(`${side}_account_id`)} = a.id
       AND ${entryNumber(sql, side)} > a.last AND ${entryNumber(sql, side)} <= a.until
     ORDER BY ${entryNumber(sql, side)} FETCH FIRST ${entriesMax} ROWS WITH TIES)`;
  const location = sql`'environment', environment, 'transactionId', transaction_id, 'postingId', posting_id::text`;
  const read = await sql<
    (Pick<AccountScan, 'id' | 'last' | 'sum' | 'finalSum'> & {
      entries: number;
      before: string | null;
      mismatched: (EntryLocation & { expected: string | null; found: string | null })[] | null;
      gaps: (EntryLocation & { number: string; previous: string })[] | null;
    })[]
  >`
    WITH entries AS (
      SELECT a.id, e.*,
             CASE WHEN a.balance IS NOT NULL
                  THEN e.change + coalesce(lag(e.after, 1, a.before) OVER account, 0) END AS expected,
             CASE WHEN a.balance IS NOT NULL THEN lag(e.number, 1, a.last) OVER account END AS previous
      FROM jsonb_to_recordset(${JSON.stringify(unread)}::text::jsonb)
             AS a (id bigint, last bigint, until bigint, before bigint, balance text)
      CROSS JOIN LATERAL (
        ${entries('debit', sql`-amount::numeric`)} UNION ALL ${entries('credit', sql`amount::numeric`)}
        ORDER BY number FETCH FIRST ${entriesMax} ROWS WITH TIES
      ) e
      WINDOW account AS (PARTITION BY a.id ORDER BY e.number)
    )
    SELECT id::text, count(*) AS entries, max(number)::text AS last, sum(change)::text AS sum,
           coalesce(sum(change) FILTER (WHERE posting_id <= ${lastPosting}::text::bigint), 0)::text AS final_sum,
           (array_agg(after ORDER BY number))[count(*)]::text AS before,
           jsonb_agg(jsonb_build_object(${location}, 'expected', expected::text, 'found', after::text) ORDER BY number)
             FILTER (WHERE after IS DISTINCT FROM expected) AS mismatched,
           jsonb_agg(jsonb_build_object(${location}, 'number', number::text, 'previous', previous::text) ORDER BY number)
             FILTER (WHERE number <> previous + 1) AS gaps
    FROM entries GROUP BY entries.id`;
  const byId = new Map(read.map((account) => [account.id, account]));
  return scans.map((scan) => {
    const next = byId.get(scan.id);
    if (next === undefined) return { ...scan, isRead: true };
    count({ entries: next.entries });
    const { code } = scan;
    for (const { expected, found, ...entry } of next.mismatched ?? []) {
      add('RUNNING_BALANCE_MISMATCH', { ...entry, code }, expected ?? 'no stored balance', found ?? 'no balance');
    }
    for (const { number, previous, ...entry } of next.gaps ?? []) {
      add('ENTRY_MISSING', { ...entry, code }, `${number} after ${BigInt(number) - 1n}`, `after ${previous}`);
    }
    return {
      ...scan,
      last: next.last,
      before: next.before ?? '0',
      sum: String(BigInt(scan.sum) + BigInt(next.sum)),
      finalSum: String(BigInt(scan.finalSum) + BigInt(next.finalSum)),
      isRead: next.entries < entriesMax || next.last === scan.until,
    };
  });
}
