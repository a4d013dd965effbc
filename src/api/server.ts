// The HTTP listeners: one port per environment; where hosts are configured, the Host header selects the environment.
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type HttpListener, listen, type RequestHandler, SOCKETS_UNDER_LOAD } from '../httpListener.ts';
import type { Environment } from '../money.ts';
import { startMetricsServer } from '../telemetry/metricsServer.ts';
import { environmentOfHost } from './admission/host.ts';
import { createApp, createRequestGuards } from './app.ts';
import type { ApiDependencies } from './dependencies.ts';
import { errorEnvelope, newRequestId } from './envelope.ts';
import { ApiError, helpLink, routeNotFound } from './errors.ts';

const SERVER_OPTIONS = {
  // Time limits for receiving the headers and the whole request, against slowloris attacks.
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  /** How often these two are checked; Node's default is half a minute. */
  connectionsCheckingInterval: 2_000,
  // Longer than the idle timeout of common load balancers (60 s), so that the load balancer closes idle connections.
  keepAliveTimeout: 65_000,
  requireHostHeader: false, // Node's own 400 response has no envelope
};
/**
 * Connections that may wait to be accepted. Of further ones the system drops the first packet, which the caller sends
 * again after one second, then after three. Linux allows `net.core.somaxconn`, by default 4,096; Node asks for 511.
 */
const BACKLOG = 4_096;
/** A connection that neither sends nor reads for this long is closed. An open payment page gets a line each 20 s. */
const SILENT_MAX_MS = 70_000;
/** How often the last-use times of API keys are written. */
const RECORD_USE_EVERY_MS = 60_000;

/**
 * Starts listening. A Host header equal to one of `hosts` selects the environment on either port; else the port does,
 * if the environment answers that host.
 */
export async function startApi(dependencies: ApiDependencies) {
  const { config, log } = dependencies;
  const guards = createRequestGuards(dependencies);
  const handlers: Record<Environment, RequestHandler> = {
    test: createApp(dependencies, guards, 'test').callback(),
    live: createApp(dependencies, guards, 'live').callback(),
  };
  const listenFor = async (environment: Environment): Promise<HttpListener> => {
    const listener = await listen(
      (request, response) => handlers[environmentOfHost(request, config.hosts) ?? environment](request, response),
      {
        port: config.ports[environment],
        host: config.bindAddress,
        backlog: BACKLOG,
        idleGraceMs: config.idleGraceMs,
        sockets: SOCKETS_UNDER_LOAD,
      },
      SERVER_OPTIONS,
    );
    const { server } = listener;
    server.setTimeout(SILENT_MAX_MS);
    // An unknown Expect header is ignored.
    server.on('checkExpectation', (request, response) => server.emit('request', request, response));
    server.on('connect', (request, socket) => endWith(socket, routeNotFound(`CONNECT ${request.url}`)));
    server.on('clientError', (_error, socket) => {
      // Opened in advance, and silent for too long: an answer would be taken for that of a request on its way.
      if ((socket as Socket).bytesRead === 0) socket.destroy();
      else if (socket.writable) endWith(socket, new ApiError('VALIDATION_FAILED'));
    });
    return listener;
  };
  const listeners = { test: await listenFor('test'), live: await listenFor('live') };
  const { ports, bindAddress } = config.metrics;
  const metrics = ports.api === null ? null : await startMetricsServer({ port: ports.api, bindAddress, log });
  const recordUseTimer = setInterval(() => {
    guards.apiKeys
      .recordUse()
      .catch((error: unknown) => log.warn({ err: error }, 'could not record the last use of API keys'));
  }, RECORD_USE_EVERY_MS);

  return {
    /** The listening ports; needed where port 0 was configured. */
    ports: { test: listeners.test.port, live: listeners.live.port },
    /** Stops accepting requests, ends the open payment pages, finishes the requests in flight, and resolves. */
    close: async (): Promise<void> => {
      clearInterval(recordUseTimer);
      guards.openPages.close();
      await Promise.all([listeners.test.close(), listeners.live.close(), metrics?.close()]);
      await guards.apiKeys.recordUse().catch(() => {});
      await guards.requestLog.flush();
    },
  };
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
    () => setTimeout(() => socket.destroy(), 1_000).unref(), // the other side may never end its half
  );
}
