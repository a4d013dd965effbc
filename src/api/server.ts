// The HTTP listeners: one for each environment, or both behind one port and told apart by the Host header.
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Environment } from '../money.ts';
import { startMetricsServer } from '../telemetry/metricsServer.ts';
import { createApp, createRequestGuards } from './app.ts';
import type { ApiDependencies } from './dependencies.ts';
import { errorEnvelope, newRequestId } from './envelope.ts';
import { ApiError } from './errors.ts';

/** A client that sends slower than this is not a client (slow-loris). */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the idle time of common load balancers (60 s), so that it is they who close. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/** Keys' last-use times are written this often. */
const RECORD_USE_EVERY_MS = 60_000;

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface RunningApi {
  /** The ports that are listened on; useful where 0 was configured. */
  ports: Record<Environment, number>;
  /** Takes no more requests, finishes those under way, and resolves. */
  close: () => Promise<void>;
}

/** Starts listening. With `hosts` configured, both ports serve both environments by the Host header. */
export async function startApi(services: ApiDependencies): Promise<RunningApi> {
  const { config, log } = services;
  const gate = createRequestGuards(services);
  const handlers: Record<Environment, Handler> = {
    test: createApp(services, gate, 'test').callback(),
    live: createApp(services, gate, 'live').callback(),
  };
  const listen = async (environment: Environment): Promise<Server> => {
    const server = createServer({
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      requireHostHeader: false, // Node's own answer to a request without one has no envelope
    });
    server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      void handlers[environmentOf(request, config.hosts) ?? environment](request, response);
    };
    server.on('request', handle);
    server.on('checkExpectation', handle); // an Expect that we do not know changes nothing
    server.on('connect', (request, socket) => {
      endWith(
        socket,
        new ApiError('ROUTE_NOT_FOUND', { resource: 'route', id: `CONNECT ${request.url}`.slice(0, 200) }),
      );
    });
    server.on('clientError', (_error, socket) => {
      if (socket.writable) endWith(socket, new ApiError('VALIDATION_FAILED'));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(config.ports[environment], config.bindAddress, resolve);
    });
    return server;
  };
  const servers = { test: await listen('test'), live: await listen('live') };
  const { ports, bindAddress } = config.metrics;
  const metrics = ports.api === null ? null : await startMetricsServer({ port: ports.api, bindAddress, log });
  const recording = setInterval(() => {
    gate.apiKeys.recordUse().catch((error: unknown) => log.warn({ err: error }, 'last-use times were not written'));
  }, RECORD_USE_EVERY_MS);

  return {
    ports: { test: portOf(servers.test), live: portOf(servers.live) },
    close: async () => {
      clearInterval(recording);
      await Promise.all([closeServer(servers.test), closeServer(servers.live), metrics?.close()]);
      await gate.apiKeys.recordUse().catch(() => {});
    },
  };
}

function environmentOf(request: IncomingMessage, hosts: Record<Environment, string>): Environment | null {
  const host = request.headers.host?.toLowerCase();
  if (host === undefined) return null;
  if (host === hosts.test) return 'test';
  return host === hosts.live ? 'live' : null;
}

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeIdleConnections();
  });
}

/** What never becomes a request still gets the envelope, so that every answer of the service reads the same. */
function endWith(socket: Duplex, error: ApiError): void {
  const requestId = newRequestId();
  const body = JSON.stringify(errorEnvelope(error, requestId));
  socket.end(
    [
      `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
