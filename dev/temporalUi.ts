// What `npm start` publishes of the Temporal UI: it shows flows and sends what operators send. Behind it the UI's
// server takes anything that Temporal does, without a login: starts of workflows, and results of activities.
import { request as forward, type IncomingMessage } from 'node:http';
import { type HttpListener, listen, type RequestHandler } from '../src/httpListener.ts';

/** What operators send to a flow that exists. */
const OPERATIONS =
  /^\/api\/v1\/namespaces\/[^/]+\/workflows\/[^/]+\/(?:query|signal|update|cancel|terminate|reset)(?:\/|$)/;
const BATCHES = /^\/api\/v1\/namespaces\/[^/]+\/batch-operations\/[^/]+$/;

/** Why a request is refused; null if it is forwarded. */
export function refuseRequest(
  { method, url = '', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  port: number,
): string | null {
  // A page of another site whose name leads here has its own name in the Host header.
  if (![`127.0.0.1:${port}`, `localhost:${port}`].includes(headers.host ?? '')) return 'unknown Host';
  if (method === 'GET' || method === 'HEAD') return null;
  const [path = ''] = url.split('?');
  const isPlain = !/\.\.|%2[ef]/i.test(path); // it is matched as it is, and the server may resolve it
  return method === 'POST' && isPlain && (OPERATIONS.test(path) || BATCHES.test(path))
    ? null
    : 'This UI starts no workflow and answers for no worker. Use the command line of Temporal.';
}

/** Publishes the UI at this address under a port. */
export async function publishTemporalUi(uiUrl: string, port: number): Promise<HttpListener> {
  const { hostname: host, port: uiPort } = new URL(uiUrl);
  const handle: RequestHandler = (request, response) => {
    const refusal = refuseRequest(request, port);
    if (refusal !== null) {
      response.writeHead(403, { 'content-type': 'text/plain' }).end(refusal);
      return;
    }
    const { method, url } = request;
    const asked = { host, port: uiPort, method, path: url, headers: request.headers };
    const forwarded = forward(asked, (answer) => {
      const headers = { ...answer.headers };
      delete headers.connection; // of the other one
      delete headers['keep-alive'];
      response.writeHead(answer.statusCode ?? 502, headers);
      answer.pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  };
  const listener = await listen(handle, { port, host: '127.0.0.1' });
  listener.server.unref();
  return listener;
}
