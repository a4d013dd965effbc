// Fixture of the ledger tests: a database, the journals of several processes, and builders of accounts and movements.
import type postgres from 'postgres';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import { type AccountCode, walletAccount } from '../../src/ledger/chart.ts';
import { Journal } from '../../src/ledger/journal.ts';
import type { Movement, PostResult, Transaction } from '../../src/ledger/movement.ts';
import type { Posting } from '../../src/ledger/postings.ts';
import type { Book, Kobo } from '../../src/money.ts';
import { asSuperuser, createDatabase, nodeOf, ownerOf } from '../support/stack.ts';

/** The account that money comes from: a derived-balance account, which may be negative. */
export const RAIL: AccountCode = 'clearing:sandbox';

export interface Books {
  url: string;
  /** Connections with the application's role. */
  sql: Sql;
  /** Connections with the role of the database owner, who migrates it. */
  owner: Sql;
  /** The same by way of the node of the book, which has its locks, backends and sequences: on one server, that one. */
  onNode: Sql;
  journal: Journal;
  book: Book;
  /** The journal of another process, with its own connections and batches. */
  anotherJournal: (url?: string) => Journal;
  /** The connections of another process. */
  anotherPool: (url?: string) => Sql;
  /** Bypasses all privileges and triggers. */
  asSuperuser: (work: (sql: postgres.Sql) => Promise<unknown>) => Promise<void>;
  close: () => Promise<void>;
}

export async function openBooks(): Promise<Books> {
  const { url, drop } = await createDatabase();
  const sql = connect(url, { connectionsMax: 4 });
  const owner = connect(ownerOf(url), { connectionsMax: 2, role: 'owner' });
  const organisationId = newUuid();
  const onNode = connect(await nodeOf(ownerOf(url), organisationId), { connectionsMax: 2, role: 'owner' });
  const pools = [sql, owner, onNode];
  const anotherPool = (via = url) => {
    const pool = connect(via, { connectionsMax: 2 });
    pools.push(pool);
    return pool;
  };
  return {
    url,
    sql,
    owner,
    onNode,
    anotherPool,
    journal: new Journal(sql),
    book: { organisationId, environment: 'test' },
    anotherJournal: (via) => new Journal(anotherPool(via)),
    asSuperuser: (work) => asSuperuser(url, work),
    close: async () => {
      await Promise.all(pools.map((pool) => pool.end({ timeout: 1 })));
      await drop();
    },
  };
}

/** Opens the account of a wallet, without the wallet. */
export async function openAccount(
  { owner, book }: Books,
  code: AccountCode,
  account: { class: 'customer' | 'own'; verified?: boolean; book?: Book },
): Promise<void> {
  const { organisationId, environment } = account.book ?? book;
  await owner`
    INSERT INTO ledger.accounts (organisation_id, environment, code, class, balance, verified)
    VALUES (${organisationId}, ${environment}, ${code}, ${account.class}, 0, ${account.verified ?? true})`;
}

/** Opens a wallet account, verified unless stated otherwise, with this balance. */
export async function newWallet(
  books: Books,
  options: { balance?: Kobo; verified?: boolean; book?: Book } = {},
): Promise<AccountCode> {
  const book = options.book ?? books.book;
  const code = walletAccount(newUuid());
  await openAccount(books, code, { class: 'customer', verified: options.verified ?? true, book });
  if (options.balance !== undefined && options.balance > 0) {
    await expectPosted(books.journal.post(move(book, RAIL, code, options.balance)));
  }
  return code;
}

/** Names the organisation, and gives it its settlement wallets: a command lists organisations with them. */
export async function createSettlementWallets(books: Books): Promise<void> {
  const { owner, book } = books;
  const { organisationId } = book;
  await owner`INSERT INTO organisations (organisation_id, name) VALUES (${organisationId}, 'Ada')`;
  const wallets = await owner<{ environment: Book['environment']; accountCode: string }[]>`
    INSERT INTO wallets (organisation_id, environment, id, kind, email, created_at)
    SELECT ${organisationId}, environment, gen_random_uuid(), 'settlement', 'ada@test.example', now()
    FROM (VALUES ('test'), ('live')) AS e (environment)
    RETURNING environment, account_code`;
  for (const { environment, accountCode } of wallets) {
    await openAccount(books, accountCode, { class: 'own', book: { organisationId, environment } });
  }
}

/** Sets account columns that operators and KYC change. */
export async function setAccount(
  books: Books,
  code: AccountCode,
  values: {
    status?: string;
    verified?: boolean;
    balance_max?: Kobo;
    posting_max?: Kobo;
    period_maxima?: (Kobo | null)[];
  },
): Promise<void> {
  await books.owner`
    UPDATE ledger.accounts SET ${books.owner(values)}
    WHERE organisation_id = ${books.book.organisationId} AND code = ${code}`;
}

/** A transaction with these postings and its own business key. */
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
 * Posts these as one batch: the first call occupies the journal, so that those behind it are collected for the next
 * statement.
 */
export async function postTogether(books: Books, movements: readonly Movement[]): Promise<PostResult[]> {
  const busy = books.journal.post({ book: books.book });
  const results = movements.map((movement) => books.journal.post(movement));
  await busy;
  return await Promise.all(results);
}

/** The balance of an account: the stored one, or the sum of its postings. */
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

/** How often a business key was posted: 0 or 1 in a consistent ledger. */
export async function timesPosted(books: Books, movement: Movement): Promise<number> {
  const [row] = await books.sql<{ times: number }[]>`
    SELECT count(*) AS times FROM ledger.transactions t
    JOIN ledger.postings p ON p.organisation_id = t.organisation_id AND p.transaction_id = t.id
    WHERE t.organisation_id = ${movement.book.organisationId} AND t.key = ${movement.transaction?.key ?? ''}`;
  return row?.times ?? 0;
}

export async function expectPosted(result: Promise<PostResult>): Promise<void> {
  const actual = await result;
  if (actual.outcome !== 'posted') throw new Error(`expected to post, got ${JSON.stringify(actual)}`);
}

/** A complete payment row as the journal accepts it. */
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
    referenceIsFree: false,
    description: null,
    onMismatch: 'hold',
    returnUrl: null,
    expiresAt: new Date(),
    settledAt: null,
    createdAt: new Date(),
    ...more,
  };
}
