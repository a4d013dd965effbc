// The HTTP listener of every server: closed without cutting off a response.
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import {
  type AddressInfo,
  createServer as createNetServer,
  isIP,
  type ListenOptions,
  Server as NetServer,
} from 'node:net';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';

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
/** Longer than any request takes until its response begins (`REQUEST_MAX_MS`). What is open then was never sent. */
const CLOSE_MAX_MS = 10_000;
/** Longer than exports are written as a rule, and shorter than a process has to stop (`PROCESS_STOP_MAX_MS`). */
const WRITTEN_MAX_MS = 20_000;

/**
 * Of a port under load. Node accepts one connection of a socket in a turn of its event loop, and serves all open ones
 * in the same turn: of many that connect to a busy process through one socket, the last would wait for seconds.
 */
export const SOCKETS_UNDER_LOAD = process.platform === 'linux' ? 64 : 1;
/**
 * A connection that waits to be accepted when its socket is closed is reset. So a server that is in use is closed after
 * a time without a new connection, in which its clients and balancers heed `Connection: close`.
 */
const QUIET_MS = 50;
const QUIET_WAITS_MAX = 10;
/** Turns of the event loop in which `close` accepts what waits to be accepted. */
const CLOSE_TURNS_MAX = 1_000;

interface Address extends Pick<ListenOptions, 'port' | 'host' | 'backlog'> {
  idleGraceMs?: number;
  /** Listening sockets; several share the port (SO_REUSEPORT), which only Linux distributes well. */
  sockets?: number;
}

/** Starts listening. Rejects when the port is taken. */
export async function listen(
  handle: RequestHandler,
  { idleGraceMs = IDLE_GRACE_MS, sockets = 1, ...address }: Address,
  options: ServerOptions = {},
): Promise<HttpListener> {
  const server = createServer(options, handle);
  let acceptedCount = 0;
  server.on('connection', () => {
    acceptedCount += 1;
  });
  const { port, others } = await bind(server, address, sockets);
  const inProgress = new Set<ServerResponse>();
  let isClosing = false;
  server.prependListener('request', (_request, response) => {
    inProgress.add(response);
    if (isClosing) response.setHeader('Connection', 'close');
    response.once('close', () => inProgress.delete(response));
  });
  const untilNoneIsAccepted = async (wait: () => Promise<void>, max: number): Promise<void> => {
    for (let waits = 0, before = -1; before < acceptedCount && waits < max; waits += 1) {
      before = acceptedCount;
      await wait();
    }
  };
  const close = async (): Promise<void> => {
    isClosing = true;
    for (const response of inProgress) if (!response.headersSent) response.setHeader('Connection', 'close');
    if (inProgress.size > 0) await untilNoneIsAccepted(() => sleep(QUIET_MS), QUIET_WAITS_MAX);
    await untilNoneIsAccepted(async () => {
      await setImmediate(); // the end of this turn
      await setImmediate();
    }, CLOSE_TURNS_MAX);
    // `close` of an HTTP server would end idle connections at once.
    const closed = Promise.all(
      [server, ...others].map((one) => new Promise((resolve) => NetServer.prototype.close.call(one, resolve))),
    );
    // Repeated: a response whose headers were sent before has left its connection idle.
    // And not at once: a request may wait to be read.
    const startedAt = performance.now();
    const timer = setInterval(() => {
      const isWriting = [...inProgress].some(({ headersSent }) => headersSent);
      if (performance.now() - startedAt > (isWriting ? WRITTEN_MAX_MS : CLOSE_MAX_MS)) server.closeAllConnections();
      else void setImmediate().then(() => server.closeIdleConnections());
    }, idleGraceMs);
    await closed;
    clearInterval(timer);
    server.close(); // stops its check of slow requests
  };
  return { server, port, close };
}

/** Binds the port. With several sockets another process could share it, so it is first asked whether it is free. */
async function bind(server: Server, { port, ...address }: ListenOptions, sockets: number) {
  if (sockets === 1) return { port: await portOf(server, { port, ...address }), others: [] };
  if (port !== 0) {
    const probe = createNetServer();
    await portOf(probe, { port, ...address });
    await new Promise((resolve) => probe.close(resolve));
  }
  const shared = { port: await portOf(server, { port, ...address, reusePort: true }), ...address, reusePort: true };
  const others = Array.from({ length: sockets - 1 }, () =>
    createNetServer({ allowHalfOpen: true, noDelay: true }, (socket) => server.emit('connection', socket)),
  );
  await Promise.all(others.map((one) => portOf(one, shared)));
  return { port: shared.port, others };
}

/** Starts listening, and returns the port. */
const portOf = (server: NetServer, address: ListenOptions): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => resolve((server.address() as AddressInfo).port));
  });
