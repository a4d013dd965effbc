// Calls of a provider with the token of a contract. What differs between providers is a `Dialect`.
import type { z } from 'zod';
import { type NotReadyCause, RailNotReadyError, RailRefusedError, RailUnavailableError, unclear } from './errors.ts';
import { RAIL_FAILURES } from './failures.ts';
import { createHttpClient, type HttpRequest, type HttpResponse } from './http.ts';
import { reasonOf, safeMessage } from './texts.ts';
import { createTokenSource, type Token } from './token.ts';

/** A response in the provider's envelope. */
export interface Reply {
  /** Whether it says that the request succeeded. */
  isOk: boolean;
  code: string;
  message: string;
  body: unknown;
}

/** The provider did not accept the request, for a reason that is not the request's. */
export interface NotReady {
  kind: 'not_ready';
  why: NotReadyCause;
  retryAfterMs: number | null;
}

/** Nothing can be concluded. `isRailsFault` false: it responded, and only about this request. */
export interface Unknown {
  kind: 'unknown';
  isRailsFault: boolean;
}

const HTTP_NOT_READY: Record<number, NotReadyCause> = { 401: 'unauthorised', 403: 'feature_off', 429: 'rate_limited' };

/** Null: the HTTP status does not say that the request was not accepted. */
export function notReadyByStatus({ status, retryAfterMs }: HttpResponse): NotReady | null {
  const why = HTTP_NOT_READY[status];
  return why === undefined ? null : { kind: 'not_ready', why, retryAfterMs };
}

/** How a call ended. `absent`: the provider has nothing under this reference. */
export type Outcome = NotReady | Unknown | { kind: 'ok' | 'absent' | 'exists' | 'refused' | 'no_account' };

/** The provider's response to one request. */
export type ProviderResponse = Awaited<ReturnType<ProviderClient['call']>>;

export type ProviderClient = ReturnType<typeof createProviderClient>;

export interface Dialect {
  /** The name of the rail. */
  rail: string;
  baseUrl: string;
  /** What must appear in no message. */
  secrets: readonly string[];
  /** Null: the response is not the provider's, such as an error page of a proxy. */
  replyOf: (response: HttpResponse) => Reply | null;
  outcomeOf: (response: HttpResponse) => Outcome;
  login: HttpRequest;
  /** What the login responds with. */
  token: z.ZodType<{ text: string; lifeMs: number | null }>;
  /** How long a token is used that came without its life. A refused one is renewed at once. */
  lifeOtherwiseMs: number;
  headersOf: (token: string) => Record<string, string>;
  /** Whether the request was refused for its token, before it was acted upon. */
  isTokenRefused: (response: HttpResponse, sinceLoginMs: number) => boolean;
}

/** The limit of one request; a call of the port may make several within its own limit. */
const REQUEST_LIMIT_MS = 7_000;
const LOGIN_LIMIT_MS = 5_000;

/** The reason of a refusal without a message: customers see it. */
const REFUSED = RAIL_FAILURES.bank_refused;

export function createProviderClient(dialect: Dialect, now: () => number) {
  const { rail, baseUrl, secrets, replyOf, outcomeOf } = dialect;
  const http = createHttpClient({ rail, baseUrl, limitMs: REQUEST_LIMIT_MS });
  const redacted = (text: string): string => secrets.reduce((cut, secret) => cut.replaceAll(secret, '***'), text);

  let lastLoginAt = Number.NEGATIVE_INFINITY;
  async function login(): Promise<Token> {
    lastLoginAt = now();
    const request = { ...dialect.login, limitMs: LOGIN_LIMIT_MS };
    const response = responseTo(request, await http.call(request));
    const { outcome } = response;
    if (outcome.kind !== 'ok') {
      // A login that the provider itself rejects, in whatever words or as forbidden, is a matter of the credentials.
      const { status } = response.http;
      const isRejected =
        status === 403 || (outcome.kind !== 'not_ready' && replyOf(response.http) !== null && status < 500);
      throw isRejected
        ? response.failure({ kind: 'not_ready', why: 'unauthorised', retryAfterMs: null })
        : response.failure();
    }
    const { text, lifeMs } = response.read(dialect.token);
    return { text, lifeMs: lifeMs ?? dialect.lifeOtherwiseMs };
  }
  const tokens = createTokenSource(login, now);

  function responseTo(request: HttpRequest, response: HttpResponse) {
    const reply = replyOf(response);
    const outcome = outcomeOf(response);
    const where = `${rail}: ${request.method} ${request.route}`;
    const words = safeMessage(reply?.message ?? null);
    const code = reply === null ? '' : `, code ${safeMessage(reply.code)?.slice(0, 20)}`;
    const message = redacted(`HTTP ${response.status}${code}${words === null ? '' : `: ${words}`}`);

    /** The error of a response that is no success. An outcome that the caller does not expect reports nothing. */
    function failure(instead: Outcome = outcome): Error {
      const options = { providerMessage: message };
      if ('why' in instead)
        return new RailNotReadyError(instead.why, `${where}: ${message}`, {
          ...options,
          retryAfterMs: instead.retryAfterMs,
        });
      const isRailsFault = 'isRailsFault' in instead && instead.isRailsFault;
      return new RailUnavailableError(`${where}: ${message}`, { ...options, ofOneAccount: !isRailsFault });
    }

    return {
      http: response,
      outcome,
      /** Its message, without our credentials. */
      message,
      failure,
      /** The error of a response that is a refusal, with the provider's message as its reason. */
      refusal: () => new RailRefusedError(redacted(reasonOf(words) ?? REFUSED)),
      /** The body of a successful response. Throws `failure`; RailUnavailableError if it is not as documented. */
      read<Body>(schema: z.ZodType<Body>, options?: { ofOneAccount: boolean }): Body {
        if (outcome.kind !== 'ok') throw failure();
        return readAsDocumented(where, schema, reply?.body, options);
      },
    };
  }

  /** Makes a request with a token. A refused token is renewed once: such a request was not acted upon. */
  async function call(request: HttpRequest, signal?: AbortSignal) {
    const attempt = async () => {
      const token = await tokens.get();
      const headers = { ...request.headers, ...dialect.headersOf(token) };
      const response = await http.call({ ...request, headers }, signal);
      const isTokenOld = dialect.isTokenRefused(response, now() - lastLoginAt);
      if (isTokenOld) tokens.forget(token);
      return { response, isTokenOld };
    };
    const { response, isTokenOld } = await attempt();
    return responseTo(request, isTokenOld ? (await attempt()).response : response);
  }

  return {
    rail,
    /** Logs in, if it has no token. */
    login: async () => void (await tokens.get()),
    call,
    /** As `call`, for a request that ends well or throws. */
    read: async <Body>(request: HttpRequest, schema: z.ZodType<Body>, signal?: AbortSignal): Promise<Body> =>
      (await call(request, signal)).read(schema),
    /** As `read`. Null: the provider has nothing under this reference. */
    async find<Body>(request: HttpRequest, schema: z.ZodType<Body>, signal?: AbortSignal): Promise<Body | null> {
      const response = await call(request, signal);
      return response.outcome.kind === 'absent' ? null : response.read(schema, { ofOneAccount: true });
    },
    close: () => http.close(),
  };
}

/** Throws RailUnavailableError with the names of the fields that are not as documented, never their values. */
export function readAsDocumented<Body>(
  where: string,
  schema: z.ZodType<Body>,
  body: unknown,
  options?: { ofOneAccount: boolean },
): Body {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const fields = parsed.error.issues.map(({ path }) => path.filter((part) => typeof part === 'string').join('.'));
  throw unclear(where, `the response is not as documented: ${[...new Set(fields)].slice(0, 5).join(', ')}`, options);
}
