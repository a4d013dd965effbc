// A gRPC proxy in front of the test stack's Temporal server that admits calls with certain API keys only and rejects
// all others as Temporal's own authorizer does.
import { connect, constants, createServer, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { testStack } from './stack.ts';

export interface KeyedTemporal {
  address: string;
  /** From now on these keys are admitted, and no others. */
  admit: (...keys: string[]) => void;
  /** The keys of the calls so far. */
  seen: Set<string>;
  close: () => Promise<void>;
}

const REFUSAL = {
  ':status': 200,
  'content-type': 'application/grpc',
  'grpc-status': '7',
  'grpc-message': 'Request unauthorized.',
};

export async function startKeyedTemporal(): Promise<KeyedTemporal> {
  const upstream = connect(`http://${testStack().temporalAddress}`);
  const sessions = new Set<ServerHttp2Session>();
  const seen = new Set<string>();
  let admitted: readonly string[] = [];
  const server = createServer();
  server.on('session', (session) => sessions.add(session.on('error', () => {})));
  server.on('stream', (inner, headers) => {
    inner.on('error', () => {}); // the other end sees a lost call
    const key = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '';
    seen.add(key);
    if (admitted.includes(key)) forward(inner, headers);
    else inner.respond(REFUSAL, { endStream: true });
  });

  const forward = (inner: ServerHttp2Stream, headers: Record<string, string | string[] | undefined>): void => {
    const outer = upstream.request(headers);
    let trailers = {};
    outer.on('error', () => inner.close(constants.NGHTTP2_INTERNAL_ERROR));
    inner.on('close', () => outer.close(constants.NGHTTP2_CANCEL));
    outer.on('trailers', (received) => {
      trailers = received;
    });
    outer.on('response', (response, flags) => {
      if ((flags & constants.NGHTTP2_FLAG_END_STREAM) > 0) {
        inner.respond(response, { endStream: true }); // an error without a message
        return;
      }
      inner.respond(response, { waitForTrailers: true });
      inner.on('wantTrailers', () => inner.sendTrailers(trailers));
      outer.pipe(inner);
    });
    inner.pipe(outer);
  };

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    admit: (...keys) => {
      admitted = keys;
    },
    seen,
    close: async () => {
      for (const session of sessions) session.destroy();
      upstream.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
