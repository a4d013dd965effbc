// The TypeScript client of the API: openapi-fetch with the types of the OpenAPI document, and what every caller needs
// besides: Idempotency-Keys, retries that cannot repeat an effect, pages, errors as exceptions, verified webhooks.
import createClient, { type Client } from 'openapi-fetch';
import { Webhook } from 'standardwebhooks';
import { IDEMPOTENT_POSTS } from './operations.ts';
import type { components, paths } from './schema.ts';

export type { components, paths } from './schema.ts';
export type Schemas = components['schemas'];
export type Event = Schemas['Event'];

export interface Options {
  /** `svc_test_…` or `svc_live_…`. */
  apiKey: string;
  /** The host's address, ending in `/v1`. */
  baseUrl: string;
  /** Retries after the first attempt; default 4. */
  retriesMax?: number;
  /** The pause before the first retry, in milliseconds; it doubles each time. Default 250. */
  pauseMs?: number;
  fetch?: (request: Request) => Promise<Response>;
}

/** A longer Retry-After is not of this API. */
const RETRY_AFTER_SECONDS_MAX = 300;

/** An error of the API, `UNREADABLE_RESPONSE` or `REDIRECTED`. Branch on `code`. */
export class ManillaError extends Error {
  override readonly name = 'ManillaError';
  readonly code: string;
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  /** The page of the error, if it has one. */
  readonly helpUrl: string | null;

  constructor(response: Response, body: ErrorBody) {
    super(`${body.error.code}: ${body.error.message}`);
    this.code = body.error.code;
    this.status = response.status;
    this.details = body.error.details;
    this.requestId = body.meta.requestId;
    const link = /<([^>]+)>; rel="help"/.exec(response.headers.get('link') ?? '')?.[1];
    this.helpUrl = link === undefined || response.url === '' ? null : new URL(link, response.url).href;
  }
}

interface ErrorBody {
  error: { code: string; message: string; details: Record<string, unknown> };
  meta: { requestId: string };
}

/** Creates a client: `client.GET('/wallets/{id}', …)`, as openapi-fetch describes. It speaks JSON, not CSV. */
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

/** The answer of openapi-fetch: one of body and error. */
interface Answer<Body> {
  data?: Body;
  error?: unknown;
  response: Response;
}

/** The resource of an answer. Throws ManillaError for an error. */
export async function dataOf<Data>(request: Promise<Answer<{ data: Data }>>): Promise<Data> {
  return bodyOf(await request).data;
}

function bodyOf<Body>({ data, error, response }: Answer<Body>): Body {
  if (data === undefined) throw new ManillaError(response, isErrorBody(error) ? error : unreadable(response));
  return data;
}

const isErrorBody = (error: unknown): error is ErrorBody =>
  typeof (error as Partial<ErrorBody> | null)?.error?.details === 'object';

/** The error of an answer that is not of the API, such as the page of a proxy. */
const unreadable = (response: Response): ErrorBody =>
  foreign(response, 'UNREADABLE_RESPONSE', `The response ${response.status} is not one of this API.`);

/** A followed redirect would turn a POST into a GET, and could take the key to another host. */
const redirected = (response: Response): ErrorBody => {
  const to = response.headers.get('location') ?? 'another address';
  return foreign(response, 'REDIRECTED', `${response.url} redirects to ${to}. Set baseUrl to the address of the API.`);
};

const foreign = ({ headers }: Response, code: string, message: string): ErrorBody => ({
  error: { code, message, details: {} },
  meta: { requestId: headers.get('x-request-id') ?? '' },
});

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

/** Verifies a webhook over its raw body, and returns its event. Throws when it is forged, changed or too old. */
export function verifyWebhook(
  secret: string,
  rawBody: string,
  headers: Headers | Readonly<Record<string, unknown>>,
): Event {
  const entries: [string, unknown][] = headers instanceof Headers ? [...headers] : Object.entries(headers);
  const texts = entries.filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return new Webhook(secret).verify(rawBody, Object.fromEntries(texts)) as Event;
}

/** A fetch that adds an Idempotency-Key where it has an effect, and retries what may be repeated. */
function withRetries({ retriesMax = 4, pauseMs = 250, fetch: send = fetch }: Options) {
  return async (request: Request): Promise<Response> => {
    const movesMoney = request.method === 'POST' && isIdempotent(new URL(request.url).pathname);
    if (movesMoney && !request.headers.has('idempotency-key')) {
      request.headers.set('idempotency-key', crypto.randomUUID());
    }
    const mayRepeat = movesMoney || request.method !== 'POST';
    for (let retry = 0; ; retry += 1) {
      const isLast = !mayRepeat || retry >= retriesMax;
      let waitMs = pauseMs * 2 ** retry * (0.5 + Math.random() / 2);
      try {
        const response = await send(new Request(request.clone(), { redirect: 'manual' }));
        if (isRedirect(response)) throw new ManillaError(response, redirected(response));
        if (isLast || !(await isTemporary(response))) {
          if (isPage(response)) throw new ManillaError(response, unreadable(response));
          return response;
        }
        waitMs = retryAfterMs(response) ?? waitMs;
      } catch (error) {
        if (isLast || request.signal.aborted || error instanceof ManillaError) throw error; // no response: the request may have taken effect
      }
      await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
  };
}

const isIdempotent = (pathname: string): boolean => IDEMPOTENT_POSTS.some((pattern) => pattern.test(pathname));

const isRedirect = ({ status, type }: Response): boolean =>
  type === 'opaqueredirect' || [301, 302, 303, 307, 308].includes(status);

/** Null without a number of seconds that a caller may wait, and for a date, which a proxy may send. */
function retryAfterMs({ headers }: Response): number | null {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return seconds > 0 && seconds <= RETRY_AFTER_SECONDS_MAX ? seconds * 1000 : null;
}

/** Whether a success is none of the API, such as the page of a proxy: that is neither JSON nor CSV. */
const isPage = ({ ok, headers }: Response): boolean => ok && !/json|csv/.test(headers.get('content-type') ?? '');

/** Whether the same request may succeed soon: over the rate limit, still in progress, or a retryable outage. */
async function isTemporary(response: Response): Promise<boolean> {
  if (response.status === 429 || isPage(response)) return true;
  if (response.status !== 409 && response.status < 500) return false;
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => null);
  if (response.status === 409) return isErrorBody(body) && body.error.code === 'IDEMPOTENCY_IN_PROGRESS';
  return !isErrorBody(body) || body.error.details.retryable === true; // of a proxy
}
