// Finds loopback ports for the embedded stack: the well-known port when it is free, any free port otherwise.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the ephemeral port range of Linux (from 32768) and macOS (from 49152): an outgoing connection of any program
 * can take a port of that range between the check and the listen.
 */
const LOWEST = 20_000;
const HIGHEST = 32_000;

const ATTEMPTS_MAX = 3;

/** Returns the preferred port when it is free on the address, otherwise a free port that is not in `except`. */
export async function freePort(preferred?: number, except: readonly number[] = [], address = '127.0.0.1') {
  if (preferred !== undefined && !except.includes(preferred) && (await isFree(preferred, address))) return preferred;
  for (;;) {
    const port = randomInt(LOWEST, HIGHEST);
    if (!except.includes(port) && (await isFree(port, address))) return port;
  }
}

function isFree(port: number, address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: address, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/**
 * Runs `start` up to three times while it fails because its port is taken: another program can take a port between the
 * check and the listen. `start` must choose its port itself, so that each attempt gets another one.
 */
export async function retryWhenTaken<Result>(start: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start();
    } catch (error) {
      if (attempt === ATTEMPTS_MAX || !/address already in use|port is already in use/i.test((error as Error).message))
        throw error;
    }
  }
}
