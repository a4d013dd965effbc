// The TypeScript client of the API: openapi-fetch with the types of the OpenAPI document, and what every caller needs
// besides: Idempotency-Keys, retries that cannot repeat an effect, pages, errors as exceptions, verified webhooks.
import createClient, { type Client } from 'openapi-fetch';
import { Webhook } from 'standardwebhooks';
import { type ApiErrorCode, IDEMPOTENT_POSTS } from './operations.ts';
import { reasonOf } from './reason.ts';
import type { components, paths } from './schema.ts';

export type { components, paths } from './schema.ts';
export type Schemas = components['schemas'];
export type Event = Schemas['Event'];

/**
 * A code of the API, or of the client: `CONNECTION_FAILED` and `TIMED_OUT`, after which a request may have taken effect,
 * `ABORTED` by a signal, `UNREADABLE_RESPONSE`, `REDIRECTED`, `WEBHOOK_INVALID`. The API may get more.
 */
export type ErrorCode = ApiErrorCode | ClientErrorCode | (string & Record<never, never>);
type ClientErrorCode =
  | 'CONNECTION_FAILED'
  | 'TIMED_OUT'
  | 'ABORTED'
  | 'UNREADABLE_RESPONSE'
  | 'REDIRECTED'
  | 'WEBHOOK_INVALID';

export interface Options {
  /** `svc_test_…` or `svc_live_…`. */
  apiKey: string;
  /** The host's address, ending in `/v1`. */
  baseUrl: string;
  /** Retries after the first attempt; default 4. */
  retriesMax?: number;
  /** The pause before the first retry, in milliseconds; it doubles each time. Default 250. */
  pauseMs?: number;
  /** For each attempt, in milliseconds; default 30,000. */
  attemptTimeoutMs?: number;
  /** For a request with all attempts and pauses, in milliseconds; default: none. */
  timeoutMs?: number;
  fetch?: (request: Request) => Promise<Response>;
}

const ATTEMPT_TIMEOUT_MS = 30_000;
/** A longer Retry-After is not of this API. */
const RETRY_AFTER_SECONDS_MAX = 300;

interface Failure {
  code: ErrorCode;
  message: string;
  /** Default 0: there was no response. */
  status?: number;
  details?: Readonly<Record<string, unknown>>;
  requestId?: string;
  helpUrl?: string | null;
  cause?: unknown;
}

/** Everything that the client throws. Branch on `code`. */
export class ManillaError extends Error {
  override readonly name = 'ManillaError';
  readonly code: ErrorCode;
  /** The HTTP status; 0 without a response. */
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  /** The page of the error, if it has one. */
  readonly helpUrl: string | null;

  constructor({ code, message, status = 0, details = {}, requestId = '', helpUrl = null, cause }: Failure) {
    super(`${code}: ${message}${fieldsText(details.fields)}`, { cause });
    this.code = code;
    this.status = status;
    this.details = details;
    this.requestId = requestId;
    this.helpUrl = helpUrl;
  }
}

/** The invalid fields of a request, for a message. */
function fieldsText(fields: unknown): string {
  if (!Array.isArray(fields) || fields.length === 0) return '';
  return ` ${fields.map(({ field, message }: { field: string; message: string }) => `${field} ${message}`).join('; ')}`;
}

/**
 * Creates a client: `client.GET('/wallets/{id}', …)`, as openapi-fetch describes, with a `signal` if wanted; but any
 * failure throws ManillaError, so that no refusal looks like a success.
 */
export function createManilla(options: Options): Client<paths, 'application/json'> {
  const send = withRetries(options);
  // The error of fetch would show the key.
  if (!/^[\x21-\x7e]+$/.test(options.apiKey)) throw new TypeError('apiKey must have no space and no line break.');
  return createClient<paths, 'application/json'>({
    baseUrl: options.baseUrl,
    headers: { authorization: `Bearer ${options.apiKey}` },
    fetch: send,
  });
}

/** The answer of openapi-fetch. */
interface Answer<Body> {
  data?: Body;
}

/** The resource of an answer. */
export async function dataOf<Data>(request: Promise<Answer<{ data: Data }>>): Promise<Data> {
  return bodyOf(await request).data;
}

function bodyOf<Body>({ data }: Answer<Body>): Body {
  if (data === undefined) throw new TypeError('The request was not made by a client of createManilla.');
  return data;
}

/**
 * The file of an answer:
 * `fileOf(client.GET('/wallets', { headers: { accept: 'text/csv' }, parseAs: 'blob' }))`.
 */
export async function fileOf(request: Promise<Answer<unknown>>): Promise<Blob> {
  const body = bodyOf(await request);
  if (!(body instanceof Blob)) throw new TypeError("The request was made without parseAs: 'blob'.");
  return body;
}

interface PageOf<Item> {
  data: Item[];
  pagination: { hasMore: boolean; nextCursor: string | null };
}

/**
 * The items of every page of a list, newest first:
 * `for await (const wallet of pagesOf((cursor) => client.GET('/wallets', { params: { query: { cursor } } })))`.
 */
export async function* pagesOf<Item>(
  read: (cursor: string | undefined) => Promise<Answer<PageOf<Item>>>,
): AsyncGenerator<Item> {
  for (let cursor: string | undefined; ; ) {
    const { data, pagination } = bodyOf(await read(cursor));
    yield* data;
    if (!pagination.hasMore || pagination.nextCursor === null) return;
    cursor = pagination.nextCursor;
  }
}

/**
 * Verifies a webhook over its raw body, and returns its event. Throws ManillaError with the code `WEBHOOK_INVALID` when
 * it is forged, changed or too old.
 */
export function verifyWebhook(
  secret: string,
  rawBody: string,
  headers: Headers | Readonly<Record<string, unknown>>,
): Event {
  const entries: [string, unknown][] = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  const webhook = new Webhook(secret);
  try {
    return webhook.verify(rawBody, Object.fromEntries(texts)) as Event;
  } catch (cause) {
    throw new ManillaError({ code: 'WEBHOOK_INVALID', message: `${(cause as Error).message}.`, cause });
  }
}

/** The media types that answers can have besides JSON. */
const FILES: readonly string[] = ['text/csv', 'application/pdf'];

/** A fetch that adds an Idempotency-Key where it has an effect, retries what may be repeated, and throws ManillaError. */
function withRetries({ retriesMax = 4, pauseMs = 250, attemptTimeoutMs = ATTEMPT_TIMEOUT_MS, ...options }: Options) {
  const { timeoutMs, fetch: send = fetch } = options;
  return async (request: Request): Promise<Response> => {
    const takesKey = request.method === 'POST' && isIdempotent(new URL(request.url).pathname);
    if (takesKey && !request.headers.has('idempotency-key')) {
      request.headers.set('idempotency-key', crypto.randomUUID());
    }
    const mayRepeat = takesKey || request.method !== 'POST';
    const end = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
    const ending = AbortSignal.any([request.signal, ...end]);
    for (let retry = 0; ; retry += 1) {
      const outcome = await attempt(send, request, ending, attemptTimeoutMs);
      if (outcome instanceof Response) return outcome;
      if (!mayRepeat || retry >= retriesMax || ending.aborted || !isTemporary(outcome)) throw outcome.error;
      await pause(outcome.retryAfterMs ?? pauseMs * 2 ** retry * (0.5 + Math.random() / 2), ending);
      if (ending.aborted) throw endedBy(request, ending.reason);
    }
  };
}

const isIdempotent = (pathname: string): boolean => IDEMPOTENT_POSTS.some((pattern) => pattern.test(pathname));

interface FailedAttempt {
  error: ManillaError;
  /** What the response asks for; null: nothing. */
  retryAfterMs: number | null;
}

/** A response of the API with a success, whose body was read; or why there is none. */
async function attempt(
  send: (request: Request) => Promise<Response>,
  request: Request,
  ending: AbortSignal,
  timeoutMs: number,
): Promise<Response | FailedAttempt> {
  const signal = AbortSignal.any([ending, AbortSignal.timeout(timeoutMs)]);
  try {
    const response = await send(new Request(request.clone(), { redirect: 'manual', signal }));
    const body = await response.arrayBuffer();
    const text = new TextDecoder().decode(body);
    return isOfApi(request, response, text) ? new Response(body, response) : failedAttempt(request, response, text);
  } catch (cause) {
    return {
      error: signal.aborted ? endedBy(request, signal.reason) : notConnected(request, cause),
      retryAfterMs: null,
    };
  }
}

/** Whether a response is a success, and not the page of a proxy: that is neither JSON nor the file asked for. */
function isOfApi(request: Request, { ok, headers }: Response, text: string): boolean {
  const [type = ''] = (headers.get('content-type') ?? '').split(';');
  const isFile = FILES.includes(type) && request.headers.get('accept')?.startsWith(type) === true;
  return ok && (isFile || (type.includes('json') && jsonOf(text) !== null));
}

function failedAttempt(request: Request, response: Response, text: string): FailedAttempt {
  const { status, headers } = response;
  const { error, meta } = (jsonOf(text) ?? {}) as Partial<ErrorBody>;
  const known = { status, requestId: meta?.requestId ?? headers.get('x-request-id') ?? '' };
  if (isRedirect(response)) {
    // A followed redirect would turn a POST into a GET, and could take the key to another host.
    const to = headers.get('location') ?? 'another address';
    const message = `${request.url} redirects to ${to}. Set baseUrl to the address of the API.`;
    return { error: new ManillaError({ ...known, code: 'REDIRECTED', message }), retryAfterMs: null };
  }
  if (response.ok || typeof error?.details !== 'object') {
    const message = `The response ${status} is not one of this API.`;
    return { error: new ManillaError({ ...known, code: 'UNREADABLE_RESPONSE', message }), retryAfterMs: null };
  }
  const link = /<([^>]+)>; rel="help"/.exec(headers.get('link') ?? '')?.[1];
  const helpUrl = link === undefined ? null : new URL(link, request.url).href;
  return {
    error: new ManillaError({ ...known, ...error, helpUrl }),
    retryAfterMs: millisecondsOf(headers.get('retry-after')) ?? millisecondsOf(error.details.retryAfterSeconds),
  };
}

interface ErrorBody {
  error: { code: string; message: string; details: Record<string, unknown> };
  meta: { requestId: string };
}

/** The object of a JSON text; null for anything else. */
function jsonOf(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

const isRedirect = ({ status, type }: Response): boolean =>
  type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status);

/** Null without a number of seconds that a caller may wait, and for a date, which a proxy may send. */
function millisecondsOf(value: unknown): number | null {
  const seconds = value === null ? Number.NaN : Number(value);
  return seconds > 0 && seconds <= RETRY_AFTER_SECONDS_MAX ? seconds * 1000 : null;
}

/** The error of a request that a time limit or the caller's signal ended. */
function endedBy({ method, url }: Request, cause: unknown): ManillaError {
  const isLimit = cause instanceof DOMException && cause.name === 'TimeoutError';
  if (!isLimit) return new ManillaError({ code: 'ABORTED', message: `${method} ${url} was aborted.`, cause });
  return new ManillaError({ code: 'TIMED_OUT', message: `${method} ${url} had no response in time.`, cause });
}

function notConnected({ method, url }: Request, cause: unknown): ManillaError {
  const message = `${method} ${url} had no response (${reasonOf(cause)}).`;
  return new ManillaError({ code: 'CONNECTION_FAILED', message, cause });
}

/** Whether the same request may succeed soon: no response, the rate limit, in progress, or a retryable outage. */
function isTemporary({ error: { code, status, details } }: FailedAttempt): boolean {
  if (code === 'REDIRECTED') return false;
  if (status === 0 || status === 429 || code === 'IDEMPOTENCY_IN_PROGRESS') return true;
  if (code === 'UNREADABLE_RESPONSE') return status < 300 || status >= 500; // of a proxy
  return status >= 500 && details.retryable === true;
}

/** Waits, or less long when the signal comes. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    const stop = (): void => {
      clearTimeout(timer);
      resolve();
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}
