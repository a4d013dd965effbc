// The sandbox bank's own book. It is in the database of the service, but represents a bank elsewhere: a restore of the
// service's database does not change it. So a drill keeps it, and puts it back into the restored database.
import type { Sql } from '../../src/database/pool.ts';
import type { Uuid } from '../../src/ids.ts';

const SCHEMA = 'sandbox_bank';

/** The rows of each table, and the place of each sequence. */
export interface BankBook {
  tables: { name: string; rows: unknown }[];
  sequences: { name: string; value: string }[];
}

export async function keepBankBook(sql: Sql): Promise<BankBook> {
  const names = await sql<{ name: string }[]>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = ${SCHEMA} ORDER BY tablename`;
  const tables: BankBook['tables'] = [];
  for (const { name } of names) {
    const [row] = await sql<{ rows: unknown }[]>`
      SELECT coalesce(jsonb_agg(to_jsonb(t)), '[]') AS rows FROM ${sql(SCHEMA)}.${sql(name)} t`;
    tables.push({ name, rows: row?.rows ?? [] });
  }
  const sequences = await sql<{ name: string; value: string }[]>`
    SELECT sequencename AS name, last_value::text AS value FROM pg_sequences
    WHERE schemaname = ${SCHEMA} AND last_value IS NOT NULL`;
  return { tables, sequences: [...sequences] };
}

export async function putBankBook(sql: Sql, { tables, sequences }: BankBook): Promise<void> {
  for (const { name, rows } of tables) {
    const table = sql`${sql(SCHEMA)}.${sql(name)}`;
    await sql`DELETE FROM ${table}`;
    await sql`
      INSERT INTO ${table} OVERRIDING SYSTEM VALUE
      SELECT * FROM jsonb_populate_recordset(NULL::${table}, ${JSON.stringify(rows)}::text::jsonb)`;
  }
  for (const { name, value } of sequences) await sql`SELECT setval(${`${SCHEMA}.${name}`}::regclass, ${value}::bigint)`;
}

/** What the bank did with one reference. */
export interface BankTransfer {
  reference: string;
  /** How often it was sent to the bank, and how often the bank paid it. */
  sends: number;
  paid: number;
  /** Whether one of the sends reached the bank. */
  accepted: boolean;
}

export async function listBankTransfers(sql: Sql): Promise<BankTransfer[]> {
  return await sql<BankTransfer[]>`
    SELECT reference, times AS sends, (
      SELECT count(*)::int FROM sandbox_bank.statement_lines l
      WHERE l.organisation_id = r.organisation_id AND l.reference = r.reference AND l.kind = 'sent') AS paid, EXISTS (
      SELECT FROM sandbox_bank.transfers t
      WHERE t.organisation_id = r.organisation_id AND t.reference = r.reference) AS accepted
    FROM sandbox_bank.requests r ORDER BY reference`;
}

/** What the bank holds for the organisation, by its book, and what the ledger has for it. */
export async function compareBalances(sql: Sql, organisationId: Uuid): Promise<{ bank: number; ledger: number }> {
  const [row] = await sql<{ bank: number; ledger: number }[]>`
    SELECT (SELECT coalesce(sum(amount), 0) FROM sandbox_bank.credits
            WHERE organisation_id = ${organisationId} AND recalled_at IS NULL)::bigint
         + (SELECT coalesce(sum(CASE kind WHEN 'returned' THEN amount WHEN 'sent' THEN -amount ELSE 0 END), 0)
            FROM sandbox_bank.statement_lines WHERE organisation_id = ${organisationId})::bigint AS bank,
           (SELECT coalesce(sum(CASE WHEN p.debit_account_id = a.id THEN p.amount ELSE -p.amount END), 0)
            FROM ledger.accounts a JOIN ledger.postings p
              ON p.organisation_id = a.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
            WHERE a.organisation_id = ${organisationId} AND a.environment = 'test' AND a.code = 'clearing:sandbox'
           )::bigint AS ledger`;
  return row ?? { bank: 0, ledger: 0 };
}
