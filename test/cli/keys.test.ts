// `organisations …` and `keys …`: created keys work, are printed once, and every change is in the audit log.
import { tmpdir } from 'node:os';
import { afterAll, describe, expect, test } from '@jest/globals';
import { ApiKeys } from '../../src/api/admission/apiKeys.ts';
import { connect } from '../../src/database/pool.ts';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import { createDatabase, ownerOf } from '../support/stack.ts';
import { type Ended, runCli } from './run.ts';

let acme: { organisationId: string; settlementWalletId: string; liveSettlementWalletId: string };

const run = (...words: string[]): Promise<Ended> => runCli(words, { databaseUrl: database.url, home: tmpdir() });

/** The JSON of a command that must succeed. */
// biome-ignore lint/suspicious/noExplicitAny: the output differs per command
async function json(...words: string[]): Promise<any> {
  const { exitCode, output, errors } = await run(...words, '--json');
  expect([exitCode, errors]).toEqual([0, '']);
  return JSON.parse(output);
}

/** The scopes, or the error code, of a request with this key in a process that has not cached it. */
async function useKey(key: string): Promise<string[] | string> {
  try {
    const { scopes } = await new ApiKeys(sql).authenticate(
      `Bearer ${key}`,
      key.startsWith('svc_test_') ? 'test' : 'live',
      '127.0.0.1',
    );
    return [...scopes];
  } catch (error) {
    return (error as { code: string }).code;
  }
}

const audit = () => sql<{ action: string; operator: string; subject: string; reason: string | null }[]>`
  SELECT action, operator, subject, reason FROM audit_log ORDER BY created_at, id`;

const database = await createDatabase();
const sql = connect(database.url, { connectionsMax: 2 });
acme = await json('organisations', 'create', '--name', 'Acme Ltd');

afterAll(async () => {
  await sql.end();
  await database.drop();
});

describe('organisations commands', () => {
  test('organisations create makes a settlement wallet in each environment, ready for use', async () => {
    expect(Object.keys(acme)).toEqual(['organisationId', 'settlementWalletId', 'liveSettlementWalletId']);
    const wallets = await sql`
      SELECT w.id, w.environment, w.kind, w.email, a.code, a.balance, a.verified, a.balance_max, a.posting_max
      FROM wallets w JOIN ledger.accounts a ON a.organisation_id = w.organisation_id AND a.code = w.account_code
        AND a.environment = w.environment
      WHERE w.organisation_id = ${requireUuid('organisation', acme.organisationId)} ORDER BY w.environment DESC`;
    const expected = (environment: string, id: string) => ({
      id: requireUuid('wallet', id),
      environment,
      kind: 'settlement',
      email: 'settlement@manilla.invalid',
      code: `wallet:${id}`,
      balance: 0,
      verified: true,
      balanceMax: null,
      postingMax: null,
    });
    expect([...wallets]).toEqual([
      expected('test', acme.settlementWalletId),
      expected('live', acme.liveSettlementWalletId),
    ]);
    expect((await audit())[0]).toEqual({
      action: 'organisation.create',
      operator: 'ada',
      subject: requireUuid('organisation', acme.organisationId),
      reason: null,
    });
  });

  test('organisations create is atomic', async () => {
    const before =
      await sql`SELECT (SELECT count(*) FROM organisations) AS o, (SELECT count(*) FROM ledger.accounts) AS a`;
    // The audit log row, which is written last, is rejected.
    const owner = connect(ownerOf(database.url), { connectionsMax: 1, role: 'owner' });
    await owner`ALTER TABLE audit_log ADD CONSTRAINT nothing_more CHECK (subject = '') NOT VALID`;
    const { exitCode } = await run('organisations', 'create', '--name', 'Half');
    await owner`ALTER TABLE audit_log DROP CONSTRAINT nothing_more`;
    await owner.end();
    expect(exitCode).toBe(1);
    expect(
      await sql`SELECT (SELECT count(*) FROM organisations) AS o, (SELECT count(*) FROM ledger.accounts) AS a`,
    ).toEqual(before);
  });

  test('organisations list shows each organisation with its wallets', async () => {
    const [listed] = await json('organisations', 'list');
    expect(listed).toEqual({ ...acme, name: 'Acme Ltd', createdAt: expect.any(String) });
    const { output } = await run('organisations', 'list');
    for (const words of ['Acme Ltd', acme.organisationId, acme.liveSettlementWalletId]) expect(output).toContain(words);
  });
});

describe('keys commands', () => {
  test('keys create prints the key once, stores only its hash, and the key has its scopes', async () => {
    const made = await json('keys', 'create', '--environment', 'test', '--scopes', 'wallet,payment');
    expect(made).toEqual({
      id: expect.stringMatching(/^svc_[0-9a-z]{26}_key$/),
      key: expect.stringMatching(/^svc_test_[0-9A-Za-z]{43}$/),
      scopes: ['wallet', 'payment'],
      environment: 'test',
    });
    expect(await useKey(made.key)).toEqual(['wallet', 'payment']);
    const { output: listed } = await run('keys', 'list');
    const rows = await sql<
      { text: string }[]
    >`SELECT k::text AS text FROM api_keys k UNION ALL SELECT a::text FROM audit_log a`;
    for (const text of [listed, ...rows.map((row) => row.text)]) {
      expect(text).not.toContain(made.key);
      expect(text).not.toContain(made.key.slice(9, 30));
    }
    expect((await audit()).at(-1)).toEqual({
      action: 'api_key.create',
      operator: 'ada',
      subject: requireUuid('apiKey', made.id),
      reason: null,
    });
  });

  test('keys create reports the expiry and removes duplicate scopes', async () => {
    const scopes = ['--scopes', ' transfer, wallet,transfer'];
    const made = await json(
      'keys',
      'create',
      '--environment',
      'live',
      ...scopes,
      '--expires-in-days',
      '30',
      '--name',
      'till',
    );
    expect(made).toMatchObject({ environment: 'live', scopes: ['transfer', 'wallet'] });
    expect(made.key).toMatch(/^svc_live_/);
    const days = (Date.parse(made.expiresAt) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(29.9);
    expect(days).toBeLessThanOrEqual(30);
  });

  test('keys create limits a key to addresses and to a rate, and its successor too', async () => {
    const limits = ['--allowed-ips', '203.0.113.0/24, 2001:db8::1', '--rate-limit', '30'];
    const made = await json('keys', 'create', '--environment', 'test', '--scopes', 'wallet:read', ...limits);
    expect(await useKey(made.key)).toBe('IP_NOT_ALLOWED');
    const successor = await json('keys', 'rotate', made.id);
    const listed = (await json('keys', 'list')) as Record<string, unknown>[];
    for (const id of [made.id, successor.id]) {
      expect(listed.find((key) => key.id === id)).toMatchObject({
        scopes: ['wallet:read'],
        allowedIps: ['203.0.113.0/24', '2001:db8::1'],
        rateLimit: 30,
      });
    }
    for (const bad of [
      ['--allowed-ips', '203.0.113'],
      ['--allowed-ips', '10.0.0.0/33'],
      ['--rate-limit', '0'],
    ]) {
      expect((await run('keys', 'create', '--environment', 'test', '--scopes', 'wallet', ...bad)).exitCode).not.toBe(0);
    }
  });

  test('keys rotate creates a successor with the same scopes, and the old key works during the overlap', async () => {
    const old = await json('keys', 'create', '--environment', 'test', '--scopes', 'payout', '--name', 'payroll');
    const successor = await json('keys', 'rotate', old.id, '--overlap-hours', '2');
    expect(successor).toMatchObject({ scopes: ['payout'], environment: 'test', replaces: { id: old.id } });
    expect(await Promise.all([useKey(old.key), useKey(successor.key)])).toEqual([['payout'], ['payout']]);
    const hours = (Date.parse(successor.replaces.expiresAt) - Date.now()) / 3_600_000;
    expect(hours).toBeGreaterThan(1.9);
    expect(hours).toBeLessThanOrEqual(2);
    const [oldUuid, newUuidOfKey] = [requireUuid('apiKey', old.id), requireUuid('apiKey', successor.id)];
    expect((await audit()).slice(-2).toReversed()).toEqual([
      { action: 'api_key.rotate', operator: 'ada', subject: oldUuid, reason: `replaced by ${newUuidOfKey}` },
      { action: 'api_key.create', operator: 'ada', subject: newUuidOfKey, reason: `replaces ${oldUuid}` },
    ]);
    const listed = (await json('keys', 'list')) as { id: string; name: string; status: string }[];
    expect(listed.filter(({ name }) => name === 'payroll').map(({ status }) => status)).toEqual(['active', 'active']);
  });

  test('keys rotate without an overlap ends the old key immediately', async () => {
    const old = await json('keys', 'create', '--environment', 'test', '--scopes', 'payout');
    const successor = await json('keys', 'rotate', old.id, '--overlap-hours', '0');
    expect(await Promise.all([useKey(old.key), useKey(successor.key)])).toEqual(['API_KEY_INVALID', ['payout']]);
  });

  test('keys rotate of a key with an expiry requires a new expiry and never extends the old one', async () => {
    const end = ['--expires-in-days', '1'];
    const old = await json('keys', 'create', '--environment', 'test', '--scopes', 'payout', ...end);
    const refused = await run('keys', 'rotate', old.id);
    expect([refused.exitCode, refused.errors]).toEqual([1, expect.stringContaining('--expires-in-days')]);
    const successor = await json('keys', 'rotate', old.id, '--overlap-hours', '100', '--expires-in-days', '90');
    expect(successor.replaces.expiresAt).toBe(old.expiresAt);
  });

  test('of two concurrent rotations of one key, exactly one succeeds', async () => {
    const old = await json('keys', 'create', '--environment', 'test', '--scopes', 'payout');
    const results = await Promise.all([
      run('keys', 'rotate', old.id, '--json'),
      run('keys', 'rotate', old.id, '--json'),
    ]);
    expect(new Set(results.map(({ exitCode }) => exitCode))).toEqual(new Set([0, 1]));
  });

  test('keys revoke ends a key permanently, and repeating it reports that', async () => {
    const made = await json('keys', 'create', '--environment', 'test', '--scopes', 'wallet');
    expect(await json('keys', 'revoke', made.id, '--reason', 'found in a log')).toEqual({ id: made.id, revoked: true });
    expect(await useKey(made.key)).toBe('API_KEY_INVALID');
    expect((await audit()).at(-1)).toMatchObject({ action: 'api_key.revoke', reason: 'found in a log' });
    const again = await run('keys', 'revoke', made.id);
    expect([again.exitCode, again.output]).toEqual([0, `The key ${made.id} was already revoked.\n`]);
    expect((await audit()).filter(({ action }) => action === 'api_key.revoke')).toHaveLength(1);
    const rotated = await run('keys', 'rotate', made.id);
    expect([rotated.exitCode, rotated.errors]).toEqual([1, expect.stringContaining('is revoked')]);
  });

  test('with several organisations, keys commands require --organisation and affect only that organisation', async () => {
    const key = await json('keys', 'create', '--environment', 'test', '--scopes', 'wallet');
    const other = await json('organisations', 'create', '--name', 'Other', '--email', 'money@other.example');
    const ambiguous = await run('keys', 'list');
    expect([ambiguous.exitCode, ambiguous.errors]).toEqual([2, expect.stringContaining('--organisation ID')]);
    expect(await json('keys', 'list', '--organisation', other.organisationId)).toEqual([]);
    const foreign = await run('keys', 'revoke', key.id, '--organisation', other.organisationId);
    expect([foreign.exitCode, foreign.errors]).toEqual([1, expect.stringContaining('There is no key')]);
    expect(await useKey(key.key)).toEqual(['wallet']);
    const unknownId = publicId('organisation', newUuid());
    const unknown = await run('keys', 'list', '--organisation', unknownId);
    expect([unknown.exitCode, unknown.errors]).toEqual([
      1,
      expect.stringContaining(`There is no organisation ${unknownId}`),
    ]);
  });
});
