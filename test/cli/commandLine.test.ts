// Common to every command: help with an example, --json, one-line errors, and exit codes for scripts. Also `migrate`
// and `ledger verify`.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.ts';
import { requireUuid } from '../../src/ids.ts';
import { walletOf } from '../../src/ledger/chart.ts';
import { depositMovement } from '../../src/resources/inboundCredits/movements.ts';
import { newWallet, openBooks } from '../ledger/books.ts';
import { receivedCredit } from '../resources/movementTable.ts';
import { createDatabase } from '../support/stack.ts';
import { type Ended, runCli, runCliProcess } from './run.ts';

const database = await createDatabase();
const folder = await mkdtemp(path.join(tmpdir(), 'manilla-cli-'));

afterAll(async () => {
  await database.drop();
  await rm(folder, { recursive: true });
});

const run = (...words: string[]): Promise<Ended> => runCli(words, { databaseUrl: database.url, home: folder });
const runProcess = (...words: string[]): Promise<Ended> =>
  runCliProcess(words, { databaseUrl: database.url, home: folder });

/** Every command with the words that name it. */
function listCommands(group: Command, prefix: string[] = []): { words: string; command: Command }[] {
  return group.commands.flatMap((command) => {
    const words = [...prefix, command.name()];
    return command.commands.length > 0 ? listCommands(command, words) : [{ words: words.join(' '), command }];
  });
}

const COMMANDS = listCommands(await createProgram());

test.each(COMMANDS)('the command "$words" has help with an example, and the option --json', ({ words, command }) => {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  expect(help).toContain(`Usage: npm run cli -- ${words}`);
  expect(help).toMatch(new RegExp(`\\$ npm run (--silent )?cli -- ${words}`));
  expect(help).toContain('--json');
});

/** Every option that is a time, a day or a range of them. */
const TIMES = COMMANDS.flatMap(({ words, command }) =>
  command.options
    .filter(({ flags }) => /<(time|day)>$/.test(flags))
    .map(({ flags, parseArg }) => ({ title: `${words} ${flags}`, parseArg })),
);

test.each(TIMES)('$title takes a day that exists, and no other text', ({ parseArg }) => {
  expect(TIMES.length).toBeGreaterThan(10);
  const texts = ['2026-02-30', '2026-13-01', '01/02/2026', '05/06/2026 10:00', '1', '', 'today', '20261130'];
  const times = ['2026-11-31T10:00:00Z', '2026-11-30T25:00:00Z', '2026-11-30T10:00:00', '2026-11-30T10:00:00+15:00'];
  for (const text of [...texts, ...times]) {
    expect(() => parseArg?.(text, undefined)).toThrow(expect.objectContaining({ code: 'commander.invalidArgument' }));
  }
  expect(parseArg?.('2026-11-30', undefined)).toBeDefined();
});

test('a period that ends before it begins is refused', async () => {
  const { exitCode, errors } = await run('reconciliation', 'run', '--from', '2026-11-03', '--to', '2026-11-02');
  expect([exitCode, errors]).toEqual([2, expect.stringContaining('The period ends before it begins.')]);
});

test('--help prints every command group to standard output and exits with 0', async () => {
  const { exitCode, output, errors } = await runProcess('--help');
  expect([exitCode, errors]).toEqual([0, '']);
  for (const group of new Set(COMMANDS.map(({ words }) => words.split(' ')[0])))
    expect(output).toContain(`  ${group} `);
});

describe('usage errors', () => {
  test.each<[string, string[], RegExp]>([
    ['an unknown command', ['keyz'], /^error: unknown command 'keyz'/],
    ['an unknown option', ['keys', 'list', '--jsn'], /^error: unknown option '--jsn' \(Did you mean --json\?\)/],
    ['a missing option', ['organisations', 'create'], /^error: required option '--name <name>' not specified/],
    [
      'an invalid choice',
      ['keys', 'create', '--environment', 'prod', '--scopes', 'wallet'],
      /Allowed choices are test, live/,
    ],
    [
      'an unknown scope',
      ['keys', 'create', '--environment', 'test', '--scopes', 'wallet,admin'],
      /No such scope: admin\. Choose from wallet, wallet:read, payment, payment:read, /,
    ],
    ['an empty scope', ['keys', 'create', '--environment', 'test', '--scopes', ''], /No such scope: \(empty\)/],
    ['an invalid number', ['keys', 'rotate', 'x', '--overlap-hours', 'two'], /It must be a number of hours/],
    ['an invalid age', ['flows', 'missing', '--age', 'old'], /It must be a whole number of seconds/],
    ['an empty name', ['organisations', 'create', '--name', ''], /--name .* It must have 1 to 200/],
    ['an invalid email', ['organisations', 'create', '--name', 'A', '--email', 'nowhere'], /--email .* Invalid email/],
  ])('a command with %s exits with 2 and one line on standard error', async (_, words, message) => {
    const result = await (words[0] === 'keyz' ? runProcess : run)(...words);
    expect(result).toEqual({ exitCode: 2, output: '', errors: expect.stringMatching(message) });
    expect(result.errors.trimEnd()).not.toContain('\n');
  });

  test('a command group without a command lists its commands and exits with 2', async () => {
    const { exitCode, errors } = await runProcess('keys');
    expect([exitCode, errors]).toEqual([2, expect.stringContaining('rotate [options] [id]')]);
  });
});

describe('the database address', () => {
  const list = ['organisations', 'list', '--json'];

  test('a missing database address is reported in one line', async () => {
    expect(await runCliProcess(list, { home: folder })).toEqual({
      exitCode: 1,
      output: '',
      errors: expect.stringMatching(
        /^error: There is no .*quickstart\.json\. Set DATABASE_URL, or run `npm start` first.*\n$/,
      ),
    });
  });

  test('the database address is read from quickstart.json in MANILLA_HOME, and DATABASE_URL has precedence', async () => {
    const home = await mkdtemp(path.join(folder, 'home-'));
    const quickstart = path.join(home, 'quickstart.json');
    await writeFile(quickstart, JSON.stringify({ databaseUrl: database.url, testApiKey: 'never printed' }));
    expect(await runCli(list, { home })).toEqual({ exitCode: 0, output: '[]\n', errors: '' });
    const overridden = await runCli(list, { home, databaseUrl: 'postgres://nobody:secret@127.0.0.1:1/x' });
    expect(overridden.exitCode).toBe(1);
    expect(overridden.errors).toMatch(
      /^error: The database cannot be reached \(.*ECONNREFUSED.*\)\. Start it, or set DATABASE_URL/,
    );
    expect(overridden.errors).not.toContain('secret');
    await writeFile(quickstart, '{ half');
    expect(await runCli(list, { home })).toMatchObject({
      exitCode: 1,
      errors: expect.stringMatching(/^error: .*is not valid/),
    });
  });

  test('a database that refuses the connection or has not been migrated is reported with what to do', async () => {
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

test('migrate updates a database and reports if it was up to date', async () => {
  expect(await run('migrate', '--json')).toEqual({ exitCode: 0, output: '{\n  "applied": []\n}\n', errors: '' });
  expect(await run('migrate')).toMatchObject({
    exitCode: 0,
    output: 'The database is up to date; no migration was pending.\n',
  });
});

test('ledger verify exits with 0 without violations, and with 1 and the findings otherwise', async () => {
  const books = await openBooks();
  const verify = (...words: string[]) =>
    runCliProcess(['ledger', 'verify', ...words], { databaseUrl: books.url, home: folder });
  const wallet = await newWallet(books);
  const credit = receivedCredit(999, { ownerKind: 'wallet', ownerId: requireUuid('wallet', walletOf(wallet) ?? '') });
  await books.journal.post({ book: books.book, rows: { inbound_credits: [credit] } });
  await books.journal.post(depositMovement(books.book, credit, credit.ownerId ?? ''));
  expect(await verify()).toEqual({
    exitCode: 0,
    output: 'The ledger is ok: 1 books, 2 accounts, 1 transactions, 1 postings.\n',
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
  const result = await verify();
  expect(result.exitCode).toBe(1);
  for (const words of [wallet, '₦9.99', '₦9.98', 'not the sum of its postings', '2 violations']) {
    expect(result.output).toContain(words);
  }
  await books.close();
});
