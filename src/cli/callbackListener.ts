// Listens for the callbacks of a provider during `rail check`, and responds to each with 200.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { CommandError, EXIT } from './failure.ts';

const BODY_BYTES_MAX = 1024 * 1024;
const CALLBACKS_MAX = 1_000;

export interface CallbackListener {
  callbacks: () => readonly { headers: IncomingHttpHeaders; body: Buffer }[];
  close: () => Promise<void>;
}

/** On this machine only: a tunnel or a proxy makes it reachable for the provider. */
export async function listenForCallbacks(port: number): Promise<CallbackListener> {
  const received: { headers: IncomingHttpHeaders; body: Buffer }[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
      else request.destroy();
    });
    request.on('end', () => {
      if (received.length < CALLBACKS_MAX) received.push({ headers: request.headers, body: Buffer.concat(chunks) });
      response.writeHead(200).end();
    });
    request.on('error', () => {});
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      reject(new CommandError(`--listen: the port ${port} cannot be used (${error.code}).`, EXIT.usage)),
    );
    server.listen(port, '127.0.0.1', resolve);
  });
  return {
    callbacks: () => received,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
