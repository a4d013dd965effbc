// An HTTP listener: opened on a port, and closed without cutting off a response. The API, the codec server and the
// metrics server listen with it.
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';

export interface HttpListener {
  server: Server;
  /** The port that it listens on; needed where port 0 was configured. */
  port: number;
  /** Accepts no more connections, finishes the requests in progress, and resolves when every connection has ended. */
  close: () => Promise<void>;
}

/** Answers a request. It must not fail. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => unknown;

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
