// What a stranger can stop: nothing. Connections that open, stall, are reset, half closed or slow, on every route, cut
// after every number of bytes, with and without a key. Afterwards the only place of each kind is free, and the
// connections have ended.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { mapAtMost } from '../../src/concurrency/mapAtMost.ts';
import { publicId } from '../../src/ids.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { pathOf, type RouteCase, routeCases } from '../support/routes.ts';

/** Connections of each behaviour for each route: one for each byte of a request. */
const COUNT = 300;
/**
 * Connections that are open at a time, at most: fewer than may wait to be accepted (4,096). Of more, the system drops
 * packets, and a connection that only the client has does not end.
 */
const OPEN_MAX = 2_000;
/**
 * Headers must be there within 10 s and bodies within 8, checked every two seconds. Both sides are in this process,
 * which a busy machine slows down; what has not ended by then is not ended by these limits.
 */
const ENDED_WITHIN_MS = 60_000;

let api: TestApi;

beforeAll(async () => {
  api = await startTestApi({ settings: { REQUESTS_IN_PROGRESS_MAX: '1' }, logLevel: 'fatal' });
});

afterAll(() => api.close());

type Behaviour = (socket: Socket, request: Buffer, cut: number) => void;

/** What each does with the bytes of a request, given where to cut it. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  stalls: (socket, request, cut) => void socket.write(request.subarray(0, cut)),
  resets: (socket, request, cut) => void socket.write(request.subarray(0, cut), () => socket.resetAndDestroy()),
  'closes its half': (socket, request, cut) => void socket.end(request.subarray(0, cut)),
  'is no HTTP': (socket) => void socket.write('BAD\r\n\r\n'),
  'sends the rest later': (socket, request, cut) => {
    socket.write(request.subarray(0, cut));
    setTimeout(() => socket.write(request.subarray(cut)), 500);
  },
};

function requestOf({ method, route }: RouteCase, key: string | null): Buffer {
  const body = method === 'GET' ? '' : JSON.stringify({ amount: 100, text: 'x' });
  const contract = publicId('organisation', api.organisation.organisationId);
  const path = `/v1${pathOf(route).replace(/callbacks\/.*/, `callbacks/${contract}`)}`;
  const headers = [
    'Host: localhost',
    'Connection: close',
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    'Idempotency-Key: s',
    ...(body === '' ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]),
  ];
  const request = Buffer.from(`${method} ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n${body}`);
  expect(request.length).toBeLessThanOrEqual(COUNT);
  return request;
}

/**
 * Resolves when the connection is closed: true if the server has closed it, false if this side had to. When the server
 * has sent its end, this side does not end: a write then fails only if the server has closed its side too.
 */
function open(behaviour: Behaviour, request: Buffer, cut: number): Promise<boolean> {
  return new Promise((resolve) => {
    let closedHere = false;
    const socket = connect({ port: Number(new URL(api.urls.test).port), host: '127.0.0.1', allowHalfOpen: true }, () =>
      behaviour(socket, request, cut),
    );
    const limit = setTimeout(() => {
      closedHere = true;
      socket.destroy();
    }, ENDED_WITHIN_MS);
    let probe: NodeJS.Timeout | undefined;
    socket.on('end', () => {
      if (!socket.writable) socket.destroy();
      probe = setInterval(() => socket.write('x'), 500);
    });
    socket.on('data', () => {});
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(limit);
      clearInterval(probe);
      resolve(!closedHere);
    });
  });
}

test.each([
  ['without a key', () => null],
  ['with a key', () => api.test.key],
])(
  '%s nothing stays taken',
  async (_name, keyOf) => {
    const requests = routeCases().map((route) => requestOf(route, keyOf()));
    const connections = requests.flatMap((request) =>
      Object.entries(BEHAVIOURS).flatMap(([name, behaviour]) =>
        Array.from({ length: COUNT }, (_, index) => ({ name, behaviour, request, cut: 1 + (index % request.length) })),
      ),
    );
    const left: string[] = [];
    await mapAtMost(OPEN_MAX, connections, async ({ name, behaviour, request, cut }) => {
      const isEnded = await open(behaviour, request, cut);
      if (!isEnded) left.push(`${name} after ${cut} bytes of ${request.subarray(0, 80).toString()}`);
    });
    expect(left).toEqual([]);
    expect((await api.test.get('/wallets')).status).toBe(200);
    expect((await api.client(null).get('/health')).status).toBe(200);
    const callback = await api
      .client(null)
      .post(`/rails/sandbox/callbacks/${publicId('organisation', api.organisation.organisationId)}`, {});
    expect(callback.error.code).toBe('RAIL_CALLBACK_INVALID');
  },
  900_000,
);

test('a connection that was opened in advance is closed without an answer: a request may be on its way', async () => {
  const socket = connect({ port: Number(new URL(api.urls.test).port), host: '127.0.0.1' });
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  await once(socket, 'close');
  expect(Buffer.concat(chunks).toString()).toBe('');
}, 60_000);
