// The HTTP listener of API, codec server and metrics: closed without cutting off a response.
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { type AddressInfo, isIP, type ListenOptions } from 'node:net';

export interface HttpListener {
  server: Server;
  /** The port that it listens on; needed where port 0 was configured. */
  port: number;
  /** Accepts no more connections, finishes the requests in progress, and resolves when every connection has ended. */
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

/** Starts listening. Rejects when the port is taken. */
export async function listen(
  handle: RequestHandler,
  { port, host, backlog }: Pick<ListenOptions, 'port' | 'host' | 'backlog'>,
  options: ServerOptions = {},
): Promise<HttpListener> {
  const server = createServer(options, handle);
  const inProgress = new Set<ServerResponse>();
  // Before `handle`. A connection that is kept alive ends with the first response after the listener is closed: `close`
  // of Node ends only those that are idle at that moment.
  server.prependListener('request', (request, response) => {
    inProgress.add(response);
    if (!server.listening) response.setHeader('Connection', 'close');
    response.once('close', () => {
      inProgress.delete(response);
      if (!server.listening) request.socket.end();
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host, backlog }, resolve);
  });
  const close = async (): Promise<void> => {
    const closed = new Promise((resolve) => {
      server.close(resolve);
    });
    for (const response of inProgress) if (!response.headersSent) response.setHeader('Connection', 'close');
    await closed;
  };
  return { server, port: (server.address() as AddressInfo).port, close };
}
