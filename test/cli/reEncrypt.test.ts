// `keys rotate --re-encrypt`: the oldest key of MANILLA_KEYS can be removed afterwards, also when the command was
// killed in the middle and run again.
import { tmpdir } from 'node:os';
import { afterAll, expect, test } from '@jest/globals';
import { connect } from '../../src/database/pool.ts';
import { newUuid, requireUuid, type Uuid } from '../../src/ids.ts';
import { type KeyPurpose, type Keyring, keyIdOf, parseKeyring } from '../../src/keyring.ts';
import { SEALED_COLUMNS } from '../../src/resources/reEncryption.ts';
import { bvnIndexes } from '../../src/resources/wallets/kyc.ts';
import { createDatabase, ownerOf } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Ended, runCli, startCliProcess } from './run.ts';

const keyText = (id: string, byte: number): string => `${id}:${Buffer.alloc(32, byte).toString('base64url')}`;
const [OLD, NEW] = [keyText('k1', 1), keyText('k2', 2)];
const [oldRing, newRing] = [parseKeyring(OLD), parseKeyring(NEW)];

/** More than a step. */
const WALLETS = 600;

const database = await createDatabase();
const sql = connect(ownerOf(database.url), { connectionsMax: 4, role: 'owner' });

afterAll(async () => {
  await sql.end();
  await database.drop();
});

const surroundings = (keys: string) => ({ databaseUrl: database.url, home: tmpdir(), more: { MANILLA_KEYS: keys } });
const reEncrypt = (keys: string): Promise<Ended> =>
  runCli(['keys', 'rotate', '--re-encrypt', '--json'], surroundings(keys));

const textOf = (purpose: KeyPurpose, id: Uuid): string =>
  purpose === 'kyc' ? JSON.stringify({ bvn: id }) : `text of ${id}`;

/** An organisation with a value in every sealed column, and with many wallets. */
async function createOrganisation(wallets: number): Promise<Uuid> {
  const made = await runCli(['organisations', 'create', '--name', 'Acme', '--json'], surroundings(OLD));
  const organisation = requireUuid('organisation', JSON.parse(made.output).organisationId);
  const seal = (purpose: KeyPurpose, id: Uuid): string => oldRing.seal(purpose, id, textOf(purpose, id));
  const kyc = Array.from({ length: wallets }, newUuid).map((id) => ({ id, sealed: seal('kyc', id) }));
  const [endpoint, contract] = [newUuid(), newUuid()];
  await sql`
    INSERT INTO wallet_kyc (organisation_id, environment, wallet_id, sealed, bvn_index)
    SELECT ${organisation}, 'live', k.*
    FROM unnest(${kyc.map(({ id }) => id)}::uuid[], ${kyc.map(({ sealed }) => sealed)}::text[],
                ${kyc.map(({ id }) => bvnIndexes(oldRing, { organisationId: organisation, environment: 'live' }, id)[0] ?? '')}::text[]) AS k`;
  await sql`
    INSERT INTO webhook_endpoints (organisation_id, environment, id, url, sealed_secret, sealed_previous_secret,
                                   previous_secret_until, created_at)
    VALUES (${organisation}, 'live', ${endpoint}, 'https://shop.example', ${seal('webhook-secret', endpoint)},
            ${seal('webhook-secret', endpoint)}, now(), now())`;
  await sql`
    INSERT INTO rail_contracts (organisation_id, environment, id, rail, sealed, disconnected_at)
    VALUES (${organisation}, 'live', ${contract}, 'monnify', ${seal('rail-credentials', contract)}, NULL),
           (${organisation}, 'live', ${newUuid()}, 'monnify', NULL, now())`;
  const row = newUuid();
  await sql`
    INSERT INTO reconciliation_breaks (organisation_id, environment, id, version, rail, kind, line, reference, at, occurrence,
                                       sealed_row, created_at)
    VALUES (${organisation}, 'live', ${row}, 1, 'monnify', 'unreadable', 'other_in', 'row', now(), 1,
            ${seal('rail-row', row)}, now())`;
  return organisation;
}

interface Value {
  table: string;
  id: Uuid;
  keyId: string;
  text: string;
  purpose: KeyPurpose;
}

/** Every sealed value; `text`: what this keyring makes of it. */
async function readAll(keyring: Keyring): Promise<Value[]> {
  const all = [];
  for (const { table, id: idColumn, column, purpose } of SEALED_COLUMNS) {
    const rows = await sql<{ id: Uuid; sealed: string }[]>`
      SELECT ${sql(idColumn)} AS id, ${sql(column)} AS sealed FROM ${sql(table)} WHERE ${sql(column)} IS NOT NULL`;
    for (const { id, sealed } of rows) {
      all.push({ table, id, keyId: keyIdOf(sealed), text: keyring.open(purpose, id, sealed), purpose });
    }
  }
  return all;
}

const blocked = () => sql<{ count: number }[]>`
  SELECT count(*)::integer AS count FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%UPDATE "webhook_endpoints"%'`;

test('every column with sealed values is known', async () => {
  const columns = await sql`
    SELECT table_name AS table, column_name AS column FROM information_schema.columns
    WHERE column_name LIKE 'sealed%' AND data_type = 'text' ORDER BY 1, 2`;
  const known = SEALED_COLUMNS.map(({ table, column }) => ({ table, column }));
  expect([...columns]).toEqual(
    known.toSorted((a, b) => `${a.table} ${a.column}`.localeCompare(`${b.table} ${b.column}`)),
  );
});

test('after a kill in the middle it goes on, and then the old key is needed for nothing', async () => {
  await createOrganisation(WALLETS);
  const other = await createOrganisation(1);
  const both = parseKeyring(`${NEW},${OLD}`);
  const total = WALLETS + 1 + 2 * 4;

  // It stops at an endpoint of the second organisation, which another transaction has locked.
  let child: ReturnType<typeof startCliProcess> | undefined;
  await sql.begin(async (held) => {
    await held`SELECT FROM webhook_endpoints WHERE organisation_id = ${other} FOR UPDATE`;
    child = startCliProcess(['keys', 'rotate', '--re-encrypt'], surroundings(`${NEW},${OLD}`));
    await waitFor('the command to be blocked', async () => (await blocked())[0]?.count === 1);
    child.child.kill('SIGKILL');
    await child.ended;
  });
  await waitFor('its statement to end', async () => (await blocked())[0]?.count === 0);
  const afterKill = await readAll(both);
  const left = afterKill.filter(({ keyId }) => keyId === 'k1').length;
  expect([left > 0, left < total]).toEqual([true, true]);

  const { exitCode, output, errors } = await reEncrypt(`${NEW},${OLD}`);
  expect([exitCode, JSON.parse(output)]).toEqual([
    0,
    { newestKey: 'k2', reEncrypted: left, left: 0, removableKeys: ['k1'] },
  ]);
  expect(errors.split('\n')[0]).toBe(`${left} left to encrypt with k2`);
  expect(errors.trimEnd().split('\n').at(-1)).toBe('0 left to encrypt with k2');

  const audited = await sql`
    SELECT operator, subject, reason FROM audit_log WHERE action = 'keyring.re_encrypt' ORDER BY id DESC LIMIT 1`;
  expect([...audited]).toEqual([{ operator: 'ada', subject: 'k2', reason: `${left} values` }]);

  const values = await readAll(newRing);
  expect(values).toHaveLength(total);
  for (const { id, text, purpose } of values) expect(text).toBe(textOf(purpose, id));
  const indexed = await sql<{ organisationId: Uuid; id: Uuid; index: string }[]>`
    SELECT organisation_id, wallet_id AS id, bvn_index AS index FROM wallet_kyc`;
  for (const { organisationId, id, index } of indexed) {
    expect(index).toEqual(bvnIndexes(newRing, { organisationId, environment: 'live' }, id)[0]);
  }
  expect(JSON.parse((await reEncrypt(NEW)).output)).toMatchObject({ reEncrypted: 0, left: 0, removableKeys: [] });
});

test('what the service writes meanwhile stays', async () => {
  const organisation = await createOrganisation(0);
  let running: Promise<Ended> | undefined;
  await sql.begin(async (held) => {
    await held`SELECT FROM webhook_endpoints WHERE organisation_id = ${organisation} FOR UPDATE`;
    running = reEncrypt(`${NEW},${OLD}`);
    await waitFor('the command to be blocked', async () => (await blocked())[0]?.count === 1);
    await held`
      UPDATE webhook_endpoints SET sealed_secret = ${newRing.seal('webhook-secret', organisation, 'a newer one')}
      WHERE organisation_id = ${organisation}`;
  });
  expect((await running)?.exitCode).toBe(0);
  const [row] = await sql<{ sealedSecret: string }[]>`
    SELECT sealed_secret FROM webhook_endpoints WHERE organisation_id = ${organisation}`;
  expect(newRing.open('webhook-secret', organisation, row?.sealedSecret ?? '')).toBe('a newer one');
  await sql`DELETE FROM webhook_endpoints WHERE organisation_id = ${organisation}`;
});

test('what no key opens is named and left, and the rest is encrypted again', async () => {
  const organisation = await createOrganisation(3);
  const [broken] = await sql<{ id: Uuid }[]>`
    UPDATE wallet_kyc SET sealed = ${parseKeyring(keyText('k0', 3)).seal('kyc', organisation, 'lost')}
    WHERE organisation_id = ${organisation} AND wallet_id = (
      SELECT min(wallet_id::text)::uuid FROM wallet_kyc WHERE organisation_id = ${organisation})
    RETURNING wallet_id AS id`;
  const { exitCode, errors } = await reEncrypt(`${NEW},${OLD}`);
  expect([exitCode, errors]).toEqual([
    1,
    expect.stringContaining(
      `1 values cannot be opened, and are left: wallet_kyc ${broken?.id}: no key with the id k0 in MANILLA_KEYS`,
    ),
  ]);
  await sql`DELETE FROM wallet_kyc WHERE wallet_id = ${broken?.id ?? ''}`;
  expect((await readAll(newRing)).every(({ keyId }) => keyId === 'k2')).toBe(true);
});

test.each([[['keys', 'rotate']], [['keys', 'rotate', 'svc_x_key', '--re-encrypt']]])(
  '%j is a usage error',
  async (words) => {
    expect((await runCli(words, surroundings(NEW))).exitCode).toBe(2);
  },
);
