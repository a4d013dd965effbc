// The HTTP listeners: one port per environment; where hosts are configured, the Host header selects the environment.
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Environment } from '../money.ts';
import { startMetricsServer } from '../telemetry/metricsServer.ts';
import { createApp, createRequestGuards } from './app.ts';
import type { ApiDependencies } from './dependencies.ts';
import { errorEnvelope, newRequestId } from './envelope.ts';
import { ApiError, helpLink } from './errors.ts';

/** Time limits for receiving the headers and the whole request, against slowloris attacks. */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Longer than the idle timeout of common load balancers (60 s), so that the load balancer closes idle connections. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000;
/**
 * Connections that may wait to be accepted. Of further ones the system drops the first packet, which the caller sends
 * again after one second, then after three. Linux allows `net.core.somaxconn`, by default 4,096; Node asks for 511.
 */
const BACKLOG = 4_096;
/** How often the last-use times of API keys are written. */
const RECORD_USE_EVERY_MS = 60_000;

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

export interface RunningApi {
  /** The listening ports; needed where port 0 was configured. */
  ports: Record<Environment, number>;
  /** Stops accepting requests, ends the open payment pages, finishes the requests in flight, and resolves. */
  close: () => Promise<void>;
}

/**
 * Starts listening. A Host header equal to one of `hosts` selects the environment on either port; else the port does.
 */
export async function startApi(dependencies: ApiDependencies): Promise<RunningApi> {
  const { config, log } = dependencies;
  const guards = createRequestGuards(dependencies);
  const handlers: Record<Environment, Handler> = {
    test: createApp(dependencies, guards, 'test').callback(),
    live: createApp(dependencies, guards, 'live').callback(),
  };
  const listen = async (environment: Environment): Promise<Server> => {
    const server = createServer({
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      requireHostHeader: false, // Node's own 400 response has no envelope
    });
    server.keepAliveTimeout = KEEP_ALIVE_TIMEOUT_MS;
    const handle = (request: IncomingMessage, response: ServerResponse): void => {
      void handlers[environmentOf(request, config.hosts) ?? environment](request, response);
    };
    server.on('request', handle);
    server.on('checkExpectation', handle); // an unknown Expect header is ignored
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
      server.listen({ port: config.ports[environment], host: config.bindAddress, backlog: BACKLOG }, resolve);
    });
    return server;
  };
  const servers = { test: await listen('test'), live: await listen('live') };
  const { ports, bindAddress } = config.metrics;
  const metrics = ports.api === null ? null : await startMetricsServer({ port: ports.api, bindAddress, log });
  const recordUseTimer = setInterval(() => {
    guards.apiKeys
      .recordUse()
      .catch((error: unknown) => log.warn({ err: error }, 'could not record the last use of API keys'));
  }, RECORD_USE_EVERY_MS);

  return {
    ports: { test: portOf(servers.test), live: portOf(servers.live) },
    close: async () => {
      clearInterval(recordUseTimer);
      guards.openPages.close();
      await Promise.all([closeServer(servers.test), closeServer(servers.live), metrics?.close()]);
      await guards.apiKeys.recordUse().catch(() => {});
      await guards.requestLog.flush();
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

/** Sends an error envelope on a connection where Koa handles no request: CONNECT, or a malformed request. */
function endWith(socket: Duplex, error: ApiError): void {
  const requestId = newRequestId();
  const body = JSON.stringify(errorEnvelope(error, requestId));
  socket.end(
    [
      `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}`,
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Request-Id: ${requestId}`,
      `Link: ${helpLink(error.code)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}
