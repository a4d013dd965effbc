// `rail check` as operators run it: with the contract of an organisation or with other credentials, what is stored of
// it, and what it needs before it moves money.
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { MonnifyFake } from '../../dev/monnify/fake.ts';
import { FAKE_CREDENTIALS } from '../../dev/monnify/fakeCredentials.ts';
import { newUuid, publicId, type Uuid } from '../../src/ids.ts';
import { ConnectedContracts } from '../../src/rail/contracts.ts';
import { CHECKS } from '../../src/rail/promises/promises.ts';
import { startTestApi } from '../support/api.ts';
import { waitFor } from '../support/waitFor.ts';
import { type Ended, runCli } from './run.ts';

const KEYS = `test:${Buffer.alloc(32, 7).toString('base64url')}`;
const BVN = '22222222226';

let fake: MonnifyFake;
let organisationId: Uuid;
const complaints: string[] = [];

const api = await startTestApi();

afterAll(async () => {
  await api.close();
  expect(complaints).toEqual([]);
});

beforeEach(async () => {
  fake = await new MonnifyFake({ stepMs: 50 }).start();
  ({ organisationId } = await api.createOrganisation());
});

afterEach(async () => {
  await fake.close();
  complaints.push(...fake.complaints);
});

const rail = (words: string, more: Record<string, string> = {}): Promise<Ended> =>
  runCli(['rail', ...words.split(' '), '--organisation', publicId('organisation', organisationId)], {
    databaseUrl: api.databaseUrl,
    home: tmpdir(),
    more: { MANILLA_KEYS: KEYS, ...more },
  });

async function connect(): Promise<void> {
  const { exitCode, errors } = await rail('connect monnify --environment live --reason why', {
    RAIL_CREDENTIALS: JSON.stringify(fake.credentials),
  });
  expect([exitCode, errors]).toEqual([0, '']);
}

function credentialsFile(credentials: object): string {
  const file = path.join(tmpdir(), `credentials-${newUuid()}.json`);
  writeFileSync(file, JSON.stringify(credentials), { mode: 0o600 });
  return file;
}

const stored = () =>
  api.sql<{ passed: boolean; adapterVersion: string; report: { summary: Record<string, number> } }[]>`
    SELECT passed, adapter_version, report FROM rail_checks WHERE organisation_id = ${organisationId} ORDER BY checked_at`;

/** Whether a process with RAIL_CHECK=required uses the contract for something new. */
const accepts = () =>
  new ConnectedContracts({
    sql: api.sql,
    keyring: api.dependencies.keyring,
    guard: (one) => one,
    checkRequired: true,
  }).accepts({ organisationId, environment: 'live' });

describe('of a connected contract', () => {
  test('is printed, stored without secrets, audited, shown, and opens the contract where a check is required', async () => {
    await connect();
    expect(await accepts()).toBe(false);
    const { exitCode, output, errors } = await rail('check monnify --bvn --to 1234567890 --bank 058', {
      RAIL_CHECK_BVN: BVN,
    });
    expect([exitCode, errors]).toEqual([0, '']);
    expect(output).toMatch(/^PASS {2}auth\.login +the credentials are accepted$/m);
    expect(output).toMatch(/^SKIP {2}transfer\.ok +no money was to be moved\n +Allow it: --live --yes-move-money\.$/m);
    expect(fake.book.transfers.size).toBe(0);
    const [row, ...others] = await stored();
    expect([row?.passed, row?.adapterVersion, others]).toEqual([true, '1', []]);
    const { PASS = 0, SKIP = 0 } = row?.report.summary ?? {};
    expect(PASS + SKIP).toBe(CHECKS.length);
    expect(JSON.stringify(row)).not.toMatch(
      new RegExp(`${FAKE_CREDENTIALS.secretKey}|${FAKE_CREDENTIALS.apiKey}|${BVN}`),
    );
    const audit = await api.sql`
      SELECT operator, reason FROM audit_log WHERE organisation_id = ${organisationId} AND action = 'rail.check'`;
    expect([...audit]).toEqual([{ operator: 'ada', reason: `${PASS} of ${CHECKS.length} checks passed` }]);
    const shown = await runCli(['rail', 'show'], { databaseUrl: api.databaseUrl, home: tmpdir() });
    expect(shown.output).toContain(`"summary":{"FAIL":0,"PASS":${PASS},"SKIP":${SKIP},"WARN":0}`);
    expect(output).toMatch(/^The contract has passed\. Not tried, and so not proved: .*\btransfer\.ok, .*\.$/m);
    expect(shown.output).toMatch(/"untried":\[.*"transfer\.ok"/);
    expect(await accepts()).toBe(true);
  });

  test('that tries no name enquiry fails nothing, and does not open the contract', async () => {
    await connect();
    const { exitCode, output } = await rail('check monnify');
    expect([exitCode, output]).toEqual([1, expect.stringMatching(/^The contract has not passed: .*resolve\.ok/m)]);
    expect((await stored()).map(({ passed }) => passed)).toEqual([false]);
    expect(await accepts()).toBe(false);
  });

  test('counts for the credentials that were checked: after a rotation the contract must be checked again', async () => {
    await connect();
    const check = async () => (await rail('check monnify --to 1234567890 --bank 058')).exitCode;
    expect([await check(), await accepts()]).toEqual([0, true]);
    const { exitCode } = await rail('rotate --environment live --reason why', {
      RAIL_CREDENTIALS: JSON.stringify(fake.credentials),
    });
    expect([exitCode, await accepts()]).toEqual([0, false]);
    const shown = await runCli(['rail', 'show', '--json'], { databaseUrl: api.databaseUrl, home: tmpdir() });
    const contracts = (JSON.parse(shown.output) as { contracts: { organisation: string; check: unknown }[] }[]).flatMap(
      (environment) => environment.contracts,
    );
    const mine = contracts.find(({ organisation }) => organisation === publicId('organisation', organisationId));
    expect(mine?.check).toBeNull();
    expect([await check(), await accepts()]).toEqual([0, true]);
  });

  test('that fails exits 1, and does not open the contract', async () => {
    await connect();
    fake.defects.add('any_secret');
    const { exitCode, output } = await rail('check monnify --json');
    const report = JSON.parse(output) as { passed: boolean; checks: { id: string; verdict: string }[] };
    expect([exitCode, report.passed]).toEqual([1, false]);
    expect(report.checks.find(({ id }) => id === 'auth.wrong_secret')?.verdict).toBe('FAIL');
    expect((await stored()).map(({ passed }) => passed)).toEqual([false]);
    expect(await accepts()).toBe(false);
  });

  test('moves money when both options say so', async () => {
    await connect();
    const { exitCode, output } = await rail('check monnify --json --live --yes-move-money --to 1234567890 --bank 058');
    const report = JSON.parse(output) as { checks: { id: string; verdict: string; found: string }[] };
    expect([exitCode, report.checks.find(({ id }) => id === 'transfer.ok')?.verdict]).toEqual([0, 'PASS']);
    await waitFor('the transfers to be paid', () =>
      [...fake.book.transfers.values()].every(({ timesPaid }) => timesPaid === 1),
    );
  }, 90_000);
});

describe('of other credentials', () => {
  test('is not stored', async () => {
    const file = credentialsFile(fake.credentials);
    const { exitCode, output } = await rail(`check monnify --credentials ${file} --to 1234567890 --bank 058`);
    expect([exitCode, output.includes('not stored')]).toEqual([0, true]);
    expect(await stored()).toEqual([]);
  });
});

describe('that is refused sends nothing', () => {
  const LIVE = { ...FAKE_CREDENTIALS, baseUrl: 'https://api.monnify.com' };
  const SANDBOX = { ...FAKE_CREDENTIALS, baseUrl: 'https://sandbox.monnify.com' };
  test.each<[string, string, object | null, RegExp]>([
    ['live money without --live', '--yes-move-money --to 1234567890 --bank 058', LIVE, /add --live/],
    ["--live with a sandbox's credentials", '--live', SANDBOX, /sandbox/],
    ['--yes-move-money without an account', '--live --yes-move-money', LIVE, /--to and --bank/],
    ['an account without its bank', '--to 1234567890', LIVE, /together/],
    ['a malformed account', '--to 12345 --bank 058', LIVE, /10 digits/],
    ['a malformed wait', '--credit 0', LIVE, /whole number/],
    ['a BVN that is none', '--bvn', LIVE, /RAIL_CHECK_BVN/],
    ['no contract', '', null, /no connected contract/],
  ])('%s', async (_case, words, credentials, message) => {
    const more: Record<string, string> = credentials === null ? {} : { RAIL_CREDENTIALS: JSON.stringify(credentials) };
    const { exitCode, errors } = await rail(`check monnify ${words}`.trim(), more);
    expect([exitCode === 0, errors]).toEqual([false, expect.stringMatching(message)]);
    expect(await stored()).toEqual([]);
  });
});
