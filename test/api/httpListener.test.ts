// The HTTP listener closes without cutting off a response, and without waiting for connections that are kept alive. On
// loopback it is not reached by pages of other sites whose names were made to lead to it.
import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type ServerResponse } from 'node:http';
import { createConnection } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { isForeignHost, listen, type RequestHandler, SOCKETS_UNDER_LOAD } from '../../src/httpListener.ts';
import { waitFor } from '../support/waitFor.ts';

const LOCAL = { port: 0, host: '127.0.0.1' };

test('a response in progress is finished, and its connection is not kept alive', async () => {
  const started = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const listener = await listen(async (_request, response) => {
    started.resolve();
    await released.promise;
    response.end('done');
  }, LOCAL);
  const request = get({ port: listener.port, agent: new Agent({ keepAlive: true }) });
  const answer = once(request, 'response');
  await started.promise;
  const closed = listener.close();
  released.resolve();
  const [response] = (await answer) as [IncomingMessage];
  expect(response.headers.connection).toBe('close');
  expect(await response.toArray().then((chunks) => Buffer.concat(chunks).toString())).toBe('done');
  await closed;
});

test('a connection whose response has begun ends after it, although it was to be kept alive', async () => {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const listener = await listen(async (_request, response) => {
    response.writeHead(200, { 'content-length': 4 });
    response.flushHeaders();
    begun.resolve();
    await released.promise;
    response.end('done');
  }, LOCAL);
  const socket = createConnection(listener.port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: local\r\n\r\n');
  await begun.promise;
  const closed = listener.close();
  released.resolve();
  expect(String(Buffer.concat(await socket.toArray()))).toMatch(/keep-alive(.|\r\n)*done$/);
  await closed;
});

describe('a response that takes long', () => {
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask'] }); // not those of Node itself
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  /** A listener that closes while it answers with `begin`, and what its client has received in the end. */
  async function closing(begin: (response: ServerResponse) => unknown) {
    const begun = Promise.withResolvers<ServerResponse>();
    const listener = await listen((_request, response) => {
      begin(response);
      begun.resolve(response);
    }, LOCAL);
    const socket = createConnection(listener.port, '127.0.0.1');
    const received = socket.toArray().then(
      (chunks) => String(Buffer.concat(chunks)),
      () => 'reset',
    );
    socket.write('GET / HTTP/1.1\r\nHost: local\r\n\r\n');
    const response = await begun.promise;
    const closed = listener.close();
    while (jest.getTimerCount() === 0) await setImmediate(); // it waits until no connection is accepted
    return { response, received, closed };
  }

  const beginFile = (response: ServerResponse): unknown => response.writeHead(200).write('first,');

  test('is not cut off while it is written, such as an export', async () => {
    const { response, received, closed } = await closing(beginFile);
    jest.advanceTimersByTime(19_000);
    response.write('second,');
    await setImmediate();
    const finished = once(response, 'close');
    response.end('last');
    await finished;
    jest.advanceTimersByTime(1_000);
    expect(await received).toMatch(/first,(.|\r\n)*second,(.|\r\n)*last/);
    await closed;
  });

  test.each([
    ['has not begun after ten seconds', 11_000, () => {}],
    ['has not been written after twenty seconds', 21_000, beginFile],
  ])('is cut off when it %s', async (_what, ms, begin) => {
    const { received, closed } = await closing(begin);
    jest.advanceTimersByTime(ms - 2_000);
    await setImmediate();
    const before = await Promise.race([closed.then(() => 'closed'), setImmediate('open')]);
    expect(before).toBe('open');
    jest.advanceTimersByTime(2_000);
    await closed;
    expect(await received).not.toContain('last');
  });
});

/**
 * Sends requests to the first of these ports, on a connection that is kept alive, and after a refusal or a response
 * with `Connection: close` to another one, as a balancer does.
 */
async function sendRequests(ports: () => number[], sent: { count: number }): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let port: number | undefined = ports()[0];
  for (let refused = 0; port !== undefined && refused < ports().length; ) {
    try {
      const [response] = (await once(get({ port, agent }), 'response')) as [IncomingMessage];
      expect(await response.toArray().then((chunks) => Buffer.concat(chunks).toString())).toBe('done');
      sent.count += 1;
      refused = 0;
      if (response.headers.connection !== 'close') continue;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall !== 'connect') throw error; // the request was not sent
      refused += 1;
    }
    const left = port;
    port = ports().find((other) => other !== left);
  }
  agent.destroy();
}

const REQUEST_MAX_MS = 50;
const busy: RequestHandler = (_request, response) =>
  void setTimeout(() => response.end('done'), Math.random() * REQUEST_MAX_MS);

async function hasGrown(sent: { count: number }, by: number): Promise<void> {
  const from = sent.count;
  await waitFor('requests', () => (sent.count >= from + by ? true : undefined));
}

test.each([1, SOCKETS_UNDER_LOAD])(
  '64 connections that are never idle end with the next response each, without a reset, with %d sockets',
  async (sockets) => {
    const listener = await listen(busy, { ...LOCAL, sockets });
    const sent = { count: 0 };
    const clients = Promise.all(Array.from({ length: 64 }, () => sendRequests(() => [listener.port], sent)));
    await hasGrown(sent, 1_000);
    const started = performance.now();
    await listener.close();
    expect(performance.now() - started).toBeLessThan(2_000 + REQUEST_MAX_MS);
    await clients;
  },
);

test('one process after another is restarted under load, and no request fails', async () => {
  const listeners = [await listen(busy, LOCAL), await listen(busy, LOCAL)];
  const sent = { count: 0 };
  const ports = (): number[] => listeners.map(({ port }) => port);
  const clients = Promise.all(Array.from({ length: 64 }, () => sendRequests(ports, sent)));
  for (const port of ports()) {
    await hasGrown(sent, 500);
    await listeners.find((listener) => listener.port === port)?.close();
    await hasGrown(sent, 500);
    listeners.push(await listen(busy, { ...LOCAL, port }));
    listeners.splice(
      listeners.findIndex((listener) => listener.port === port),
      1,
    );
  }
  const last = listeners.splice(0); // so none goes from one that stops to another
  await Promise.all(last.map((listener) => listener.close()));
  await expect(clients).resolves.toHaveLength(64);
});

test('an idle connection has its next request answered, and then ends', async () => {
  const listener = await listen((_request, response) => response.end('done'), LOCAL);
  const socket = createConnection(listener.port, '127.0.0.1');
  socket.write('GET / HTTP/1.1\r\nHost: local\r\n\r\n');
  await once(socket, 'data');
  const closed = listener.close();
  socket.write('GET / HTTP/1.1\r\nHost: local\r\n\r\n');
  expect(String(Buffer.concat(await socket.toArray()))).toMatch(/Connection: close(.|\r\n)*done$/);
  await closed;
});

test.each([1, SOCKETS_UNDER_LOAD])('a port that is taken by %d sockets is refused', async (sockets) => {
  const listener = await listen((_request, response) => response.end(), { ...LOCAL, sockets });
  await expect(listen(() => {}, { ...LOCAL, port: listener.port, sockets })).rejects.toThrow('EADDRINUSE');
  await listener.close();
  const next = await listen((_request, response) => response.end(), { ...LOCAL, port: listener.port, sockets });
  expect(next.port).toBe(listener.port);
  await next.close();
});

/** Connects so many times while this thread stands still, and sends a request on each connection after that. */
function connectWhileBusy(port: number, count: number): Worker {
  const connected = new Int32Array(new SharedArrayBuffer(4));
  const code = `
    const { connect } = require('node:net');
    const { workerData: { port, count, connected } } = require('node:worker_threads');
    const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1', () => {
      if (Atomics.add(connected, 0, 1) === count - 1) Atomics.notify(connected, 0);
    }).resume());
    for (const socket of sockets) socket.write('GET / HTTP/1.1\\r\\nHost: local\\r\\n\\r\\n');`;
  const worker = new Worker(code, { eval: true, workerData: { port, count, connected } });
  worker.unref();
  for (let seen = 0; seen < count; seen = Atomics.load(connected, 0)) Atomics.wait(connected, 0, seen, 1_000);
  return worker;
}

test('many that connect at once to a busy process are accepted within a few turns of its event loop', async () => {
  const counts = { turns: 0, requests: 0 };
  const listener = await listen(
    (_request, response) => {
      counts.requests += 1;
      response.end();
    },
    { ...LOCAL, backlog: 4_096, sockets: SOCKETS_UNDER_LOAD },
  );
  const worker = connectWhileBusy(listener.port, 640);
  for (; counts.requests < 640; counts.turns += 1) await setImmediate();
  expect(counts.turns).toBeLessThan(320);
  await worker.terminate();
  await listener.close();
});

test('those that wait to be accepted by a listener that closes are served', async () => {
  const counts = { requests: 0 };
  const listener = await listen(
    (_request, response) => {
      counts.requests += 1;
      response.end();
    },
    { ...LOCAL, backlog: 4_096, sockets: SOCKETS_UNDER_LOAD },
  );
  connectWhileBusy(listener.port, 640);
  await listener.close();
  expect(counts.requests).toBe(640);
});

test.each<[string | undefined, string, boolean]>([
  ['evil.example', '127.0.0.1', true],
  ['evil.example:8234', '127.0.0.1', true],
  ['EVIL.example.', 'localhost', true],
  ['localhost.evil.example', '127.0.0.1', true],
  ['127.0.0.1.evil.example', '127.0.0.1', true],
  ['127.0.0.1@evil.example', '::1', true],
  ['evil', '127.8.0.1', true],
  ['evil.example', '0.0.0.0', false],
  ['evil.example', '10.0.0.7', false],
  ['localhost', '127.0.0.1', false],
  ['LocalHost.:8234', '127.0.0.1', false],
  ['127.0.0.1:8234', '127.0.0.1', false],
  ['[::1]:8234', '::1', false],
  ['[::1]', '127.0.0.1', false],
  ['', '127.0.0.1', false],
  [undefined, '127.0.0.1', false],
])('the Host %s on %s is foreign: %s', (host, bindAddress, expected) => {
  expect(isForeignHost(host, bindAddress)).toBe(expected);
});
