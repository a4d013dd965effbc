// Calls of Nomba with the token and the account of a contract, and what a response that is no success throws.
import type { z } from 'zod';
import { RailNotReadyError, RailRefusedError, RailUnavailableError } from '../errors.ts';
import { createHttpClient, type HttpRequest, type HttpResponse } from '../http.ts';
import { safeMessage } from '../texts.ts';
import { createTokenSource, type Token } from '../token.ts';
import { isTokenRefused, mayBeTokenRefused, type Outcome, outcomeOf } from './outcomes.ts';
import { messageOf, replyOf, tokenData } from './wire.ts';

export interface NombaCredentials {
  baseUrl: string;
  clientId: string;
  clientSecret: string;
  /** The parent account, which holds the money. */
  accountId: string;
  /** Signs callbacks. */
  signatureKey: string;
  /** The name that receivers of transfers see. */
  senderName: string;
}

const REQUEST_LIMIT_MS = 7_000;
const LOGIN_LIMIT_MS = 5_000;
/** A token came without its life: it is documented as half an hour nowhere officially, so less is assumed. */
const LIFE_OTHERWISE_MS = 300_000;

/** A token cannot have expired this soon after the login: what is refused then is refused for another reason. */
const SURELY_GOOD_MS = 60_000;

/** The reason of a refusal without words: customers see it. */
const REFUSED = 'The bank refused the request';

export interface NombaClient {
  /** Makes a request with a token. A refused token is renewed once: such a request was not acted upon. */
  call(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse>;
  read<Data>(request: HttpRequest, schema: z.ZodType<Data>, signal?: AbortSignal): Promise<Data>;
  parse<Data>(request: HttpRequest, response: HttpResponse, schema: z.ZodType<Data>): Data;
  failure(request: HttpRequest, response: HttpResponse, outcome: Exclude<Outcome, { kind: 'ok' }>): Error;
  refusal(response: HttpResponse): RailRefusedError;
  close(): Promise<void>;
}

export function createNombaClient(credentials: NombaCredentials, clock: () => Date): NombaClient {
  const { clientId, clientSecret, accountId } = credentials;
  const http = createHttpClient({ rail: 'nomba', baseUrl: credentials.baseUrl, limitMs: REQUEST_LIMIT_MS });
  const secrets = [clientId, clientSecret, credentials.signatureKey];
  const redacted = (text: string): string => secrets.reduce((words, secret) => words.replaceAll(secret, '***'), text);
  const providerMessage = (response: HttpResponse): string => redacted(messageOf(response));

  let lastLoginAt = Number.NEGATIVE_INFINITY;
  async function login(): Promise<Token> {
    lastLoginAt = clock().getTime();
    const request: HttpRequest = {
      method: 'POST',
      route: '/v1/auth/token/issue',
      headers: { accountId },
      body: JSON.stringify({ grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }),
      limitMs: LOGIN_LIMIT_MS,
    };
    const response = await http.call(request);
    const outcome = outcomeOf(response);
    if (outcome.kind !== 'ok') {
      // A login that Nomba itself rejects, in whatever words, is a matter of the credentials.
      const isRejected = outcome.kind !== 'not_ready' && replyOf(response) !== null && response.status < 500;
      throw failure(
        request,
        response,
        isRejected ? { kind: 'not_ready', why: 'unauthorised', retryAfterMs: null } : outcome,
      );
    }
    const { access_token: text, expiresAt } = parse(request, response, tokenData);
    return { text, lifeMs: expiresAt === null ? LIFE_OTHERWISE_MS : expiresAt.getTime() - clock().getTime() };
  }
  const tokens = createTokenSource(login, () => clock().getTime());

  async function call(request: HttpRequest, signal?: AbortSignal): Promise<HttpResponse> {
    const attempt = async (): Promise<{ response: HttpResponse; isTokenOld: boolean }> => {
      const token = await tokens.get();
      const headers = { ...request.headers, accountId, authorization: `Bearer ${token}` };
      const response = await http.call({ ...request, headers }, signal);
      const isSurelyGood = clock().getTime() - lastLoginAt < SURELY_GOOD_MS;
      const isTokenOld = isTokenRefused(response) || (!isSurelyGood && mayBeTokenRefused(response));
      if (isTokenOld) tokens.forget(token);
      return { response, isTokenOld };
    };
    const { response, isTokenOld } = await attempt();
    return isTokenOld ? (await attempt()).response : response;
  }

  function failure(request: HttpRequest, response: HttpResponse, outcome: Exclude<Outcome, { kind: 'ok' }>): Error {
    const words = providerMessage(response);
    const message = `nomba: ${request.method} ${request.route}: ${words}`;
    if (outcome.kind === 'not_ready') {
      return new RailNotReadyError(outcome.why, message, {
        providerMessage: words,
        retryAfterMs: outcome.retryAfterMs,
      });
    }
    const ofOneAccount = outcome.kind !== 'unknown' || !outcome.isRailsFault;
    return new RailUnavailableError(message, { providerMessage: words, ofOneAccount });
  }

  function parse<Data>(request: HttpRequest, response: HttpResponse, schema: z.ZodType<Data>): Data {
    const parsed = schema.safeParse(replyOf(response)?.data);
    if (parsed.success) return parsed.data;
    const providerMessage = 'the response is not as documented';
    throw new RailUnavailableError(`nomba: ${request.method} ${request.route}: ${providerMessage}`, {
      providerMessage,
    });
  }

  return {
    call,
    parse,
    failure,
    refusal: (response) =>
      new RailRefusedError(redacted(safeMessage(replyOf(response)?.description ?? null) ?? REFUSED)),
    async read(request, schema, signal) {
      const response = await call(request, signal);
      const outcome = outcomeOf(response);
      if (outcome.kind !== 'ok') throw failure(request, response, outcome);
      return parse(request, response, schema);
    },
    close: () => http.close(),
  };
}
