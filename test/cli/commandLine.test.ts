// What holds for every command: help with an example, --json, one clear line for what went wrong, and an exit code that
// a script can act on. And `migrate` and `ledger verify`, which have few words of their own.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.ts';
import { move, newWallet, openBooks, RAIL } from '../ledger/books.ts';
import { createDatabase, type TestDatabase } from '../support/stack.ts';
import { type Ended, runCli } from './run.ts';

let database: TestDatabase;
let folder: string;

beforeAll(async () => {
  database = await createDatabase();
  folder = await mkdtemp(path.join(tmpdir(), 'manilla-cli-'));
});

afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});

const run = (...words: string[]): Promise<Ended> => runCli(words, { databaseUrl: database.url, home: folder });

/** Every command there is, with the words that name it. */
function listCommands(group: Command, prefix: string[] = []): { words: string; command: Command }[] {
  return group.commands.flatMap((command) => {
    const words = [...prefix, command.name()];
    return command.commands.length > 0 ? listCommands(command, words) : [{ words: words.join(' '), command }];
  });
}

const COMMANDS = listCommands(await createProgram());

test.each(COMMANDS)('$words has help with an example, and --json', ({ words, command }) => {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  expect(help).toContain(`Usage: npm run cli -- ${words}`);
  expect(help).toMatch(new RegExp(`\\$ npm run (--silent )?cli -- ${words}`));
  expect(help).toContain('--json');
});

test('help ends with 0, on standard output', async () => {
  const { exitCode, output, errors } = await run('--help');
  expect([exitCode, errors]).toEqual([0, '']);
  for (const group of new Set(COMMANDS.map(({ words }) => words.split(' ')[0])))
    expect(output).toContain(`  ${group} `);
});

describe('a command that is not used right ends with 2, and one line', () => {
  test.each<[string, string[], RegExp]>([
    ['an unknown command', ['keyz'], /^error: unknown command 'keyz'/],
    ['an unknown option', ['keys', 'list', '--jsn'], /^error: unknown option '--jsn' \(Did you mean --json\?\)/],
    ['a missing option', ['organisations', 'create'], /^error: required option '--name <name>' not specified/],
    [
      'a bad choice',
      ['keys', 'create', '--environment', 'prod', '--scopes', 'wallet'],
      /Allowed choices are test, live/,
    ],
    [
      'a bad scope',
      ['keys', 'create', '--environment', 'test', '--scopes', 'wallet,admin'],
      /No such scope: admin\. Choose from wallet, payment, transfer, payout, webhook\./,
    ],
    ['an empty scope', ['keys', 'create', '--environment', 'test', '--scopes', ''], /No such scope: \(empty\)/],
    ['a bad number', ['keys', 'rotate', 'x', '--overlap-hours', 'two'], /It must be a number of hours/],
    ['a bad age', ['flows', 'missing', '--age', 'old'], /It must be a number of seconds/],
    ['an empty name', ['organisations', 'create', '--name', ''], /^error: --name: /],
    ['a bad email', ['organisations', 'create', '--name', 'A', '--email', 'nowhere'], /^error: --email: /],
  ])('%s', async (_, words, says) => {
    const ended = await run(...words);
    expect(ended).toEqual({ exitCode: 2, output: '', errors: expect.stringMatching(says) });
    expect(ended.errors.trimEnd()).not.toContain('\n');
  });

  test('a group without its command shows its commands', async () => {
    const { exitCode, errors } = await run('keys');
    expect([exitCode, errors]).toEqual([2, expect.stringContaining('rotate [options] <id>')]);
  });
});

describe('where the database is', () => {
  const list = ['organisations', 'list', '--json'];

  test('is asked for in one line when nobody says it', async () => {
    expect(await runCli(list, { home: folder })).toEqual({
      exitCode: 1,
      output: '',
      errors: expect.stringMatching(
        /^error: There is no .*quickstart\.json\. Set DATABASE_URL, or run `npm start` first.*\n$/,
      ),
    });
  });

  test('is read from what `npm start` wrote into MANILLA_HOME, and DATABASE_URL goes before it', async () => {
    const home = await mkdtemp(path.join(folder, 'home-'));
    const quickstart = path.join(home, 'quickstart.json');
    await writeFile(quickstart, JSON.stringify({ databaseUrl: database.url, testApiKey: 'never printed' }));
    expect(await runCli(list, { home })).toEqual({ exitCode: 0, output: '[]\n', errors: '' });
    const elsewhere = await runCli(list, { home, databaseUrl: 'postgres://nobody:secret@127.0.0.1:1/x' });
    expect(elsewhere.exitCode).toBe(1);
    expect(elsewhere.errors).toMatch(
      /^error: The database cannot be reached \(.*ECONNREFUSED.*\)\. Start it, or set DATABASE_URL/,
    );
    expect(elsewhere.errors).not.toContain('secret');
    await writeFile(quickstart, '{ half');
    expect(await runCli(list, { home })).toMatchObject({
      exitCode: 1,
      errors: expect.stringMatching(/^error: .*is not a valid quickstart file/),
    });
  });

  test('a database that refuses, or was never migrated, says what to do', async () => {
    const wrong = new URL(database.url);
    wrong.pathname = 'no_such_database';
    const refused = await runCli(list, { home: folder, databaseUrl: wrong.href });
    expect(refused).toMatchObject({
      exitCode: 1,
      errors: expect.stringMatching(/refused the connection .* Correct DATABASE_URL/),
    });
    wrong.pathname = 'postgres';
    const empty = await runCli(list, { home: folder, databaseUrl: wrong.href });
    expect(empty).toMatchObject({ exitCode: 1, errors: expect.stringMatching(/Run: npm run cli -- migrate/) });
  });
});

test('migrate brings a database up to date, and says when it was', async () => {
  expect(await run('migrate', '--json')).toEqual({ exitCode: 0, output: '{\n  "applied": []\n}\n', errors: '' });
  expect(await run('migrate')).toMatchObject({
    exitCode: 0,
    output: 'The database is up to date; no migration was pending.\n',
  });
});

test('ledger verify ends with 0 while the books are whole, and with 1 and the findings when they are not', async () => {
  const books = await openBooks();
  const verify = (...words: string[]) =>
    runCli(['ledger', 'verify', ...words], { databaseUrl: books.url, home: folder });
  const wallet = await newWallet(books, { balance: 1_000 });
  await books.journal.post(move(books.book, wallet, RAIL, 1));
  expect(await verify()).toEqual({
    exitCode: 0,
    output: 'The ledger is ok: 1 books, 2 accounts, 2 transactions, 2 postings.\n',
    errors: '',
  });

  await books.asSuperuser((sql) => sql`UPDATE ledger.accounts SET balance = 998 WHERE code = ${wallet}`);
  const { exitCode, output } = await verify('--json');
  expect([exitCode, JSON.parse(output)]).toEqual([
    1,
    expect.objectContaining({
      findings: [
        expect.objectContaining({ kind: 'BALANCE_MISMATCH', account: wallet, expected: '999', found: '998' }),
        expect.objectContaining({ kind: 'BOOK_UNBALANCED', found: '-1' }),
      ],
    }),
  ]);
  const shown = await verify();
  expect(shown.exitCode).toBe(1);
  for (const words of [wallet, '999', '998', 'not the sum of its postings', '2 violations']) {
    expect(shown.output).toContain(words);
  }
  await books.close();
});
