// The upgrade of a book to numbers of entries (migrations 0076 to 0080), while processes of the version before post and
// without rewriting a posting. `versionBefore/post.sql.txt` is that version's ledger.post.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { migrate } from '../../src/database/migrate.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid } from '../../src/ids.ts';
import { batchColumns } from '../../src/ledger/batch.ts';
import { verifyLedger } from '../../src/ledger/bookChecks.ts';
import { type AccountCode, walletAccount } from '../../src/ledger/chart.ts';
import { Journal } from '../../src/ledger/journal.ts';
import type { Movement } from '../../src/ledger/movement.ts';
import { POST } from '../../src/ledger/postStatements.ts';
import { verify } from '../../src/ledger/verify.ts';
import type { Book } from '../../src/money.ts';
import type { Wallet } from '../../src/resources/wallets/queries.ts';
import { balanceAt, listStatement } from '../../src/resources/wallets/statement.ts';
import { sealCheck, sealNext } from '../../src/verification/seals.ts';
import { createEmptyDatabase, ownerOf, type TestDatabase } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { move, RAIL, transaction } from './books.ts';

const MIGRATIONS = new URL('../../src/database/migrations/', import.meta.url);
const FUNCTIONS = new URL('../../src/ledger/sql/', import.meta.url);
/** The last migration of the version before. */
const LAST_BEFORE = 70;
/** The numbers of accounts of the version before are so much above the last id of its sequence. */
const ABOVE = 1_000_000_000;

const textOf = (file: string, folder: URL): string => readFileSync(new URL(file, folder), 'utf8');
const MIGRATION_FILES = readdirSync(MIGRATIONS).toSorted();
const numberOf = (file: string): number => Number(file.slice(0, 4));

let database: TestDatabase;
let owner: Sql;
let old: Sql;
const book: Book = { organisationId: newUuid(), environment: 'test' };

/** A database of the version before: its tables, and the functions that post. */
beforeEach(async () => {
  database = await createEmptyDatabase();
  owner = connect(ownerOf(database.url), { connectionsMax: 2, role: 'owner' });
  old = connect(ownerOf(database.url), { connectionsMax: 4, role: 'owner' });
  await owner.unsafe(`
    CREATE TABLE migrations (number integer PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());`);
  for (const file of MIGRATION_FILES.filter((name) => numberOf(name) <= LAST_BEFORE)) {
    const text = textOf(file, MIGRATIONS);
    const parts = file.endsWith('_concurrently.sql') ? text.replaceAll(/^--.*$/gm, '').split(';') : [text];
    for (const part of parts) if (part.trim() !== '') await owner.unsafe(part);
    const checksum = createHash('sha256').update(text).digest('hex');
    await owner`INSERT INTO migrations (number, name, checksum) VALUES (${numberOf(file)}, ${file}, ${checksum})`;
  }
  for (const file of ['accounts.sql', 'write_rows.sql']) await owner.unsafe(textOf(file, FUNCTIONS));
  await owner.unsafe(textOf('versionBefore/post.sql.txt', new URL('./', import.meta.url)));
});

afterEach(async () => {
  await Promise.all([owner.end(), old.end()]);
  await database.drop();
});

/** The arguments that the version before does not have, each with the one that had its documents, as a list. */
const TEXTS = { outcome_texts: 'outcome_responses', event_texts: 'event_documents', message_texts: 'messages' };
const NAMES = [...POST.text.matchAll(/(\w+) => \$/g)].map(([, name]) => name as string);
const NAMES_BEFORE = NAMES.slice(0, NAMES.indexOf('account_entries'));
const POST_BEFORE = `${POST.text.slice(0, POST.text.indexOf(', account_entries'))})`
  .replaceAll(
    /(outcome_responses|event_documents|messages) => (\$\d+)::text\[\]/g,
    "$1 => string_to_array($2::text, chr(31), '')",
  )
  .replace(/(resources => \$\d+)::jsonb/, '$1::text::jsonb');

/** Posts a batch as the version before does: its statement has no numbers of entries, and splits the documents. */
async function postBefore(...movements: Movement[]): Promise<void> {
  const values = POST.values(book, batchColumns(movements));
  const byName = new Map(NAMES.map((name, index) => [name, values[index] ?? '']));
  for (const [name, before] of Object.entries({ ...TEXTS, resource_text: 'resources' }))
    byName.set(before, byName.get(name) ?? '');
  const before = NAMES_BEFORE.map((name) => byName.get(name) ?? '');
  const refused = await old.unsafe(POST_BEFORE, before, { prepare: true });
  if (refused.length > 0) throw new Error(`not posted: ${JSON.stringify(refused)}`);
}

async function openAccount(): Promise<AccountCode> {
  const code = walletAccount(newUuid());
  await owner`SELECT ledger.open_account(${book.organisationId}, 'test', ${code}, true)`;
  return code;
}

const walletOf = async (code: AccountCode): Promise<Wallet> => {
  const [row] = await owner<{ accountId: number }[]>`SELECT id AS account_id FROM ledger.accounts WHERE code = ${code}`;
  return { id: code.slice('wallet:'.length), ...row } as unknown as Wallet;
};

const statement = async (code: AccountCode, after: string | null = null) =>
  await listStatement(
    owner,
    book,
    await walletOf(code),
    {},
    {
      limit: 1_000,
      after: after === null ? null : { createdAt: new Date(), id: after },
    },
  );

test('a book keeps its order, numbers what follows, and no caller of the version before fails meanwhile', async () => {
  const [a, b] = [await openAccount(), await openAccount()];
  await postBefore(move(book, RAIL, a, 10_000), move(book, RAIL, b, 10_000));
  for (let n = 1; n <= 5; n += 1) await postBefore(move(book, a, b, n), move(book, b, a, 1));
  const [before] = await owner<{ cursor: string; last: number }[]>`
    SELECT (array_agg(id ORDER BY id DESC))[3]::text AS cursor, max(id) AS last FROM ledger.postings`;

  // Two processes of the version before post while the tables and functions are changed.
  let posted = 0;
  let isOver = false;
  const callers = [0, 1].map(async (caller) => {
    for (let n = 0; !isOver; n += 1) {
      const [debit, credit] = (n + caller) % 2 === 0 ? [a, b] : [b, a];
      const fee = { debit, credit: 'income:fees' as const, amount: 1 };
      await postBefore({ book, transaction: transaction([{ debit, credit, amount: 2 }, fee]) }, move(book, RAIL, a, 3));
      posted += 1;
    }
  });
  const untilMore = async (more: number): Promise<void> => {
    const from = posted;
    await waitFor('further postings', () => Promise.resolve(posted >= from + more));
  };
  await untilMore(5);
  const { applied } = await migrate(ownerOf(database.url));
  expect(applied).toContain('0077_entry_numbers.sql');
  expect(applied).toContain('post.sql');
  await untilMore(20);
  const journal = new Journal(owner);
  for (let n = 0; n < 5; n += 1) expect(await journal.post(move(book, a, b, 1))).toEqual({ outcome: 'posted' });
  isOver = true;
  await Promise.all(callers);

  const [account] = await owner<{ after: number }[]>`
    SELECT numbered_after AS after FROM ledger.accounts WHERE code = ${a}`;
  const after = account?.after ?? 0;
  expect(after).toBeGreaterThan(before?.last ?? 0);
  for (const code of [a, b]) {
    const lines = await statement(code);
    const numbers = lines.map(({ number }) => number);
    expect(numbers).toEqual(numbers.toSorted((x, y) => y - x));
    const numbered = numbers.filter((number) => number > after).toReversed();
    expect(numbered.length).toBeGreaterThan(20);
    expect(numbered).toEqual(numbered.map((_, index) => after + 1 + index));
    for (const [index, { balanceAfter, direction, amount }] of lines.entries()) {
      const previous = lines[index + 1]?.balanceAfter ?? 0;
      expect(balanceAfter).toBe(previous + (direction === 'credit' ? amount : -amount));
    }
    // As of a time before, and by a cursor that was given out before.
    const [oldest, second] = lines.toReversed();
    expect(await balanceAt(owner, book, await walletOf(code), second?.createdAt ?? new Date())).toBeGreaterThan(0);
    expect(oldest?.number).toBeLessThanOrEqual(2);
    const rest = await statement(code, before?.cursor);
    expect(rest).toHaveLength(lines.filter(({ number }) => number < Number(before?.cursor)).length);
    expect(rest[0]).toMatchObject({ number: Math.max(...rest.map(({ number }) => number)) });
  }
  // A new account begins at 1.
  const fresh = await openAccount();
  await journal.post(move(book, RAIL, fresh, 7));
  expect((await statement(fresh)).map(({ number }) => number)).toEqual([1]);
  for (const pageSize of [7, 10_000]) expect((await verifyLedger(owner, { pageSize })).findings).toEqual([]);
});

test('before the functions are replaced, each posting of the version before has its id and its numbers', async () => {
  const [a, b] = [await openAccount(), await openAccount()];
  await postBefore(move(book, RAIL, a, 100));
  for (const file of ['0076_account_numbers.sql', '0077_entry_numbers.sql']) {
    await owner.begin((sql) => sql.unsafe(textOf(file, MIGRATIONS)));
  }
  await postBefore(
    { book, transaction: transaction([1, 2, 3].map((amount) => ({ debit: a, credit: b, amount }))) },
    move(book, RAIL, a, 9),
  );
  const rows = await owner`
    SELECT amount, debit_number - ${ABOVE}::bigint AS debit_number, credit_number - ${ABOVE}::bigint AS credit_number, id > 1000000000000000 AS is_time FROM ledger.postings ORDER BY id`;
  expect(rows.map((row) => ({ ...row }))).toEqual([
    { amount: 100, debitNumber: null, creditNumber: null, isTime: false },
    { amount: 1, debitNumber: 2, creditNumber: 2, isTime: true },
    { amount: 2, debitNumber: 3, creditNumber: 3, isTime: true },
    { amount: 3, debitNumber: 4, creditNumber: 4, isTime: true },
    { amount: 9, debitNumber: null, creditNumber: 5, isTime: true },
  ]);
});

test('a seal of the version before is compared as it was made, and the next one follows it', async () => {
  const a = await openAccount();
  await postBefore(move(book, RAIL, a, 100), move(book, RAIL, a, 200));
  await owner.unsafe(`
    ALTER TABLE ledger.postings DISABLE TRIGGER append_only;
    UPDATE ledger.postings SET created_at = now() - interval '2 hours';
    ALTER TABLE ledger.postings ENABLE TRIGGER append_only;`);
  await migrate(ownerOf(database.url));
  await owner`
    INSERT INTO ledger.seals (organisation_id, environment, number, sealed_until, posting_count, amount, digest)
    SELECT ${book.organisationId}, 'test', 1, now() - interval '1 hour', 2, 300,
           sha256(string_agg(ledger.posting_digest(p, t), '' ORDER BY p.id))
    FROM ledger.postings p JOIN ledger.transactions t ON t.id = p.transaction_id`;
  expect((await verify(owner, [sealCheck()])).findings).toEqual([]);
  await new Journal(owner).post(move(book, RAIL, a, 5));
  await owner.unsafe(`
    ALTER TABLE ledger.postings DISABLE TRIGGER append_only;
    UPDATE ledger.postings SET created_at = now() - interval '2 minutes' WHERE amount = 5;
    ALTER TABLE ledger.postings ENABLE TRIGGER append_only;`);
  expect(await sealNext(owner, 60_000)).toEqual({ seals: 1, isBehind: false });
  expect(await owner`SELECT number, version FROM ledger.seals ORDER BY number`).toEqual([
    { number: 1, version: 1 },
    { number: 2, version: 2 },
  ]);
  expect((await verify(owner, [sealCheck()])).findings).toEqual([]);
});

test('a new installation has neither the trigger of the upgrade nor a sequence of postings', async () => {
  const fresh = await createEmptyDatabase();
  try {
    await migrate(ownerOf(fresh.url));
    const sql = connect(ownerOf(fresh.url), { connectionsMax: 1, role: 'owner' });
    expect(
      await sql`SELECT tgname AS name FROM pg_trigger WHERE tgrelid = 'ledger.postings'::regclass ORDER BY 1`,
    ).toEqual([{ name: 'append_only' }, { name: 'archived_only' }]);
    expect(await sql`SELECT pg_get_serial_sequence('ledger.postings', 'id') AS sequence`).toEqual([{ sequence: null }]);
    await sql.end();
  } finally {
    await fresh.drop();
  }
});
