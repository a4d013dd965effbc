// The codec server: Temporal's command line decodes with an operator's key, a browser with the cookie of its operator.
// Every other request is refused.
import { execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freePort } from '../../dev/freePort.ts';
import { findTemporal } from '../../dev/temporalInstall.mjs';
import { startCodecServer } from '../../src/api/codec/server.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { OPERATORS } from '../support/operators.ts';
import { sendRaw } from '../support/rawHttp.ts';
import { waitFor } from '../support/waitFor.ts';

const MAIN = fileURLToPath(new URL('../../src/api/codec/main.ts', import.meta.url));
const run = promisify(execFile);
const UI = 'http://127.0.0.1:8233';
const KEYS = `k1:${Buffer.alloc(32, 5).toString('base64url')}`;
const PLAIN = { metadata: { encoding: btoa('json/plain') }, data: btoa('"Adaobi"') };

let flows: TestFlows;
let server: Awaited<ReturnType<typeof startCodecServer>>;
let url: string;

beforeAll(async () => {
  flows = await startTestFlows({
    settings: { TEMPORAL_PAYLOAD_KEYS: KEYS, TEMPORAL_UI_URL: UI, CODEC_PORT: '0' },
  });
  server = await startCodecServer(flows.dependencies);
  url = `http://127.0.0.1:${server.port}`;
}, 120_000);

afterAll(async () => {
  await server.close();
  await flows.close();
});

interface Credentials {
  key?: string;
  cookie?: string;
  origin?: string;
}

async function call(path: string, body: unknown, { key, cookie, origin }: Credentials = {}) {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
      ...(cookie !== undefined && { cookie }),
      ...(origin !== undefined && { origin }),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const answer = (await response.json()) as { payloads: (typeof PLAIN)[]; error?: string };
  return { status: response.status, ...answer };
}

async function signIn(key: string, origin = url): Promise<{ status: number; cookie: string; location: string | null }> {
  const response = await fetch(`${url}/sign-in`, {
    method: 'POST',
    headers: { origin },
    body: new URLSearchParams({ key }),
    redirect: 'manual',
  });
  const cookie = response.headers.get('set-cookie') ?? '';
  return { status: response.status, cookie, location: response.headers.get('location') };
}

const { key } = OPERATORS.ada;

test('encode encrypts, decode decrypts, and a payload that is not encrypted stays as it is', async () => {
  const encoded = await call('/encode', { payloads: [PLAIN] }, { key });
  expect(encoded.status).toBe(200);
  expect(encoded.payloads[0]?.metadata.encoding).toBe(btoa('binary/encrypted'));
  expect(atob(encoded.payloads[0]?.data ?? '')).not.toContain('Adaobi');
  const decoded = await call('/decode', { payloads: [...encoded.payloads, PLAIN] }, { key });
  expect(decoded).toEqual({ status: 200, payloads: [PLAIN, PLAIN] });
});

test('a changed payload and malformed bodies are rejected', async () => {
  const { payloads } = await call('/encode', { payloads: [PLAIN] }, { key });
  const [payload = PLAIN] = payloads;
  const bytes = Buffer.from(payload.data, 'base64');
  bytes[20] = (bytes[20] ?? 0) ^ 1;
  const changed = { ...payload, data: bytes.toString('base64') };
  expect((await call('/decode', { payloads: [changed] }, { key })).status).toBe(400);
  expect(await call('/decode', 'payloads', { key })).toMatchObject({
    status: 400,
    error: expect.stringMatching(/JSON/),
  });
  expect(await call('/decode', {}, { key })).toMatchObject({ status: 400 });
});

test('only operators are served: by key, or by the cookie that signing in sets', async () => {
  const wrong = `${key.slice(0, -1)}z`;
  expect(await call('/decode', { payloads: [PLAIN] })).toMatchObject({
    status: 401,
    error: expect.stringMatching(/sign in at http.*\/sign-in/),
  });
  expect((await call('/decode', { payloads: [PLAIN] }, { key: wrong })).status).toBe(401);
  expect(await signIn(wrong)).toMatchObject({ status: 401, cookie: '' });
  const { status, cookie, location } = await signIn(key);
  expect([status, location]).toEqual([302, `${UI}/`]);
  expect(cookie).toMatch(/^manilla_operator=svc_\w+_opr\.\d+\./);
  expect(cookie).toMatch(/; samesite=strict; httponly$/i);
  expect(cookie).not.toContain(key);
  const [pair = ''] = cookie.split(';');
  expect((await call('/decode', { payloads: [PLAIN] }, { cookie: pair, origin: UI })).status).toBe(200);
  const [id, expiresAt, signature] = pair.split('.');
  const longer = `${id}.${Number(expiresAt) + 1}.${signature}`;
  expect((await call('/decode', { payloads: [PLAIN] }, { cookie: longer, origin: UI })).status).toBe(401);
});

test('a revoked operator is not served any more, by key or by cookie', async () => {
  const tunde = OPERATORS.tunde;
  const [pair = ''] = (await signIn(tunde.key)).cookie.split(';');
  expect((await call('/decode', { payloads: [] }, { cookie: pair })).status).toBe(200);
  await flows.sql`UPDATE operators SET revoked_at = now() WHERE id = ${tunde.id}`;
  expect((await call('/decode', { payloads: [] }, { cookie: pair })).status).toBe(401);
  expect((await call('/decode', { payloads: [] }, { key: tunde.key })).status).toBe(401);
});

test('pages of the Temporal UI may call with the cookie, those of other sites may not', async () => {
  const preflight = await fetch(`${url}/decode`, { method: 'OPTIONS', headers: { origin: UI } });
  expect(preflight.status).toBe(204);
  expect(Object.fromEntries(preflight.headers)).toMatchObject({
    'access-control-allow-origin': UI,
    'access-control-allow-credentials': 'true',
    'access-control-allow-headers': 'authorization, content-type, x-namespace',
  });
  const [pair = ''] = (await signIn(key)).cookie.split(';');
  const elsewhere = { cookie: pair, origin: 'http://127.0.0.1:9999' };
  expect((await call('/decode', { payloads: [PLAIN] }, elsewhere)).status).toBe(403);
  expect(await signIn(key, 'https://elsewhere.example')).toMatchObject({ status: 403, cookie: '' });
});

async function startProcess(settings: Record<string, string>) {
  const port = await freePort();
  const child = spawn(process.execPath, [MAIN], {
    env: {
      ...process.env,
      DATABASE_URL: flows.databaseUrl,
      MANILLA_KEYS: `test:${Buffer.alloc(32, 7).toString('base64url')}`,
      CODEC_PORT: String(port),
      ...settings,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, address: `http://127.0.0.1:${port}`, exited, errors: () => errors };
}

test.each(['/health', '/sign-in'])('a page of another site whose name leads here does not read %s', async (path) => {
  const statusFor = async (host: string): Promise<number> =>
    (await sendRaw(url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-Host: localhost\r\n\r\n`)).status;
  expect(await statusFor(`evil.example:${server.port}`)).toBe(421);
  expect(await statusFor(`localhost:${server.port}`)).toBe(200);
});

test('the process serves until SIGTERM, and does not start without keys', async () => {
  const running = await startProcess({ TEMPORAL_PAYLOAD_KEYS: KEYS });
  await waitFor('the codec server to respond', () =>
    fetch(`${running.address}/health`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  expect((await fetch(`${running.address}/decode`, { method: 'POST', body: '{}' })).status).toBe(415);
  running.child.kill('SIGTERM');
  expect(await running.exited).toBe(0);

  const refused = await startProcess({});
  expect(await refused.exited).toBe(1);
  expect(refused.errors()).toContain('The codec server needs TEMPORAL_PAYLOAD_KEYS');
});

test("Temporal's command line shows an encrypted flow with the codec server, and only with it", async () => {
  const payment = await flows.createPayment(await flows.createWallet(), 200_000);
  await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  const program = await findTemporal({ say: () => {} });
  const { address } = flows.dependencies.config.temporal;
  const show = async (...options: string[]): Promise<string> => {
    const words = ['workflow', 'show', '--address', address, '--workflow-id', payment.id, '--detailed'];
    return (await run(program, [...words, ...options])).stdout;
  };
  const { organisationId } = flows.organisation;
  expect(await show()).not.toContain(organisationId);
  const decoded = await show('--codec-endpoint', url, '--codec-auth', `Bearer ${key}`);
  expect(decoded).toContain(organisationId);
});
