// The parts of the developer's command line that need no service: what developers type, following a list, signatures,
// settings, failures, and the published package.
import { execFile } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import {
  nairaText,
  parseAmount,
  parseApiUrl,
  parseEventTypes,
  parseSince,
  parseStatus,
  parseTarget,
} from '../../clients/cli/src/arguments.ts';
import { isWanted } from '../../clients/cli/src/commands/logs.ts';
import { CommandError, failureOf, linesOf } from '../../clients/cli/src/failure.ts';
import { advance, follow, OVERLAP_MS, type Place, readFrom, readLatest, START } from '../../clients/cli/src/follow.ts';
import { forwardEvent, webhookBody, webhookHeaders } from '../../clients/cli/src/forward.ts';
import { EVENT_TYPES } from '../../clients/cli/src/recipes.ts';
import {
  deleteSettings,
  listenSecret,
  readSettings,
  settingsFile,
  writeSettings,
} from '../../clients/cli/src/settings.ts';
import { type Event, ManillaError, verifyWebhook } from '../../clients/typescript/src/index.ts';
import { linkCommand } from '../../dev/linkCommand.mjs';
import { EVENT_TYPES as SERVICE_EVENT_TYPES, TEST_EVENT_TYPE } from '../../src/resources/events.ts';
import { signatureHeaders } from '../../src/webhooks/signature.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { answerStatus, startReceiver } from '../webhooks/receiver.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

describe('arguments', () => {
  test.each<[string, boolean, number | null]>([
    ['25000', false, 2_500_000],
    ['25,000.00', false, 2_500_000],
    ['1,234,567.8', false, 123_456_780],
    ['0.01', false, 1],
    ['NGN 2,020.50', false, 202_050],
    ['₦500', false, 50_000],
    ['10000000000', false, 1_000_000_000_000],
    ['10000000000.01', false, null],
    ['0', false, null],
    ['-5', false, null],
    ['25.000', false, null],
    ['2,50', false, null],
    ['25000 naira', false, null],
    ['1e5', false, null],
    ['', false, null],
    ['202000', true, 202_000],
    ['2020.00', true, null],
    ['2,020', true, null],
  ])('the amount %j, in kobo %s, is %s', (text, inKobo, amount) => {
    expect(parseAmount(text, inKobo)).toBe(amount);
  });

  test('an amount for people can be typed again', () => {
    for (const amount of [1, 100, 202_050, 123_456_789, 1_000_000_000_000]) {
      expect(parseAmount(nairaText(amount))).toBe(amount);
    }
    expect(nairaText(2_500_000)).toBe('₦25,000.00');
  });

  test.each<[string, string | null]>([
    ['90s', '2026-01-02T11:58:30.000Z'],
    ['10m', '2026-01-02T11:50:00.000Z'],
    ['2h', '2026-01-02T10:00:00.000Z'],
    ['1d', '2026-01-01T12:00:00.000Z'],
    ['2026-01-01T10:00:00+01:00', '2026-01-01T09:00:00.000Z'],
    ['2026-01-01T10:00:00', null],
    ['2026-13-01T10:00:00Z', null],
    ['10', null],
    ['yesterday', null],
  ])('the time %s is %s', (text, at) => {
    expect(parseSince(text, new Date('2026-01-02T12:00:00Z'))?.toISOString() ?? null).toBe(at);
  });

  test.each<[string, string | null]>([
    ['3000', 'http://localhost:3000/'],
    ['3000/hooks', 'http://localhost:3000/hooks'],
    ['localhost:3000/hooks?a=1', 'http://localhost:3000/hooks?a=1'],
    ['https://example.com/hooks', 'https://example.com/hooks'],
    ['ftp://example.com', null],
    ['http://user@example.com', null],
    ['local host', null],
    ['99999', null],
    ['', null],
  ])('events to %j go to %s', (text, url) => {
    expect(parseTarget(text)).toBe(url);
  });

  test.each<[string, string | null]>([
    ['http://127.0.0.1:8080', 'http://127.0.0.1:8080/v1'],
    ['http://127.0.0.1:8080/v1/', 'http://127.0.0.1:8080/v1'],
    ['sandbox.example.com', 'http://sandbox.example.com/v1'],
    ['https://example.com/manilla/v1', 'https://example.com/manilla/v1'],
    ['nowhere at all', null],
  ])('the API at %s is at %s', (text, url) => {
    expect(parseApiUrl(text)).toBe(url);
  });

  test.each<[string, readonly string[] | string]>([
    ['payment.settled', ['payment.settled']],
    ['wallet.*, refund.failed', [...EVENT_TYPES.filter((type) => type.startsWith('wallet.')), 'refund.failed']],
    ['*', EVENT_TYPES],
    ['payment', 'No event type is payment.'],
    ['payment.settled,', 'No event type is empty.'],
  ])('the event types %j are %j', (text, expected) => {
    const types = parseEventTypes(text, EVENT_TYPES);
    expect(typeof types === 'string' ? types : [...types]).toEqual(expected);
  });

  test.each<[string, ReturnType<typeof parseStatus>]>([
    ['4xx', { class: '4xx', exact: null }],
    ['422', { class: '4xx', exact: 422 }],
    ['3xx', null],
    ['42', null],
  ])('the status %s is %j', (text, expected) => {
    expect(parseStatus(text)).toEqual(expected);
  });

  test('trigger knows every event type of the service', () => {
    expect(EVENT_TYPES.toSorted()).toEqual([...SERVICE_EVENT_TYPES, TEST_EVENT_TYPE].toSorted());
  });
});

describe('following a list', () => {
  const BASE = Date.parse('2026-01-02T12:00:00Z');
  const at = (seconds: number, id: string): Place => ({ id, createdAt: new Date(BASE + seconds * 1000).toISOString() });
  const self = (place: Place): Place => place;
  const ids = (places: readonly Place[]): string[] => places.map(({ id }) => id);
  const listOf = async function* (...places: Place[]) {
    yield* places;
  };

  test('new items come once, oldest first, and those that commit late after newer ones', () => {
    const first = advance(START, [at(2, 'b'), at(1, 'a')], self);
    expect(ids(first.fresh)).toEqual(['a', 'b']);
    const second = advance(first.position, [at(5, 'd'), at(2, 'b'), at(2, 'late'), at(1, 'a')], self);
    expect(ids(second.fresh)).toEqual(['late', 'd']);
    expect(ids(advance(second.position, [at(5, 'd'), at(2, 'late')], self).fresh)).toEqual([]);
  });

  test('each reading begins the overlap before the newest item, and no more ids are kept', () => {
    expect(readFrom(START)).toBeUndefined();
    const { position } = advance(START, [at(0, 'old'), at(OVERLAP_MS / 1000 + 1, 'new')], self);
    expect(readFrom(position)).toBe(at(1, '').createdAt);
    expect([...position.seen.keys()]).toEqual(['new']);
    // An empty reading, as after the retention of a list, changes nothing.
    expect(advance(position, [], self).position).toEqual(position);
  });

  test('the latest items are those of the overlap, and as many as are wanted', async () => {
    const list = () => listOf(at(100, 'e'), at(99, 'd'), at(50, 'c'), at(40, 'b'), at(1, 'a'));
    expect(ids(await readLatest(list(), self, () => true, 0))).toEqual(['e', 'd']);
    expect(ids(await readLatest(list(), self, () => true, 3))).toEqual(['e', 'd', 'c']);
    expect(ids(await readLatest(list(), self, ({ id }) => id === 'b', 1))).toEqual(['e', 'd', 'c', 'b']);
    expect(ids(await readLatest(listOf(), self, () => true, 3))).toEqual([]);
  });

  test.concurrent('an outage is told once and loses nothing; a revoked key ends it', async () => {
    const revoked = new ManillaError({ code: 'API_KEY_INVALID', message: '', status: 401 });
    const outage = new ManillaError({ code: 'CONNECTION_FAILED', message: 'connect ECONNREFUSED' });
    const answers: (Place[] | Error)[] = [[at(1, 'a')], outage, outage, [at(2, 'meanwhile'), at(1, 'a')], revoked];
    const said: string[] = [];
    const following = follow({
      read: async function* () {
        const answer = answers.shift() ?? [];
        if (answer instanceof Error) throw answer;
        yield* answer;
      },
      placeOf: self,
      position: START,
      signal: new AbortController().signal,
      onOutage: () => said.push('outage'),
      onRecovery: () => said.push('recovery'),
    });
    const followed = async () => {
      for await (const { id } of following) said.push(id);
    };
    await expect(followed()).rejects.toBe(revoked);
    expect(said).toEqual(['a', 'outage', 'recovery', 'meanwhile']);
  });

  test.each<[string, Parameters<typeof isWanted>[1], boolean]>([
    ['no filter', {}, true],
    ['its status', { status: { class: '4xx', exact: 422 } }, true],
    ['another status of the class', { status: { class: '4xx', exact: 404 } }, false],
    ['its method', { method: 'POST' }, true],
    ['another method', { method: 'GET' }, false],
    ['a part of its path', { path: '/payments' }, true],
    ['another path', { path: '/payouts' }, false],
  ])('a refused POST /payments and %s: wanted %s', (_what, filters, expected) => {
    expect(isWanted({ method: 'POST', path: '/payments', status: 422 }, filters)).toBe(expected);
  });

  test('readings of events are wanted when they fail, or with --all', () => {
    const reading = { method: 'GET', path: '/events', status: 200 };
    expect([isWanted(reading, {}), isWanted(reading, { all: true })]).toEqual([false, true]);
    expect(isWanted({ ...reading, status: 403 }, {})).toBe(true);
  });
});

describe('signed on this machine', () => {
  const event = {
    id: 'svc_1_evt',
    type: 'webhook.test',
    createdAt: '2026-01-02T12:00:00.000Z',
    resourceId: 'svc_1_whe',
    sequence: 1,
    data: { id: 'svc_1_whe' },
  } as Event;
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

  test('the headers are those of the service, and the client verifies them', () => {
    const now = new Date();
    const body = webhookBody(event);
    const headers = webhookHeaders(secret, event.id, now, body);
    expect(headers).toEqual(signatureHeaders([secret], event.id, now, body));
    expect(verifyWebhook(secret, body, headers)).toEqual(event);
  });

  test('whatever the server does is a result', async () => {
    const receiver = await startReceiver(answerStatus(500));
    const { signal } = new AbortController();
    const send = (url = receiver.url, timeoutMs?: number) => forwardEvent(url, secret, event, signal, timeoutMs);
    try {
      expect(await send()).toMatchObject({ url: receiver.url, status: 500, error: null });
      receiver.answerWith((response) => void response.writeHead(302, { location: '/elsewhere' }).end());
      expect(await send()).toMatchObject({ status: 302, error: null });
      receiver.answerWith(() => {}); // no response
      expect(await send(receiver.url, 500)).toMatchObject({ status: null, error: 'no response within 0.5 seconds' });
      expect(receiver.received.map(({ path: target }) => target)).toEqual(['/hook', '/hook', '/hook']);
    } finally {
      await receiver.close();
    }
    expect(await send()).toMatchObject({ status: null, error: expect.stringContaining('ECONNREFUSED') });
  });
});

describe('settings', () => {
  test('are in the XDG folder, or ~/.config where that is unset or relative', () => {
    expect(settingsFile({ XDG_CONFIG_HOME: '/xdg', HOME: '/ada' })).toBe('/xdg/manilla/config.json');
    expect(settingsFile({ HOME: '/ada' })).toBe('/ada/.config/manilla/config.json');
    expect(settingsFile({ XDG_CONFIG_HOME: 'relative', HOME: '/ada' })).toBe('/ada/.config/manilla/config.json');
  });

  test('are readable by their user only, whatever the file was before', () => {
    const environment = { XDG_CONFIG_HOME: temporaryFolder() };
    const file = settingsFile(environment);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, '{}', { mode: 0o644 });
    writeSettings(environment, { url: 'http://127.0.0.1/v1', apiKey: 'svc_test_x' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readSettings(environment)).toEqual({ url: 'http://127.0.0.1/v1', apiKey: 'svc_test_x' });
  });

  test('the secret of listen is made once, beside the key', () => {
    const environment = { XDG_CONFIG_HOME: temporaryFolder() };
    writeSettings(environment, { apiKey: 'svc_test_x' });
    const secret = listenSecret(environment);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(listenSecret(environment)).toBe(secret);
    expect(readSettings(environment)).toEqual({ apiKey: 'svc_test_x', listenSecret: secret });
    deleteSettings(environment);
    expect(readSettings(environment)).toEqual({});
  });

  test('a file that is broken says what to do', () => {
    const environment = { XDG_CONFIG_HOME: temporaryFolder() };
    writeSettings(environment, {});
    writeFileSync(settingsFile(environment), '{');
    expect(() => readSettings(environment)).toThrow('Write it again: manilla login');
  });
});

describe('failures', () => {
  const refusal = (status: number, code: string) =>
    new ManillaError({
      code,
      message: 'Wrong.',
      status,
      details: { requiredScopes: ['keys'] },
      requestId: 'req_1',
    });

  test.each<[string, unknown, number, string]>([
    ['usage', new CommandError('No.', 2), 2, 'USAGE'],
    ['a refusal', refusal(403, 'API_KEY_SCOPE_FORBIDDEN'), 1, 'API_KEY_SCOPE_FORBIDDEN'],
    ['the rate limit', refusal(429, 'RATE_LIMIT_EXCEEDED'), 3, 'RATE_LIMIT_EXCEEDED'],
    ['an outage', refusal(503, 'SERVICE_UNAVAILABLE'), 3, 'SERVICE_UNAVAILABLE'],
    ['the page of a proxy', refusal(502, 'UNREADABLE_RESPONSE'), 3, 'UNREADABLE_RESPONSE'],
    ['no response', refusal(0, 'CONNECTION_FAILED'), 3, 'CONNECTION_FAILED'],
    ['no response in time', refusal(0, 'TIMED_OUT'), 3, 'TIMED_OUT'],
    ['another server', refusal(200, 'UNREADABLE_RESPONSE'), 3, 'UNREADABLE_RESPONSE'],
    ['anything else', new Error('why'), 1, 'FAILED'],
  ])('%s has its exit code and code', (_what, fault, exitCode, code) => {
    expect(failureOf(fault)).toMatchObject({ exitCode, code });
  });

  test('a refusal tells the request id and what to do next', () => {
    const text = linesOf(failureOf(refusal(403, 'API_KEY_SCOPE_FORBIDDEN'))).join('\n');
    expect(text).toContain('API_KEY_SCOPE_FORBIDDEN: Wrong.');
    expect(text).toContain('"requiredScopes":["keys"]');
    expect(text).toContain('request id: req_1');
    expect(text).toContain('next: Log in with a key that has the scope');
  });
});

describe('the package', () => {
  const read = (file: string) => JSON.parse(readFileSync(path.join(ROOT, file), 'utf8'));

  test('its dependencies have the versions of the repository and of the client', () => {
    const { dependencies } = read('clients/cli/package.json');
    const { dependencies: ofClient } = read('clients/typescript/package.json');
    const { dependencies: ofRoot, devDependencies } = read('package.json');
    expect({ ...devDependencies, ...ofRoot }).toMatchObject(dependencies);
    expect(dependencies).toMatchObject(ofClient);
  });

  test.concurrent('packs plain JavaScript and nothing else, which runs below node_modules', async () => {
    const folder = temporaryFolder();
    // A copy: packing makes dist/, which other tests would see in the repository.
    for (const part of ['clients/cli', 'clients/typescript/src', 'LICENSE']) {
      cpSync(path.join(ROOT, part), path.join(folder, part), {
        recursive: true,
        filter: (source) => !source.endsWith('node_modules'),
      });
    }
    await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: path.join(folder, 'clients/cli') });
    const modules = path.join(folder, 'installed', 'node_modules');
    mkdirSync(modules, { recursive: true });
    const [archive = ''] = globSync('manilla-*.tgz', { cwd: folder });
    await run('tar', ['-xzf', path.join(folder, archive), '-C', modules]);
    const installed = path.join(modules, 'package');

    const files = globSync('**/*.*', { cwd: installed }).toSorted();
    const isExpected = /^(package\.json|README\.md|manilla\.mjs|dist\/(cli|typescript)\/src\/(commands\/)?\w+\.js)$/;
    expect(files.filter((file) => !isExpected.test(file))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(['dist/cli/src/main.js', 'dist/typescript/src/index.js']));
    expect(readFileSync(path.join(installed, 'dist/LICENSE'), 'utf8')).toContain('Apache License');

    const { dependencies, version } = read('clients/cli/package.json');
    for (const name of Object.keys(dependencies)) {
      symlinkSync(path.join(ROOT, 'node_modules', name), path.join(modules, name));
    }
    const program = path.join(installed, 'manilla.mjs');
    expect((await run(process.execPath, [program, '--version'])).stdout).toBe(`${version}\n`);
    expect((await run(process.execPath, [program, 'trigger', '--list'])).stdout).toContain('payment.settled');
  });

  test.concurrent('npm ci links it, so that npx finds it in the repository', async () => {
    const { scripts } = read('package.json');
    expect(scripts.postinstall).toBe('node dev/linkCommand.mjs');
    const root = temporaryFolder();
    symlinkSync(path.join(ROOT, 'clients'), path.join(root, 'clients'));
    linkCommand(root);
    linkCommand(root); // a second time, as after an update
    const { stdout } = await run(process.execPath, [path.join(root, 'node_modules/.bin/manilla'), '--help']);
    expect(stdout).toContain('Usage: manilla');
    // By its own first line, as npx runs it.
    const PATH = `${path.dirname(process.execPath)}:${process.env.PATH}`;
    const { stdout: version } = await run(path.join(root, 'node_modules/.bin/manilla'), ['--version'], {
      env: { ...process.env, PATH },
    });
    expect(version).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});
