// Calls of Monnify with the token of a contract, and what a response that is no success throws.
import type { z } from 'zod';
import { RailNotReadyError, RailRefusedError, RailUnavailableError } from '../errors.ts';
import { createHttpClient, type HttpRequest, type HttpResponse } from '../http.ts';
import { safeMessage } from '../texts.ts';
import { createTokenSource, type Token } from '../token.ts';
import { type CallOutcome, callOutcome, type NotReady, type Unknown } from './outcomes.ts';
import { loginBody, messageOf as rawMessageOf, replyOf } from './wire.ts';

export interface MonnifyCredentials {
  baseUrl: string;
  apiKey: string;
  secretKey: string;
  contractCode: string;
  /** The account that transfers are paid from. */
  walletAccountNumber: string;
  /** The bank of account numbers of wallets. */
  preferredBank: string;
  /** For the account number of the settlement wallet; empty: it gets none. Secret. */
  bvn?: string;
}

/** The limit of one request; a call of the port may make several within its own limit. */
const REQUEST_LIMIT_MS = 7_000;
const LOGIN_LIMIT_MS = 5_000;
/** How long a token is used that came without its life. A refused one is renewed at once. */
const LIFE_OTHERWISE_MS = 600_000;

/** The reason of a refusal without words: customers see it. */
const REFUSED = 'The bank refused the request';

export interface MonnifyClient {
  /** Makes a request with a token. A refused token is renewed once: such a request was not acted upon. */
  call(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse>;
  /** As `call`, for a request that ends well or throws. */
  read<Body>(request: HttpRequest, schema: z.ZodType<Body>, signal?: AbortSignal): Promise<Body>;
  /** Reads the body of a successful response; throws RailUnavailableError if it is not as documented. */
  parse<Body>(request: HttpRequest, response: HttpResponse, schema: z.ZodType<Body>): Body;
  /** The error of a response that was no success. */
  failure(request: HttpRequest, response: HttpResponse, outcome: NotReady | Unknown): Error;
  /** The error of a response that is a refusal, with the provider's words as its reason. */
  refusal(response: HttpResponse): RailRefusedError;
  /** The message of a response, without our credentials. */
  messageOf(response: HttpResponse): string;
  close(): Promise<void>;
}

export function createMonnifyClient(credentials: MonnifyCredentials, now?: () => number): MonnifyClient {
  const { apiKey, secretKey } = credentials;
  const http = createHttpClient({ rail: 'monnify', baseUrl: credentials.baseUrl, limitMs: REQUEST_LIMIT_MS });
  const basic = Buffer.from(`${apiKey}:${secretKey}`).toString('base64');

  const redacted = (text: string): string =>
    [apiKey, secretKey, basic].reduce((words, secret) => words.replaceAll(secret, '***'), text);
  const messageOf = (response: HttpResponse): string => redacted(rawMessageOf(response));

  async function login(): Promise<Token> {
    const request: HttpRequest = {
      method: 'POST',
      route: '/api/v1/auth/login',
      headers: { authorization: `Basic ${basic}` },
      limitMs: LOGIN_LIMIT_MS,
    };
    const response = await http.call(request);
    const outcome = callOutcome(response);
    // A login that Monnify itself rejects, in whatever words, is a matter of the credentials.
    if (outcome.kind === 'unknown' && (replyOf(response) === null || response.status >= 500))
      throw failure(request, response, outcome);
    if (outcome.kind !== 'ok') {
      const cause: NotReady = { kind: 'not_ready', why: 'unauthorised', retryAfterMs: null };
      throw failure(request, response, outcome.kind === 'not_ready' ? outcome : cause);
    }
    const { accessToken, expiresIn } = parse(request, response, loginBody);
    return { text: accessToken, lifeMs: expiresIn === null ? LIFE_OTHERWISE_MS : expiresIn * 1_000 };
  }
  const tokens = createTokenSource(login, now);

  async function call(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse> {
    const attempt = async (): Promise<HttpResponse> => {
      const token = await tokens.get();
      const response = await http.call({ ...request, headers: { authorization: `Bearer ${token}` } }, signal);
      if (response.status === 401) tokens.forget(token);
      return response;
    };
    const response = await attempt();
    return response.status === 401 ? await attempt() : response;
  }

  function failure(request: HttpRequest, response: HttpResponse, outcome: NotReady | Unknown): Error {
    const providerMessage = messageOf(response);
    const message = `monnify: ${request.method} ${request.route}: ${providerMessage}`;
    if (outcome.kind === 'not_ready') {
      return new RailNotReadyError(outcome.why, message, { providerMessage, retryAfterMs: outcome.retryAfterMs });
    }
    return new RailUnavailableError(message, { providerMessage, ofOneAccount: !outcome.isRailsFault });
  }

  function parse<Body>(request: HttpRequest, response: HttpResponse, schema: z.ZodType<Body>): Body {
    const parsed = schema.safeParse(replyOf(response)?.body);
    if (parsed.success) return parsed.data;
    // The names of the fields, never their values.
    const fields = parsed.error.issues.map(({ path }) => path.filter((part) => typeof part === 'string').join('.'));
    const message = `the response is not as documented: ${[...new Set(fields)].slice(0, 5).join(', ')}`;
    throw new RailUnavailableError(`monnify: ${request.method} ${request.route}: ${message}`, {
      providerMessage: message,
    });
  }

  return {
    call,
    parse,
    failure,
    messageOf,
    refusal: (response) => new RailRefusedError(redacted(safeMessage(replyOf(response)?.message ?? null) ?? REFUSED)),
    async read(request, schema, signal) {
      const response = await call(request, signal);
      const outcome = callOutcome(response);
      if (outcome.kind === 'ok') return parse(request, response, schema);
      throw failure(request, response, unknownUnless(outcome));
    },
    close: () => http.close(),
  };
}

/** Outcomes that a caller does not expect from its request tell nothing. */
export const unknownUnless = (outcome: Exclude<CallOutcome, { kind: 'ok' }>): NotReady | Unknown =>
  outcome.kind === 'not_ready' || outcome.kind === 'unknown' ? outcome : { kind: 'unknown', isRailsFault: false };
