// Listens for the callbacks of a provider during `rail check`, and responds to each with 200.
import type { IncomingMessage, ServerResponse } from 'node:http';
import getRawBody from 'raw-body';
import { listen } from '../httpListener.ts';
import type { SentCallback } from '../rail/promises/harness.ts';
import { CommandError, EXIT } from './failure.ts';

const BODY_BYTES_MAX = 1024 * 1024;
const CALLBACKS_MAX = 1_000;

/** On this machine only: a tunnel or a proxy makes it reachable for the provider. */
export async function listenForCallbacks(port: number) {
  const received: SentCallback[] = [];
  const keep = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await getRawBody(request, { limit: BODY_BYTES_MAX }).catch(() => null);
    if (body === null) return void request.destroy();
    if (received.length < CALLBACKS_MAX) received.push({ headers: request.headers, body });
    response.writeHead(200).end();
  };
  const { close } = await listen(keep, { port, host: '127.0.0.1', idleGraceMs: 1 }).catch(
    (error: NodeJS.ErrnoException) => {
      throw new CommandError(`--listen: the port ${port} cannot be used (${error.code}).`, EXIT.usage);
    },
  );
  return { callbacks: () => received, close };
}
