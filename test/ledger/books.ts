// Books to write in: a database, the journals of several processes, and words for accounts and movements.
import postgres from 'postgres';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import { type AccountCode, walletAccount } from '../../src/ledger/chart.ts';
import { Journal } from '../../src/ledger/journal.ts';
import type { Movement, PostResult, Transaction } from '../../src/ledger/movement.ts';
import type { Posting } from '../../src/ledger/postings.ts';
import type { Book, Kobo } from '../../src/money.ts';
import { createDatabase, databaseUrl, testStack } from '../support/stack.ts';

/** Where money comes from: a shared account that may stand below zero. */
export const RAIL: AccountCode = 'clearing:sandbox';

export interface Books {
  url: string;
  /** As the service: the application's role. */
  sql: Sql;
  /** As the owner of the database, who migrates it. */
  owner: Sql;
  journal: Journal;
  book: Book;
  /** A journal of another process: its own connections and batches. */
  anotherJournal: (url?: string) => Journal;
  /** The connections of another process. */
  anotherPool: (url?: string) => Sql;
  /** Past every right and trigger, as somebody with the server in hands. */
  asSuperuser: (work: (sql: postgres.Sql) => Promise<unknown>) => Promise<void>;
  close: () => Promise<void>;
}

export async function openBooks(): Promise<Books> {
  const { url, drop } = await createDatabase();
  const sql = connect(url, { connectionsMax: 4 });
  const owner = connect(url, { connectionsMax: 2, role: 'owner' });
  const pools = [sql, owner];
  const anotherPool = (via = url) => {
    const pool = connect(via, { connectionsMax: 2 });
    pools.push(pool);
    return pool;
  };
  return {
    url,
    sql,
    owner,
    anotherPool,
    journal: new Journal(sql),
    book: { organisationId: newUuid(), environment: 'test' },
    anotherJournal: (via) => new Journal(anotherPool(via)),
    asSuperuser: async (work) => {
      const { adminDatabaseUrl } = testStack();
      const role = new URL(adminDatabaseUrl).username;
      const superuser = postgres(databaseUrl(adminDatabaseUrl, role, new URL(url).pathname), {
        max: 1,
        connection: { session_replication_role: 'replica' }, // triggers stay silent
        onnotice: () => {},
      });
      try {
        await work(superuser);
      } finally {
        await superuser.end();
      }
    },
    close: async () => {
      await Promise.all(pools.map((pool) => pool.end({ timeout: 1 })));
      await drop();
    },
  };
}

/** Opens a wallet's account, verified unless said otherwise, with this balance. */
export async function newWallet(
  books: Books,
  wanted: { balance?: Kobo; verified?: boolean; book?: Book } = {},
): Promise<AccountCode> {
  const book = wanted.book ?? books.book;
  const code = walletAccount(newUuid());
  await books.sql`
    SELECT ledger.open_account(${book.organisationId}, ${book.environment}, ${code}, ${wanted.verified ?? true})`;
  if (wanted.balance !== undefined && wanted.balance > 0) {
    await expectPosted(books.journal.post(move(book, RAIL, code, wanted.balance)));
  }
  return code;
}

/** Puts a wallet's account into a state that operators and KYC bring about. */
export async function setAccount(
  books: Books,
  code: AccountCode,
  values: { status?: string; verified?: boolean; balance_max?: Kobo; posting_max?: Kobo },
): Promise<void> {
  await books.owner`
    UPDATE ledger.accounts SET ${books.owner(values)}
    WHERE organisation_id = ${books.book.organisationId} AND code = ${code}`;
}

/** A transaction of these postings with a business key of its own. */
export function transaction(postings: readonly Posting[], more: Partial<Transaction> = {}): Transaction {
  const id = newUuid();
  return {
    id,
    key: `test/${id}`,
    kind: 'test',
    resource: publicId('payment', id),
    effectiveAt: new Date(),
    rules: 'enforced',
    postings,
    ...more,
  };
}

/** A movement of one posting. */
export function move(
  book: Book,
  debit: AccountCode,
  credit: AccountCode,
  amount: Kobo,
  more: Partial<Transaction> = {},
): Movement {
  return { book, transaction: transaction([{ debit, credit, amount }], more) };
}

/**
 * Posts these as one batch: the first call keeps the journal busy, so the ones behind it are collected for the next
 * statement.
 */
export async function postTogether(books: Books, movements: readonly Movement[]): Promise<PostResult[]> {
  const busy = books.journal.post({ book: books.book });
  const results = movements.map((movement) => books.journal.post(movement));
  await busy;
  return await Promise.all(results);
}

/** Balance of an account: kept, or the sum of its postings. */
export async function balanceOf(books: Books, code: AccountCode): Promise<Kobo> {
  const [row] = await books.sql<{ balance: Kobo }[]>`
    SELECT coalesce(a.balance, (
      SELECT coalesce(sum(CASE WHEN p.credit_account_id = a.id THEN p.amount ELSE -p.amount END), 0)::bigint
      FROM ledger.postings p
      WHERE p.organisation_id = a.organisation_id AND a.id IN (p.credit_account_id, p.debit_account_id)
    )) AS balance
    FROM ledger.accounts a WHERE a.organisation_id = ${books.book.organisationId} AND a.code = ${code}`;
  return row?.balance ?? 0;
}

/** How often a business key was posted: 0 or 1, or the books are broken. */
export async function timesPosted(books: Books, movement: Movement): Promise<number> {
  const [row] = await books.sql<{ times: number }[]>`
    SELECT count(*) AS times FROM ledger.transactions t
    JOIN ledger.postings p ON p.organisation_id = t.organisation_id AND p.transaction_id = t.id
    WHERE t.organisation_id = ${movement.book.organisationId} AND t.key = ${movement.transaction?.key ?? ''}`;
  return row?.times ?? 0;
}

export async function expectPosted(result: Promise<PostResult>): Promise<void> {
  const got = await result;
  if (got.outcome !== 'posted') throw new Error(`expected to post, got ${JSON.stringify(got)}`);
}

/** A payment's row as the journal takes it, complete. */
export function paymentRow(id: Uuid, more: object = {}): object {
  return {
    id,
    version: 1,
    method: 'bank_transfer',
    status: 'pending',
    baseAmount: 1_000,
    fee: 500,
    amountReceived: 0,
    amountCredited: 0,
    amountRefunding: 0,
    amountRefunded: 0,
    targetWalletId: newUuid(),
    payerWalletId: null,
    description: null,
    expiresAt: new Date(),
    settledAt: null,
    createdAt: new Date(),
    ...more,
  };
}
