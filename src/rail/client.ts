// Calls of a provider with the token of a contract, and what a response that is no success throws. What differs between
// providers is a `Dialect`.
import type { z } from 'zod';
import { type NotReadyCause, RailNotReadyError, RailRefusedError, RailUnavailableError } from './errors.ts';
import { createHttpClient, type HttpRequest, type HttpResponse } from './http.ts';
import { safeMessage } from './texts.ts';
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

/** How a call ended, as far as all providers have it in common. */
export type Outcome = NotReady | Unknown | { kind: string };

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
  readToken: (body: unknown) => { text: string; lifeMs: number | null } | null;
  /** How long a token is used that came without its life. A refused one is renewed at once. */
  lifeOtherwiseMs: number;
  headersOf: (token: string) => Record<string, string>;
  /** Whether the request was refused for its token, before it was acted upon. */
  isTokenRefused: (response: HttpResponse, sinceLoginMs: number) => boolean;
}

export interface ProviderClient {
  /** Makes a request with a token. A refused token is renewed once: such a request was not acted upon. */
  call(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse>;
  /** As `call`, for a request that ends well or throws. */
  read<Body>(request: HttpRequest, schema: z.ZodType<Body>, signal?: AbortSignal): Promise<Body>;
  /** Reads the body of a successful response; throws RailUnavailableError if it is not as documented. */
  parse<Body>(request: HttpRequest, response: HttpResponse, schema: z.ZodType<Body>): Body;
  /** The error of a response that was no success. An outcome that the caller does not expect reports nothing. */
  failure(request: HttpRequest, response: HttpResponse, outcome: Outcome): Error;
  /** The error of a response that is a refusal, with the provider's message as its reason. */
  refusal(response: HttpResponse): RailRefusedError;
  /** The message of a response, without our credentials. */
  messageOf(response: HttpResponse): string;
  close(): Promise<void>;
}

/** The limit of one request; a call of the port may make several within its own limit. */
const REQUEST_LIMIT_MS = 7_000;
const LOGIN_LIMIT_MS = 5_000;

/** The reason of a refusal without a message: customers see it. */
const REFUSED = 'The bank refused the request';

export function createProviderClient(dialect: Dialect, now: () => number): ProviderClient {
  const { rail, baseUrl, secrets, replyOf, outcomeOf } = dialect;
  const http = createHttpClient({ rail, baseUrl, limitMs: REQUEST_LIMIT_MS });
  const redacted = (text: string): string => secrets.reduce((cut, secret) => cut.replaceAll(secret, '***'), text);

  let lastLoginAt = Number.NEGATIVE_INFINITY;
  async function login(): Promise<Token> {
    lastLoginAt = now();
    const request = { ...dialect.login, limitMs: LOGIN_LIMIT_MS };
    const response = await http.call(request);
    const outcome = outcomeOf(response);
    if (outcome.kind !== 'ok') {
      // A login that the provider itself rejects, in whatever words, is a matter of the credentials.
      const isRejected = outcome.kind !== 'not_ready' && replyOf(response) !== null && response.status < 500;
      const unauthorised: NotReady = { kind: 'not_ready', why: 'unauthorised', retryAfterMs: null };
      throw failure(request, response, isRejected ? unauthorised : outcome);
    }
    const token = dialect.readToken(replyOf(response)?.body);
    if (token === null) throw notDocumented(request);
    return { text: token.text, lifeMs: token.lifeMs ?? dialect.lifeOtherwiseMs };
  }
  const tokens = createTokenSource(login, now);

  async function call(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse> {
    const attempt = async (): Promise<{ response: HttpResponse; isTokenOld: boolean }> => {
      const token = await tokens.get();
      const headers = { ...request.headers, ...dialect.headersOf(token) };
      const response = await http.call({ ...request, headers }, signal);
      const isTokenOld = dialect.isTokenRefused(response, now() - lastLoginAt);
      if (isTokenOld) tokens.forget(token);
      return { response, isTokenOld };
    };
    const { response, isTokenOld } = await attempt();
    return isTokenOld ? (await attempt()).response : response;
  }

  function messageOf(response: HttpResponse): string {
    const reply = replyOf(response);
    if (reply === null) return `HTTP ${response.status}`;
    const message = safeMessage(reply.message);
    const code = safeMessage(reply.code)?.slice(0, 20);
    return redacted(`HTTP ${response.status}, code ${code}${message === null ? '' : `: ${message}`}`);
  }

  function failure({ method, route }: HttpRequest, response: HttpResponse, outcome: Outcome): Error {
    const providerMessage = messageOf(response);
    const message = `${rail}: ${method} ${route}: ${providerMessage}`;
    if ('why' in outcome)
      return new RailNotReadyError(outcome.why, message, { providerMessage, retryAfterMs: outcome.retryAfterMs });
    const isRailsFault = 'isRailsFault' in outcome && outcome.isRailsFault;
    return new RailUnavailableError(message, { providerMessage, ofOneAccount: !isRailsFault });
  }

  function notDocumented({ method, route }: HttpRequest, fields = ''): RailUnavailableError {
    const providerMessage = `the response is not as documented${fields}`;
    return new RailUnavailableError(`${rail}: ${method} ${route}: ${providerMessage}`, { providerMessage });
  }

  function parse<Body>(request: HttpRequest, response: HttpResponse, schema: z.ZodType<Body>): Body {
    const parsed = schema.safeParse(replyOf(response)?.body);
    if (parsed.success) return parsed.data;
    // The names of the fields, never their values.
    const fields = parsed.error.issues.map(({ path }) => path.filter((part) => typeof part === 'string').join('.'));
    throw notDocumented(request, `: ${[...new Set(fields)].slice(0, 5).join(', ')}`);
  }

  return {
    call,
    parse,
    failure,
    messageOf,
    refusal: (response) => new RailRefusedError(redacted(safeMessage(replyOf(response)?.message ?? null) ?? REFUSED)),
    async read(request, schema, signal) {
      const response = await call(request, signal);
      const outcome = outcomeOf(response);
      if (outcome.kind === 'ok') return parse(request, response, schema);
      throw failure(request, response, outcome);
    },
    close: () => http.close(),
  };
}
