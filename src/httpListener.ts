// The HTTP listener of every server: closed without cutting off a response.
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP, type ListenOptions, Server as NetServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';

export interface HttpListener {
  server: Server;
  /** The port that it listens on; needed where port 0 was configured. */
  port: number;
  /**
   * Accepts no more connections, ends each one with the response to its next request, and resolves when every
   * connection has ended: within a second after the last response.
   */
  close: () => Promise<void>;
}

/** Answers a request. It must not fail. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => unknown;

/**
 * Whether a Host header names a site that is not this machine, on a listener that only this machine reaches: a page of
 * that site sends it after its name was made to lead here (DNS rebinding), and then reads the answer. Addresses and
 * `localhost` are no other site, and without a Host no page has sent it.
 */
export function isForeignHost(header: string | undefined, bindAddress: string): boolean {
  if (!/^(localhost$|127\.|::1$)/.test(bindAddress)) return false;
  const host = (header ?? '').toLowerCase().replace(/:\d*$/, '').replace(/\.$/, '');
  return host !== '' && host !== 'localhost' && isIP(host.replace(/^\[(.*)\]$/, '$1')) === 0;
}

/** Answers 421 to requests with a foreign Host, for a listener on this address. */
export const withoutForeignHosts =
  (bindAddress: string, handle: RequestHandler): RequestHandler =>
  (request, response) => {
    if (isForeignHost(request.headers.host, bindAddress)) {
      response.writeHead(421, { 'content-type': 'text/plain; charset=utf-8' }).end('Use localhost or 127.0.0.1.\n');
    } else {
      handle(request, response);
    }
  };

/**
 * After `close`, an idle connection has this long to bring the request that its client may have sent meanwhile: closed
 * at once, it would be reset. The response to that request then ends the connection.
 */
export const IDLE_GRACE_MS = 1_000;
/** Longer than any request takes (`REQUEST_MAX_MS`). What is open after that was never sent, or is not read. */
const CLOSE_MAX_MS = 10_000;

/** Starts listening. Rejects when the port is taken. */
export async function listen(
  handle: RequestHandler,
  {
    port,
    host,
    backlog,
    idleGraceMs = IDLE_GRACE_MS,
  }: Pick<ListenOptions, 'port' | 'host' | 'backlog'> & { idleGraceMs?: number },
  options: ServerOptions = {},
): Promise<HttpListener> {
  const server = createServer(options, handle);
  const inProgress = new Set<ServerResponse>();
  let isClosing = false;
  server.prependListener('request', (_request, response) => {
    inProgress.add(response);
    if (isClosing) response.setHeader('Connection', 'close');
    response.once('close', () => inProgress.delete(response));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog }, resolve);
  });
  const close = async (): Promise<void> => {
    isClosing = true;
    for (const response of inProgress) if (!response.headersSent) response.setHeader('Connection', 'close');
    await setImmediate(); // connections that wait to be accepted would be reset
    // `close` of an HTTP server would end idle connections at once.
    const closed = new Promise((resolve) => NetServer.prototype.close.call(server, resolve));
    // Repeated: a response whose headers were sent before has left its connection idle.
    // And not at once: a request may wait to be read.
    const timer = setInterval(() => void setImmediate().then(() => server.closeIdleConnections()), idleGraceMs);
    const limit = setTimeout(() => server.closeAllConnections(), CLOSE_MAX_MS);
    await closed;
    clearInterval(timer);
    clearTimeout(limit);
    server.close(); // stops its check of slow requests
  };
  return { server, port: (server.address() as AddressInfo).port, close };
}
