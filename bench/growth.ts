// Grows a book to any size in a few statements: a history of transfers and payments as the service would have written
// it, so that `ledger verify` still passes. It grows in steps, so that a disk that is too small ends it and not the
// run. Indexes are created after the rows, which is several times faster.
import { connect, type Sql } from '../src/database/pool.ts';
import { walletAccount } from '../src/ledger/chart.ts';
import { entryNumber, type Side } from '../src/ledger/entries.ts';
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
  /** What there was room for. */
  postings: number;
  payments: number;
  /** Bytes on disk of each table with its indexes, for each of its generated rows. */
  bytesPerRow: Record<string, number>;
  /** The wallets that have postings. */
  active: string[];
  /** Creation time and id of the payment with this number; numbers start at 0, oldest first. */
  payment: (number: number) => { createdAt: Date; id: string };
  /** The number of the entry of the hot wallet at this fraction (0 to 1) of the generated ones. */
  hotNumberAt: (share: number) => number;
  /** The time at this fraction of them. */
  timeAt: (share: number) => Date;
}

const TABLES = ['ledger.transactions', 'ledger.postings', 'transfers', 'payments', 'virtual_accounts'];
const AMOUNT = 100;
/** At the intervals below, thirty million transfers and three million payments cover most of a year. */
const FIRST = '2025-01-01T00:00:00Z';
const FIRST_MS = Date.parse(FIRST);
const TRANSFER_EVERY_SECONDS = 1;
const PAYMENT_EVERY_SECONDS = 10;
/** The number of a transfer has 25 bits in its id. */
export const POSTINGS_MAX = 2 ** 25 - 3;
/** Postings of a step; whole cycles. */
const STEP = 3_000_000;
/** Statements that run at once: as many as the machine that is measured has cores. */
const LANES = 2;
/** Indexes, and the space to sort the largest of them, take about as much as the rows. */
const ROOM_FOR_INDEXES = 1.3;
const ROOM_KEPT = 8 * 2 ** 30;

/**
 * Adds this number of postings and payments to the book, or as many as there is room for: `freeBytes` tells what is
 * left, null when it is not known.
 */
export async function grow(
  book: BenchBook,
  size: Growth,
  freeBytes: () => Promise<number | null>,
  say: (line: string) => void,
): Promise<Grown> {
  const sql = connect(book.url, { connectionsMax: LANES, role: 'owner' });
  let hotFirst: number;
  let postings = 0;
  let payments = 0;
  let bytesPerRow: Grown['bytesPerRow'];
  try {
    await dateDeposits(sql);
    await createFunctions(sql);
    const accounts = await accountsOf(sql, book, size.wallets);
    hotFirst = (accounts[0]?.number ?? 0) + 1;
    const indexes = await dropIndexes(sql);
    const wanted = Math.ceil(size.postings / 3) * 3;
    const empty = await tableBytes(sql);
    while (postings < wanted) {
      const until = Math.min(postings + STEP, wanted);
      await addTransfers(sql, book, accounts, { from: postings, to: until - 1 });
      const paymentsUntil = Math.ceil((size.payments * until) / wanted);
      await addPayments(sql, book, { from: payments, to: paymentsUntil - 1 });
      [postings, payments] = [until, paymentsUntil];
      const rows = sumOf(await tableBytes(sql)) - sumOf(empty);
      const free = await freeBytes();
      const perStep = (rows * STEP) / postings;
      if (postings < wanted && free !== null && free < ROOM_KEPT + ROOM_FOR_INDEXES * (rows + perStep) + perStep) {
        say(`    the disk has room for ${postings.toLocaleString('en')} postings`);
        break;
      }
    }
    await inLanes(indexes, (statement) => sql.unsafe(`SET maintenance_work_mem = '1GB'; ${statement}`));
    await sql`
      UPDATE ledger.accounts a SET last_number = greatest(a.last_number, ${lastNumber(sql, 'debit')}, ${lastNumber(sql, 'credit')})
      WHERE a.balance IS NOT NULL`;
    await sql`VACUUM (ANALYZE)`;
    bytesPerRow = await measureRows(sql, { postings, payments });
  } finally {
    await sql.end();
  }
  return {
    postings,
    payments,
    bytesPerRow,
    active: book.wallets.slice(0, size.wallets),
    payment: (number) => ({
      createdAt: new Date(FIRST_MS + number * PAYMENT_EVERY_SECONDS * 1000),
      id: paymentId(number),
    }),
    hotNumberAt: (share) => hotFirst + Math.floor((share * postings * 2) / 3),
    timeAt: (share) => new Date(FIRST_MS + share * postings * TRANSFER_EVERY_SECONDS * 1000),
  };
}

/** Calls `work` with each item, `LANES` at once. */
async function inLanes<Item>(items: readonly Item[], work: (item: Item) => PromiseLike<unknown>): Promise<void> {
  const waiting = [...items];
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) await work(item);
    }),
  );
}

/** Bytes on disk of each growing table, with its indexes. */
async function tableBytes(sql: Sql): Promise<Record<string, number>> {
  const rows = await sql<{ name: string; bytes: number }[]>`
    SELECT name, pg_total_relation_size(name::regclass) AS bytes FROM unnest(${TABLES}::text[]) AS t (name)`;
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]));
}

const sumOf = (bytes: Record<string, number>): number => Object.values(bytes).reduce((sum, one) => sum + one, 0);

async function measureRows(
  sql: Sql,
  generated: Record<'postings' | 'payments', number>,
): Promise<Grown['bytesPerRow']> {
  const bytes = Object.entries(await tableBytes(sql));
  const isOfPayment = (name: string): boolean => name === 'payments' || name === 'virtual_accounts';
  return Object.fromEntries(
    bytes.map(([name, size]) => [name, size / (isOfPayment(name) ? generated.payments : generated.postings)]),
  );
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
 * Ids are UUIDv7 computed from the number alone, so that all tables get the same one. The last 25 bits of that of a
 * transfer are the number, so that its public id needs five new digits only: ledger.public_id would take most of the
 * time. In the schema of the book and not pg_temp, because several connections use them.
 */
async function createFunctions(sql: Sql): Promise<void> {
  await sql.unsafe(`
    CREATE SCHEMA growth;
    CREATE FUNCTION growth.transfer_id(number bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
      SELECT ('01941f29-7c00-7000-8000-' || lpad(to_hex(number), 12, '0'))::uuid
    $$;
    CREATE FUNCTION growth.public_id(number bigint, prefix text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
      SELECT prefix || substr(a, 1 + (number >> 20 & 31)::int, 1) || substr(a, 1 + (number >> 15 & 31)::int, 1)
                    || substr(a, 1 + (number >> 10 & 31)::int, 1) || substr(a, 1 + (number >> 5 & 31)::int, 1)
                    || substr(a, 1 + (number & 31)::int, 1) || '_trf'
      FROM (VALUES ('0123456789abcdefghjkmnpqrstvwxyz')) AS alphabet (a)
    $$;
    CREATE FUNCTION growth.payment_id(number bigint) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
      SELECT (lpad(to_hex(1735689600000 + number * 3000), 12, '0') || '7' || lpad(to_hex(number % 4096), 3, '0') || '8b'
              || lpad(to_hex(number), 14, '0'))::uuid
    $$;`);
}

/** Numbers of rows, both inclusive. */
interface Numbers {
  from: number;
  to: number;
}

/** An account before it grows: what its first generated entry follows. */
interface Beginning {
  walletId: string;
  id: number;
  balance: number;
  /** Of its last entry. */
  number: number;
}

/** The accounts over which the postings are distributed, that of the hot wallet first. */
async function accountsOf(sql: Sql, { book, hot, wallets }: BenchBook, count: number): Promise<Beginning[]> {
  const ids = [hot, ...wallets.slice(0, count)];
  const rows = await sql<Omit<Beginning, 'walletId'>[]>`
    SELECT a.id, a.balance, a.last_number AS number
    FROM unnest(${ids.map(walletAccount)}::text[]) WITH ORDINALITY AS w (code, slot)
    JOIN ledger.accounts a
      ON a.organisation_id = ${book.organisationId} AND a.environment = ${book.environment} AND a.code = w.code
    ORDER BY w.slot`;
  return rows.map((row, slot) => ({ ...row, walletId: ids[slot] as string }));
}

/** SQL: the number of the last entry of account `a` on a side. */
const lastNumber = (sql: Sql, side: Side) => sql`
  (SELECT ${entryNumber(sql, side)} FROM ledger.postings WHERE ${sql(`${side}_account_id`)} = a.id
   ORDER BY ${entryNumber(sql, side)} DESC LIMIT 1)`;

/**
 * Cycles of three transfers: the hot wallet pays wallet `one`, which pays its neighbour `two`, which pays the hot
 * wallet. After each cycle every balance is what it was before, and each of the three accounts has two entries more. So
 * the running balances and the numbers of the entries can be computed: in cycle c, `one` is wallet c modulo their
 * number, and has been `one` in c ÷ that number cycles before, and `two` in as many, or one more unless it is wallet 0.
 */
async function addTransfers(
  sql: Sql,
  { book }: BenchBook,
  accounts: Beginning[],
  { from, to }: Numbers,
): Promise<void> {
  const { organisationId, environment } = book;
  const ids = accounts.map(({ walletId }) => walletId);
  const wallets = accounts.length - 1;
  // Slot 1 of the arrays is the hot wallet, and slot 2 is wallet 0.
  const cycle = sql`
    (SELECT n, step, CASE step WHEN 0 THEN 1 WHEN 1 THEN 2 + one ELSE 2 + two END AS debit,
            CASE step WHEN 0 THEN 2 + one WHEN 1 THEN 2 + two ELSE 1 END AS credit,
            CASE step WHEN 0 THEN 2 * c + 1 WHEN 1 THEN before_one + 2 ELSE before_two + 2 END AS debit_number,
            CASE step WHEN 0 THEN before_one + 1 WHEN 1 THEN before_two + 1 ELSE 2 * c + 2 END AS credit_number,
            ${FIRST}::timestamptz + n * make_interval(secs => ${TRANSFER_EVERY_SECONDS}) AS at
     FROM (
       SELECT *, 2 * (2 * rounds_one + CASE one WHEN 0 THEN 0 ELSE 1 END) AS before_one,
              2 * (2 * rounds_two - CASE two WHEN 0 THEN 1 ELSE 0 END) AS before_two
       FROM (
         SELECT n, n % 3 AS step, n / 3 AS c, (n / 3) % ${wallets}::bigint AS one, (n / 3) / ${wallets}::bigint AS rounds_one,
                (n / 3 + 1) % ${wallets}::bigint AS two, (n / 3 + 1) / ${wallets}::bigint AS rounds_two
         FROM generate_series(${from}::bigint, ${to}::bigint) AS n
       ) numbered
     ) counted) cycle`;
  const transactions = sql`
    WITH first AS (SELECT substr(ledger.public_id(growth.transfer_id(0), 'trf'), 1, 25) AS prefix),
    made AS (SELECT n, growth.public_id(n, prefix) AS id FROM first, generate_series(${from}::bigint, ${to}::bigint) AS n)
    INSERT INTO ledger.transactions (organisation_id, environment, id, key, kind, resource, effective_at, created_at)
    SELECT ${organisationId}, ${environment}, growth.transfer_id(n), made.id || '/transfer', 'transfer', made.id, time.at, time.at
    FROM made, LATERAL (SELECT ${FIRST}::timestamptz + n * make_interval(secs => ${TRANSFER_EVERY_SECONDS}) AS at) time`;
  const transfers = sql`
    INSERT INTO transfers (organisation_id, environment, id, source_wallet_id, destination_wallet_id, amount, fee, status, created_at)
    SELECT ${organisationId}, ${environment}, growth.transfer_id(n), (${ids}::uuid[])[debit], (${ids}::uuid[])[credit],
           ${AMOUNT}, 0, 'completed', at
    FROM ${cycle}`;
  const of = (name: 'id' | 'balance' | 'number') => sql`(${accounts.map((account) => account[name])}::bigint[])`;
  const postings = sql`
    INSERT INTO ledger.postings (organisation_id, environment, id, transaction_id, debit_account_id, credit_account_id, amount,
                                 debit_balance_after, credit_balance_after, debit_number, credit_number, created_at)
    SELECT ${organisationId}, ${environment}, ledger.posting_id(at), growth.transfer_id(n), ${of('id')}[debit], ${of('id')}[credit],
           ${AMOUNT}, ${of('balance')}[debit] - CASE step WHEN 0 THEN ${AMOUNT} ELSE 0 END,
           ${of('balance')}[credit] + CASE step WHEN 2 THEN 0 ELSE ${AMOUNT} END,
           ${of('number')}[debit] + debit_number, ${of('number')}[credit] + credit_number, at
    FROM ${cycle}`;
  await inLanes([transactions, transfers, postings], (statement) => statement);
}

/** Expired payments, each with its virtual account: no money was received, so they have no postings. */
async function addPayments(sql: Sql, book: BenchBook, { from, to }: Numbers): Promise<void> {
  const { organisationId, environment } = book.book;
  const payments = sql`
    INSERT INTO payments (organisation_id, environment, id, version, method, status, base_amount, fee, amount_received,
                          amount_credited, amount_refunding, amount_refunded, target_wallet_id, expires_at, created_at)
    SELECT ${organisationId}, ${environment}, growth.payment_id(n), 2, 'bank_transfer', 'expired', 200000, 2000, 0, 0, 0, 0,
           (${book.wallets}::uuid[])[1 + n % ${book.wallets.length}::bigint], made.at + interval '30 minutes', made.at
    FROM generate_series(${from}::bigint, ${to}::bigint) AS n,
         LATERAL (SELECT ${FIRST}::timestamptz + n * make_interval(secs => ${PAYMENT_EVERY_SECONDS}) AS at) made`;
  const accounts = sql`
    INSERT INTO virtual_accounts (organisation_id, environment, rail, account_number, owner_kind, owner_id, bank_name, account_name,
                                  expires_at)
    SELECT ${organisationId}, ${environment}, 'sandbox', lpad(n::text, 10, '0'), 'payment', growth.payment_id(n), 'Sandbox Bank',
           'Bench', '2025-01-01'
    FROM generate_series(${from}::bigint, ${to}::bigint) AS n`;
  await inLanes([payments, accounts], (statement) => statement);
}

/** The same id as growth.payment_id returns. */
function paymentId(number: number): string {
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
  const text = `${hex(FIRST_MS + number * 3_000, 12)}7${hex(number % 4096, 3)}8b${hex(number, 14)}`;
  return text.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
