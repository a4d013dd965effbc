// The HTTP load of the benchmark: what counts as throughput, and when a figure is refused.
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { runLoad } from '../../bench/load.ts';

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

/** A server on a free port. */
async function serve(listener: RequestListener): Promise<{ url: string; stop: () => void }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = (): void => {
    server.close();
    server.closeAllConnections();
  };
  closers.push(stop);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

const load = (url: string) =>
  runLoad({ url, connections: 2, seconds: 1, request: () => ({ method: 'GET', path: '/', headers: {} }) });

test('counts 2xx responses', async () => {
  let responses = 0;
  const { url } = await serve((_, response) => {
    responses += 1;
    response.writeHead(201).end();
  });
  const { value } = await load(url);
  expect(value).toBeGreaterThan(0);
  expect(value).toBeLessThanOrEqual(responses);
});

test('throws when requests are refused', async () => {
  let responses = 0;
  const { url } = await serve((_, response) => {
    responses += 1;
    response.writeHead(responses % 10 === 0 ? 503 : 201).end();
  });
  await expect(load(url)).rejects.toThrow(/requests [\d,]+ failed: .*503 \([\d,]+\)/);
});

test('throws when the server stops in the middle', async () => {
  let responses = 0;
  const server = await serve((_, response) => {
    response.writeHead(201).end();
    responses += 1;
    if (responses === 1) server.stop();
  });
  await expect(load(server.url)).rejects.toThrow(/failed: .*no response \([\d,]+\)/);
});

test('throws when the server accepts requests and sends no response', async () => {
  const { url } = await serve(() => {});
  await expect(load(url)).rejects.toThrow(/none was answered in time$/);
});
