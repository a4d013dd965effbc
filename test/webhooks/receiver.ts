// A server on loopback, by default for webhooks: records its requests and responds as a test specifies.
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { waitFor } from '../support/waitFor.ts';

export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Responds to one request; `count` is 1 for the first. */
export type Answering = (response: ServerResponse, received: Received, count: number) => void | Promise<void>;

export interface Receiver {
  /** Without a path. */
  origin: string;
  url: string;
  port: number;
  /** In order of arrival. */
  received: Received[];
  answerWith: (answering: Answering) => void;
  /** Resolves with all requests once there are this many. */
  untilReceived: (count: number) => Promise<Received[]>;
  close: () => Promise<void>;
}

export const answerStatus =
  (status: number, body = ''): Answering =>
  (response) =>
    void response.writeHead(status).end(body);

export async function startReceiver(answering: Answering = answerStatus(200)): Promise<Receiver> {
  let answer = answering;
  const received: Received[] = [];
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const one = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    };
    received.push(one);
    await answer(response, one, received.length);
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy()); // the sender closed the connection
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const origin = `http://127.0.0.1:${port}`;
  return {
    origin,
    url: `${origin}/hook`,
    port,
    received,
    answerWith: (next) => {
      answer = next;
    },
    untilReceived: (count) => waitFor(`${count} requests at the receiver`, () => received.length >= count && received),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
