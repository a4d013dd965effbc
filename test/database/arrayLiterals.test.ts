// Array literals are read by Postgres as the values that they were made of, whatever characters these have.
import { afterAll, expect, test } from '@jest/globals';
import { compositeArrayLiteral, quotedArrayLiteral } from '../../src/database/arrayLiterals.ts';
import { connect } from '../../src/database/pool.ts';
import { createDatabase } from '../support/stack.ts';

const TEXTS = ['plain', '', ' ', 'NULL', 'a,b', '(a)', '{a}', '"', '\\', '\\"', "'", 'ọ̀rẹ́ ₦', 'a\nb', null];

const database = await createDatabase();
const sql = connect(database.url, { connectionsMax: 1 });

afterAll(async () => {
  await sql.end();
  await database.drop();
});

test('an array of texts', async () => {
  const literal = quotedArrayLiteral(TEXTS, (text) => text);
  const rows = await sql<{ text: string | null }[]>`SELECT unnest(${literal}::text::text[]) AS text`;
  expect(rows.map(({ text }) => text)).toEqual(TEXTS);
});

test('an array of a composite type', async () => {
  const literal = compositeArrayLiteral([null, ...TEXTS], (text) => (text === null ? null : [7, text, null]));
  const rows = await sql`SELECT movement, resolves, reverses FROM unnest(${literal}::text::ledger.batch_link[])`;
  const empty = { movement: null, resolves: null, reverses: null };
  expect([...rows]).toEqual(
    [null, ...TEXTS].map((text) => (text === null ? empty : { movement: 7, resolves: text, reverses: null })),
  );
});
