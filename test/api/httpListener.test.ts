// The HTTP listener closes without cutting off a response, and without waiting for connections that are kept alive. On
// loopback it is not reached by pages of other sites whose names were made to lead to it.
import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { createConnection } from 'node:net';
import { expect, test } from '@jest/globals';
import { isForeignHost, listen } from '../../src/httpListener.ts';

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

test('a port that is taken is refused', async () => {
  const listener = await listen((_request, response) => response.end(), LOCAL);
  await expect(listen(() => {}, { ...LOCAL, port: listener.port })).rejects.toThrow('EADDRINUSE');
  await listener.close();
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
