// Port selection: the preferred port while it is free, another one otherwise.
import { createServer, type Server } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { freePort, retryWhenTaken } from '../../dev/freePort.ts';

let server: Server | undefined;

afterEach(() => {
  server?.close();
  server = undefined;
});

async function occupy(port: number): Promise<void> {
  server = createServer();
  await new Promise<void>((resolve) => server?.listen(port, '127.0.0.1', resolve));
}

test('the preferred port is used while it is free', async () => {
  const port = await freePort();
  expect(await freePort(port)).toBe(port);
});

test('a port in use is skipped', async () => {
  const port = await freePort();
  await occupy(port);
  expect(await freePort(port)).not.toBe(port);
});

test('a port that is already assigned is skipped', async () => {
  const port = await freePort();
  expect(await freePort(port, [port])).not.toBe(port);
});

test('a selected port is outside the ephemeral range', async () => {
  const ports = await Promise.all(Array.from({ length: 20 }, () => freePort()));
  expect(ports.every((port) => port >= 20_000 && port < 32_000)).toBe(true);
});

test('a server whose port was taken is restarted, and one that fails otherwise is not', async () => {
  let starts = 0;
  const start = async (message: string) => {
    starts++;
    if (starts < 3) throw new Error(message);
    return starts;
  };
  expect(await retryWhenTaken(() => start('could not bind: Address already in use'))).toBe(3);
  starts = 0;
  await expect(retryWhenTaken(() => start('out of disk'))).rejects.toThrow('out of disk');
  expect(starts).toBe(1);
});
