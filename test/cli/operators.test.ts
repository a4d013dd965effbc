// Operators: which command needs which scope, how the first one is made, and whose code a workflow accepts.
import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Command } from 'commander';
import { createProgram } from '../../src/cli/program.ts';
import { readSettings } from '../../src/cli/settings.ts';
import { COMMAND_SCOPES, type SignedCommand, signIn } from '../../src/cli/signIn.ts';
import { connect, type Sql } from '../../src/database/pool.ts';
import { newUuid, publicId } from '../../src/ids.ts';
import { hashApiKey, newApiKey } from '../../src/resources/keys.ts';
import { insertOperator, replaceOperatorKey, revokeOperator } from '../../src/resources/operators.ts';
import { OWNER_PROOF, proofOfOperator } from '../../src/resources/proofs.ts';
import { OPERATOR_SCOPES, type OperatorScope } from '../../src/workflows/operators/messages.ts';
import { createDatabase, ownerOf, type TestDatabase } from '../support/stack.ts';
import { runCli } from './run.ts';

let database: TestDatabase;
let owner: Sql;
let sql: Sql;

beforeAll(async () => {
  database = await createDatabase();
  owner = connect(ownerOf(database.url), { connectionsMax: 1, role: 'owner' });
  sql = connect(database.url, { connectionsMax: 2 });
});

afterAll(async () => {
  await Promise.all([owner.end(), sql.end()]);
  await database.drop();
});

async function createOperator(name: string, scopes: readonly OperatorScope[]): Promise<{ id: string; key: string }> {
  const [id, key] = [newUuid(), newApiKey('operator')];
  await insertOperator(owner, { id, name, scopes, key: { hash: hashApiKey(key), hint: key.slice(-4) } }, OWNER_PROOF);
  return { id, key };
}

/** A command line for each command that signs in. */
const WORDS: Record<SignedCommand, string> = {
  'organisations create': '--name Acme',
  'keys create': '--environment test --scopes wallet',
  'keys rotate': 'svc_x_key',
  'keys revoke': 'svc_x_key',
  'operators create': 'bola --scopes view',
  'operators rotate': 'bola',
  'operators revoke': 'bola',
  'operators code': 'svc_x_wth fail',
  'flows import': '--since 2026-01-01 --reason why --evidence it',
  'fees set': 'fees.json --environment test --reason why',
  'fees show': '--environment test',
  'limits set': 'limits.json --environment test --reason why',
  'limits show': '--environment test',
  'limits tier': 'svc_x_wlt tier2 --reason why --evidence it',
  'wallets show': 'svc_x_wlt',
  'wallets freeze': 'svc_x_wlt --reason why',
  'wallets unfreeze': 'svc_x_wlt --reason why',
  'wallets close': 'svc_x_wlt --reason why',
  'wallets write-off': 'svc_x_wlt --reason why --evidence it',
  'wallets debt-paid': 'svc_x_wlt --into clearing:x --reason why --evidence it',
  'rail pause': 'test --reason why',
  'rail resume': 'test --reason why',
  'rail connect': 'monnify --environment live --reason why',
  'rail rotate': '--environment live --reason why',
  'rail disconnect': '--environment live --reason why',
  'rail check': 'monnify',
  'attention retry': 'svc_x_wth --reason why',
  'attention resolve': 'svc_x_wth --action fail --reason why',
  'webhooks redeliver': `${publicId('webhookEndpoint', newUuid())} --reason why`,
  'reviews list': '',
  'reviews show': `${publicId('reviewCase', newUuid())}`,
  'reviews resolve': 'svc_x_rev --action credit --reason why',
  'ledger prove': '--day 2026-11-30 --environment test',
  'ledger close-period': '2026-11 --environment test',
  'ledger sweep-fees': '--environment test',
  'reconciliation import': 'statement.csv --rail bank --environment test',
  'adjustments request': '--environment test --posting a:b\tc:d\t1 --reason why --evidence it',
  'adjustments reverse': `${publicId('adjustment', newUuid())} --reason why --evidence it`,
  'adjustments approve': `${publicId('adjustment', newUuid())} --reason why`,
  'adjustments reject': `${publicId('adjustment', newUuid())} --reason why`,
  'adjustments list': '',
  'adjustments show': `${publicId('adjustment', newUuid())}`,
};

/** Commands that write no audit entry and show no customer's data. */
const UNSIGNED = [
  'organisations list',
  'operators list',
  'keys list',
  'migrate',
  'ledger verify',
  'ledger trial-balance',
  'ledger account',
  'ledger income',
  'ledger days',
  'attention list',
  'attention show',
  'flows missing',
  'flows lost',
  'rail show',
  'webhooks list',
  'rail requery',
  'reconciliation run',
  'ledger open-items',
  'reconciliation show',
];

describe('commands', () => {
  let environment: NodeJS.ProcessEnv;
  beforeEach(() => {
    environment = { ...process.env };
    Object.assign(process.env, {
      DATABASE_URL: database.url,
      OWNER_DATABASE_URL: ownerOf(database.url),
      MANILLA_HOME: tmpdir(),
    });
    delete process.env.MANILLA_OPERATOR_KEY;
  });
  afterEach(() => {
    process.env = environment;
  });

  const leavesOf = (command: Command, words: string[] = []): string[] =>
    command.commands.length === 0
      ? [words.join(' ')]
      : command.commands.flatMap((child) => leavesOf(child, [...words, child.name()]));

  test('every command is in the table of scopes, or writes no audit entry', async () => {
    const known = [...Object.keys(COMMAND_SCOPES), ...UNSIGNED];
    expect(leavesOf(await createProgram()).toSorted()).toEqual(known.toSorted());
  });

  test.each(Object.entries(WORDS))('`%s` does nothing without a key', async (command, words) => {
    const line = [...command.split(' '), ...words.split(' ').filter((word) => word !== '')];
    const program = await createProgram(line[0]);
    await expect(program.parseAsync(line, { from: 'user' })).rejects.toThrow(`${command} records who acts`);
    expect(await sql`SELECT FROM audit_log WHERE operator <> 'test'`).toHaveLength(0);
  });

  test('every command needs its scope: an operator with all others is refused', async () => {
    const outcome = async (operatorKey: string, command: SignedCommand): Promise<string> => {
      try {
        return (await signIn(sql, { ...readSettings(), operatorKey }, command)).name;
      } catch (error) {
        return (error as Error).message;
      }
    };
    for (const scope of OPERATOR_SCOPES) {
      const others = OPERATOR_SCOPES.filter((other) => other !== scope);
      const has = await createOperator(`has-${scope}`, [scope]);
      const lacks = await createOperator(`lacks-${scope}`, others);
      const commands = (Object.keys(COMMAND_SCOPES) as SignedCommand[]).filter(
        (name) => COMMAND_SCOPES[name] === scope,
      );
      const refusal = (command: string) =>
        `${command} needs the scope ${scope}; lacks-${scope} has ${others.join(', ')}. Ask an operator who has it.`;
      for (const command of commands) {
        expect(await outcome(has.key, command)).toBe(`has-${scope}`);
        // Every operator may view.
        expect(await outcome(lacks.key, command)).toBe(scope === 'view' ? 'lacks-view' : refusal(command));
      }
    }
  });
});

describe('keys', () => {
  test('the database owner makes the first admin without a key, and from then on needs the key of an admin', async () => {
    const fresh = await createDatabase();
    const asOwner = connect(ownerOf(fresh.url), { connectionsMax: 1, role: 'owner' });
    await asOwner`DELETE FROM operators`;
    const run = (operatorKey: string | undefined, ...words: string[]) =>
      runCli(['operators', ...words, '--json'], { databaseUrl: fresh.url, home: tmpdir(), operatorKey });
    const first = await run(undefined, 'create', 'bola', '--scopes', 'admin');
    expect(first.exitCode).toBe(0);
    const { id, key } = JSON.parse(first.output) as { id: string; key: string };
    expect(await run(undefined, 'create', 'chidi', '--scopes', 'admin')).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('set MANILLA_OPERATOR_KEY'),
    });
    expect((await run(key, 'create', 'chidi', '--scopes', 'finance')).exitCode).toBe(0);
    expect(await run(key, 'create', 'chidi', '--scopes', 'admin')).toMatchObject({
      exitCode: 1,
      errors: expect.stringContaining('never given again'),
    });
    expect(await asOwner`SELECT operator, action, reason FROM audit_log ORDER BY created_at, id`).toEqual([
      { operator: 'database owner', action: 'operator.create', reason: 'admin' },
      { operator: 'bola', action: 'operator.create', reason: 'finance' },
    ]);
    expect(await asOwner`SELECT FROM audit_log WHERE subject = ${id}`).toHaveLength(1);
    const [stored] = await asOwner`SELECT string_agg(o::text, '') || (SELECT string_agg(a::text, '') FROM audit_log a)
      AS everything FROM operators o`;
    expect(stored?.everything).not.toContain(key.slice(0, -4));
    await asOwner.end();
    await fresh.drop();
  });

  test('a rotated or revoked key no longer signs in; the operator keeps the id', async () => {
    const { id, key } = await createOperator('dayo', ['admin']);
    const next = newApiKey('operator');
    const stored = { hash: hashApiKey(next), hint: next.slice(-4) };
    expect(await replaceOperatorKey(owner, 'dayo', stored, proofOfOperator(key))).toBe(id);
    const settings = {
      databaseUrl: database.url,
      ownerDatabaseUrl: undefined,
      temporalAddress: undefined,
      organisationId: undefined,
      keys: undefined,
      lineAccounts: {},
      interest: 'own' as const,
    };
    const signedIn = (operatorKey: string) => signIn(sql, { ...settings, operatorKey }, 'keys create');
    await expect(signedIn(key)).rejects.toThrow('unknown or revoked');
    expect(await signedIn(next)).toMatchObject({ id, name: 'dayo' });
    await revokeOperator(owner, 'dayo', 'left', proofOfOperator(next));
    await expect(signedIn(next)).rejects.toThrow('unknown or revoked');
  });

  test('the application role can neither create an operator nor change one', async () => {
    const refused = { code: '42501' };
    await expect(sql`INSERT INTO operators (id, name, scopes, key_hash, hint)
      VALUES (${newUuid()}, 'mallory', '{admin}', 'x', 'x')`).rejects.toMatchObject(refused);
    await expect(sql`UPDATE operators SET scopes = '{admin}'`).rejects.toMatchObject(refused);
    await expect(sql`UPDATE operators SET revoked_at = NULL`).rejects.toMatchObject(refused);
  });
});
