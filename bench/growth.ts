// Grows a book to any size in a few statements: a history of transfers and payments as the service would have written
// it, so that `ledger verify` still passes. Indexes are created after the rows, which is several times faster.
import { connect, type Sql } from '../src/database/pool.ts';
import { walletAccount } from '../src/ledger/chart.ts';
import type { BenchBook } from './book.ts';

export interface Growth {
  /** Rounded up to whole cycles of three. */
  postings: number;
  payments: number;
  /** The number of wallets over which the postings are distributed. */
  wallets: number;
}

/** The generated rows, for reading pages of them as a customer would. */
export interface Grown {
  /** The wallets that have postings. */
  active: string[];
  /** Creation time and id of the payment with this number; numbers start at 0, oldest first. */
  payment: (number: number) => { createdAt: Date; id: string };
  /** The number of the entry at this fraction (0 to 1) of the generated postings. */
  postingAt: (share: number) => number;
  /** The time at this fraction of them. */
  timeAt: (share: number) => Date;
}

const TABLES = ['ledger.transactions', 'ledger.postings', 'transfers', 'payments', 'virtual_accounts'];
const AMOUNT = 100;
/** At the intervals below, ten million transfers and a million payments cover most of a year. */
const FIRST = '2025-01-01T00:00:00Z';
const FIRST_MS = Date.parse(FIRST);
const TRANSFER_EVERY_SECONDS = 3;
const PAYMENT_EVERY_SECONDS = 30;

/** Adds this number of postings and payments to the book. */
export async function grow(book: BenchBook, size: Growth): Promise<Grown> {
  const sql = connect(book.url, { connectionsMax: 1, role: 'owner' });
  let first: number;
  try {
    await sql`SET maintenance_work_mem = '1GB'`;
    const [last] = await sql<{ number: number }[]>`SELECT max(last_number) AS number FROM ledger.accounts`;
    first = (last?.number ?? 0) + 1;
    await dateDeposits(sql);
    const indexes = await dropIndexes(sql);
    await addTransfers(sql, book, size, first);
    await addPayments(sql, book, size);
    for (const statement of indexes) await sql.unsafe(statement);
    await sql`VACUUM (ANALYZE)`;
  } finally {
    await sql.end();
  }
  return {
    active: book.wallets.slice(0, size.wallets),
    payment: (number) => ({
      createdAt: new Date(FIRST_MS + number * PAYMENT_EVERY_SECONDS * 1000),
      id: paymentId(number),
    }),
    postingAt: (share) => first + Math.floor(share * size.postings),
    timeAt: (share) => new Date(FIRST_MS + share * size.postings * TRANSFER_EVERY_SECONDS * 1000),
  };
}

/**
 * Dates what was posted so far before the history, because the entries of an account have one order by number and time.
 */
async function dateDeposits(sql: Sql): Promise<void> {
  for (const table of ['transactions', 'postings']) {
    await sql.unsafe(`ALTER TABLE ledger.${table} DISABLE TRIGGER append_only`);
    await sql.unsafe(`UPDATE ledger.${table} SET created_at = '${FIRST}'::timestamptz - interval '1 day'`);
    await sql.unsafe(`ALTER TABLE ledger.${table} ENABLE TRIGGER append_only`);
  }
}

/** Drops the indexes of the growing tables. Returns the statements that create them again. */
async function dropIndexes(sql: Sql): Promise<string[]> {
  const found = await sql<{ drop: string; create: string }[]>`
    SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS drop,
           format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS create
    FROM pg_constraint WHERE contype IN ('p', 'u') AND conrelid = ANY (${TABLES}::text[]::regclass[])
    UNION ALL
    SELECT format('DROP INDEX %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
    FROM pg_index i WHERE indrelid = ANY (${TABLES}::text[]::regclass[])
      AND NOT EXISTS (SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid)`;
  for (const { drop } of found) await sql.unsafe(drop);
  return found.map(({ create }) => create);
}

/**
 * Cycles of three transfers: the hot wallet pays a wallet, which pays its neighbour, which pays the hot wallet. After
 * each cycle every balance is what it was before, so the running balances of each posting can be computed. They are
 * ordered by their ids, as what was posted before there were numbers of entries (decision 55).
 */
async function addTransfers(sql: Sql, book: BenchBook, { postings, wallets }: Growth, first: number): Promise<void> {
  const { organisationId, environment } = book.book;
  const ofWallets = [book.hot, ...book.wallets.slice(0, wallets)];
  const codes = ofWallets.map(walletAccount);
  const last = Math.ceil(postings / 3) * 3 - 1;
  const accounts = await sql<{ id: number; balance: number }[]>`
    SELECT a.id, a.balance
    FROM unnest(${codes}::text[]) WITH ORDINALITY AS w (code, slot)
    JOIN ledger.accounts a ON a.organisation_id = ${organisationId} AND a.environment = ${environment} AND a.code = w.code
    ORDER BY w.slot`;
  const ids = accounts.map(({ id }) => id);
  const balances = accounts.map(({ balance }) => balance);
  // A UUIDv7 computed from the number alone, so that all tables get the same one. Its last 25 bits are the number, so
  // that its public id needs five new digits only: ledger.public_id would take most of the time.
  await sql`
    CREATE FUNCTION pg_temp.transfer_id(number bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
      SELECT ('01941f29-7c00-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid
    $$`;
  await sql`
    CREATE FUNCTION pg_temp.public_id(number bigint, prefix text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT prefix || substr(a, 1 + (number >> 20 & 31)::int, 1) || substr(a, 1 + (number >> 15 & 31)::int, 1)
                    || substr(a, 1 + (number >> 10 & 31)::int, 1) || substr(a, 1 + (number >> 5 & 31)::int, 1)
                    || substr(a, 1 + (number & 31)::int, 1) || '_trf'
      FROM (VALUES ('0123456789abcdefghjkmnpqrstvwxyz')) AS alphabet (a)
    $$`;
  // Cycle `n`: who pays whom. Slot 1 of the arrays is the hot wallet.
  const cycle = sql`
    (SELECT n, CASE step WHEN 0 THEN 1 WHEN 1 THEN one ELSE two END AS debit,
            CASE step WHEN 0 THEN one WHEN 1 THEN two ELSE 1 END AS credit, step,
            ${FIRST}::timestamptz + n * make_interval(secs => ${TRANSFER_EVERY_SECONDS}) AS at
     FROM (SELECT n, n % 3 AS step, 2 + (n / 3) % ${wallets}::bigint AS one, 2 + (n / 3 + 1) % ${wallets}::bigint AS two
           FROM generate_series(0, ${last}::bigint) AS n) numbered) cycle`;
  await sql`
    WITH first AS (SELECT substr(ledger.public_id(pg_temp.transfer_id(0), 'trf'), 1, 25) AS prefix),
    made AS (SELECT n, pg_temp.public_id(n, prefix) AS id FROM first, generate_series(0, ${last}::bigint) AS n)
    INSERT INTO ledger.transactions (organisation_id, environment, id, key, kind, resource, effective_at, created_at)
    SELECT ${organisationId}, ${environment}, pg_temp.transfer_id(n), made.id || '/transfer', 'transfer', made.id, time.at, time.at
    FROM made, LATERAL (SELECT ${FIRST}::timestamptz + n * make_interval(secs => ${TRANSFER_EVERY_SECONDS}) AS at) time`;
  await sql`
    INSERT INTO transfers (organisation_id, environment, id, source_wallet_id, destination_wallet_id, amount, fee, status, created_at)
    SELECT ${organisationId}, ${environment}, pg_temp.transfer_id(n), (${ofWallets}::uuid[])[debit], (${ofWallets}::uuid[])[credit],
           ${AMOUNT}, 0, 'completed', at
    FROM ${cycle}`;
  await sql`
    INSERT INTO ledger.postings (organisation_id, environment, id, transaction_id, debit_account_id, credit_account_id, amount,
                                 debit_balance_after, credit_balance_after, created_at)
    SELECT ${organisationId}, ${environment}, ${first}::bigint + n, pg_temp.transfer_id(n), (${ids}::bigint[])[debit], (${ids}::bigint[])[credit],
           ${AMOUNT}, (${balances}::bigint[])[debit] - CASE step WHEN 0 THEN ${AMOUNT} ELSE 0 END,
           (${balances}::bigint[])[credit] + CASE step WHEN 2 THEN 0 ELSE ${AMOUNT} END, at
    FROM ${cycle}`;
  await sql`UPDATE ledger.accounts SET last_number = ${first + last}, numbered_after = ${first + last}`;
}

/** Expired payments, each with its virtual account: no money was received, so they have no postings. */
async function addPayments(sql: Sql, book: BenchBook, { payments }: Growth): Promise<void> {
  const { organisationId, environment } = book.book;
  await sql`
    CREATE FUNCTION pg_temp.payment_id(number bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
      SELECT (lpad(to_hex(1735689600000 + number * 3000), 12, '0') || '7' || lpad(to_hex(number % 4096), 3, '0') || '8b'
              || lpad(to_hex(number), 14, '0'))::uuid
    $$`;
  await sql`
    INSERT INTO payments (organisation_id, environment, id, version, method, status, base_amount, fee, amount_received,
                          amount_credited, amount_refunding, amount_refunded, target_wallet_id, expires_at, created_at)
    SELECT ${organisationId}, ${environment}, pg_temp.payment_id(n), 2, 'bank_transfer', 'expired', 200000, 2000, 0, 0, 0, 0,
           (${book.wallets}::uuid[])[1 + n % ${book.wallets.length}::bigint], made.at + interval '30 minutes', made.at
    FROM generate_series(0, ${payments - 1}::bigint) AS n,
         LATERAL (SELECT ${FIRST}::timestamptz + n * make_interval(secs => ${PAYMENT_EVERY_SECONDS}) AS at) made`;
  await sql`
    INSERT INTO virtual_accounts (organisation_id, environment, rail, account_number, owner_kind, owner_id, bank_name, account_name,
                                  expires_at)
    SELECT ${organisationId}, ${environment}, 'sandbox', lpad(n::text, 10, '0'), 'payment', pg_temp.payment_id(n), 'Sandbox Bank',
           'Bench', '2025-01-01'
    FROM generate_series(0, ${payments - 1}::bigint) AS n`;
}

/** The same id as pg_temp.payment_id returns. */
function paymentId(number: number): string {
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
  const text = `${hex(FIRST_MS + number * 3_000, 12)}7${hex(number % 4096, 3)}8b${hex(number, 14)}`;
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
