// Finds loopback ports for the embedded stack: the well-known one while nobody has it, any free one otherwise.
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Below the range from which Linux (32768 up) and macOS (49152 up) number outgoing connections: a port from that range
 * can be taken by any client in the moment between finding it and listening on it.
 */
const LOWEST = 20_000;
const HIGHEST = 32_000;

const ATTEMPTS_MAX = 3;

/** The preferred port when it is free on the address, else a free one that is not in `except`. */
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

/** Another program can take a port between our finding it and the server's listening on it: then again, with another. */
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
