// The webhook receivers of a chaos run: each records every event that it accepts, and fails or hangs on request.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import type { ReceivedEvent } from './facts.ts';

/** `flake`: fails at random. */
export type Behaviour = 'accept' | 'fail' | 'flake' | 'hang';

/** About every tenth attempt fails. */
const FLAKES_SHARE = 0.1;

export interface WebhookReceiver {
  url: string;
  /** The events that were accepted, in order of arrival. */
  received: ReceivedEvent[];
  behave: (behaviour: Behaviour) => void;
  /** Sets the secret of the endpoint, with which the signatures are checked. */
  trust: (secret: string) => void;
  close: () => Promise<void>;
}

export async function startWebhookReceiver(initially: Behaviour = 'accept'): Promise<WebhookReceiver> {
  const received: ReceivedEvent[] = [];
  let behaviour = initially;
  let webhook: Webhook | undefined;
  const hanging = new Set<ServerResponse>();

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString('utf8');
    if (behaviour === 'hang') {
      hanging.add(response);
      response.once('close', () => hanging.delete(response));
      return;
    }
    if (behaviour === 'fail' || (behaviour === 'flake' && Math.random() < FLAKES_SHARE)) {
      response.writeHead(500).end();
      return;
    }
    const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = request.headers;
    // Not `verify`, which rejects the timestamps of a worker whose clock is off.
    const expected = webhook?.sign(String(id), new Date(Number(timestamp) * 1000), body) ?? '';
    const isSigned = String(signatures).split(' ').includes(expected);
    received.push({ id: String(id), body, isSigned });
    response.writeHead(204).end();
  };
  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy()); // the sender closed the connection
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    received,
    behave: (next) => {
      behaviour = next;
      if (next !== 'accept') return;
      for (const response of hanging) response.destroy();
      hanging.clear();
    },
    trust: (secret) => {
      webhook = new Webhook(secret);
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
