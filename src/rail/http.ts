// The HTTP client of rail adapters. A response is bounded in time and size, and a redirect is not followed. Numbers in
// a body are read as their text, so that amounts stay exact. Errors and spans have routes and codes, never a body, a
// header or an id.
import { Agent, errors, request } from 'undici';
import { inSpan } from '../telemetry/tracing.ts';
import { RailUnavailableError } from './errors.ts';
import { noteExchange } from './exchanges.ts';

/** Larger responses are refused: a page of a statement has some 50 KB. */
const BODY_BYTES_MAX = 2 * 1024 * 1024;
const RETRY_AFTER_MAX_MS = 600_000;
/** Requests beyond these wait for a connection, within their time limit. */
const CONNECTIONS_MAX = 64;

export interface HttpRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The path, with `{name}` for each of `params`, which are encoded. Only this pattern appears in spans and errors. */
  route: `/${string}`;
  params?: Record<string, string>;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  /** A JSON text; `jsonNumber` writes an exact number into it. */
  body?: string;
  /** The time limit of this request, if it is shorter than the client's. */
  limitMs?: number;
}

export interface HttpResponse {
  status: number;
  /** The body, every number as its text. Undefined: not JSON, or not valid UTF-8. */
  json: unknown;
  /** From the header `Retry-After` in seconds, at most ten minutes. */
  retryAfterMs: number | null;
}

interface HttpClientOptions {
  /** The name of the rail, for messages. */
  rail: string;
  /** `https://` and a host; `http://` only to this machine. */
  baseUrl: string;
  /** The time limit of one request, from the start of the connection to the last byte of the body. */
  limitMs: number;
}

/** Whether credentials may be sent to the URL: an `https://` origin, or `http://` on this machine. */
export function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  const isLoopback = /^(localhost|127\.0\.0\.1|\[::1\])$/.test(url.hostname);
  const isOrigin = url.href === `${url.protocol}//${url.host}/`;
  return isOrigin && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback));
}

export function createHttpClient({ rail, baseUrl, limitMs: limitMaxMs }: HttpClientOptions) {
  if (!isBaseUrl(baseUrl))
    throw new Error('the base URL of a rail must be an https:// URL without a path or credentials');
  const agent = new Agent({
    // Stated, because an environment variable could turn it off.
    connect: { timeout: limitMaxMs, rejectUnauthorized: true },
    connections: CONNECTIONS_MAX,
    maxResponseSize: BODY_BYTES_MAX,
    headersTimeout: 0, // the signal covers the headers and the body
    bodyTimeout: 0,
  });

  return {
    /** Throws RailUnavailableError when there is no complete response: whether the provider acted is then unknown. */
    async call(call: HttpRequest, given?: AbortSignal): Promise<HttpResponse> {
      const attributes = { 'http.request.method': call.method, 'url.template': call.route };
      return await inSpan(`${call.method} ${call.route}`, { kind: 'client', attributes }, async (span) => {
        given?.throwIfAborted();
        const url = urlOf(baseUrl, call);
        const limitMs = Math.min(call.limitMs ?? limitMaxMs, limitMaxMs);
        const limit = AbortSignal.timeout(limitMs);
        const signal = given === undefined ? limit : AbortSignal.any([given, limit]);
        const started = performance.now();
        const note = (status: number | null, date: string | null, json: unknown): void =>
          noteExchange({
            method: call.method,
            route: call.route,
            status,
            date: date === null || Number.isNaN(Date.parse(date)) ? null : new Date(date),
            at: new Date(),
            ms: Math.round(performance.now() - started),
            json,
          });
        try {
          const response = await request(url, {
            method: call.method,
            headers: {
              'user-agent': 'Manilla',
              accept: 'application/json',
              ...(call.body === undefined ? {} : { 'content-type': 'application/json' }),
              ...call.headers,
            },
            ...(call.body === undefined ? {} : { body: call.body }),
            dispatcher: agent,
            signal,
          });
          span.set({ 'http.response.status_code': response.statusCode });
          const json = parseJson(new Uint8Array(await response.body.arrayBuffer()));
          note(response.statusCode, String(response.headers.date), json);
          return { status: response.statusCode, json, retryAfterMs: retryAfterOf(response.headers['retry-after']) };
        } catch (error) {
          note(null, null, undefined);
          given?.throwIfAborted();
          const timedOut = limit.aborted;
          const reason = timedOut ? `no complete response within ${limitMs} ms` : reasonOf(error);
          // Without `cause`: some errors of the client have bytes of the response.
          throw new RailUnavailableError(`${rail}: ${call.method} ${call.route}: ${reason}`, {
            providerMessage: reason,
            timedOut,
          });
        }
      });
    },
    /** Closes its connections. */
    close: () => agent.destroy(),
  };
}

function urlOf(baseUrl: string, { route, params = {}, query = {} }: HttpRequest): URL {
  const path = route.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = params[name];
    // Empty or a dot segment, it would become another path.
    if (value === undefined || /^\.{0,2}$/.test(value)) throw new TypeError(`the path parameter ${name} is invalid`);
    return encodeURIComponent(value);
  });
  const url = new URL(path, baseUrl);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return url;
}

/** Undefined for what is not JSON in UTF-8, such as an HTML page of a proxy. */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes), numberText);
  } catch {
    return undefined; // nested too deeply, too
  }
}

const numberText = (_key: string, value: unknown, context?: { source?: string }): unknown =>
  typeof value === 'number' ? context?.source : value;

/** An exact number for `JSON.stringify`, from its text. */
export const jsonNumber = (text: string): unknown => (JSON as unknown as { rawJSON: typeof jsonNumber }).rawJSON(text);

/** Of an HTTP date nothing is read: providers send seconds. */
function retryAfterOf(header: string | string[] | undefined): number | null {
  return typeof header === 'string' && /^[0-9]{1,6}$/.test(header)
    ? Math.min(Number(header) * 1_000, RETRY_AFTER_MAX_MS)
    : null;
}

/** Why there is no response, in a closed set of words and codes. */
function reasonOf(error: unknown): string {
  if (error instanceof errors.ResponseExceededMaxSizeError) return 'the response is too large';
  if (error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError)
    return 'the response is not HTTP';
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code) ? code : 'the connection failed';
}
