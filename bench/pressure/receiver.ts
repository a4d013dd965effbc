// A webhook endpoint of the load: accepts, fails or hangs, and keeps the resources that it has received.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Manner = 'accepts' | 'fails' | 'hangs';

export interface Receiver {
  url: string;
  /** Resolves when an event of this resource has arrived. */
  untilReceived: (resource: string) => Promise<void>;
  /** Number of requests so far. */
  count: () => number;
  close: () => Promise<void>;
}

export async function startReceiver(manner: Manner): Promise<Receiver> {
  const received = new Set<string>();
  const waiting = new Map<string, () => void>();
  const hanging = new Set<ServerResponse>();
  let count = 0;
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => response.destroy());
    request.on('end', () => {
      count += 1;
      if (manner === 'hangs') return void hanging.add(response);
      response.writeHead(manner === 'accepts' ? 200 : 500).end();
      if (manner !== 'accepts') return;
      const { data } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { data: { id?: string } };
      const id = data.id ?? '';
      received.add(id);
      waiting.get(id)?.();
      waiting.delete(id);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/`,
    untilReceived: (resource) =>
      received.has(resource) ? Promise.resolve() : new Promise((resolve) => waiting.set(resource, resolve)),
    count: () => count,
    close: async () => {
      for (const response of hanging) response.destroy();
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
