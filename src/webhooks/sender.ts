// One HTTP request to a webhook endpoint, limited in every way: ten seconds in total, no redirects, no forbidden
// address, and no more of the response body than the delivery log stores.
import * as http from 'node:http';
import * as https from 'node:https';
import type { Readable } from 'node:stream';
import {
  createResolve,
  ForbiddenAddressError,
  guardedLookup,
  NameNotResolvedError,
  type Resolve,
} from './addressGuard.ts';
import type { AttemptError, AttemptResult } from './deliveries.ts';
import { type DestinationRules, destinationProblem } from './destination.ts';

/** The time limit of a whole attempt: DNS, connection, TLS, request and the response headers. */
const ATTEMPT_TIMEOUT_MS = 10_000;
/** At most this much of a response body is read, and for no longer than this: only the status decides the outcome. */
const BODY_BYTES_MAX = 4_096;
const BODY_WAIT_MS = 1_000;
/** How long a connection is kept for the next event, unless the endpoint says that it closes it sooner. */
const KEPT_MS = 4_000;
/** How much of the body the delivery log stores. */
const BODY_CHARACTERS_STORED = 1_000;

/** A 2xx response means delivered; every other one, redirects included, does not. */
export const wasDelivered = ({ responseStatus }: AttemptResult): boolean =>
  responseStatus !== null && responseStatus >= 200 && responseStatus < 300;

/** The result in two words, for operators. Never contains a URL or a body. */
export const describeAttempt = ({ responseStatus, error }: AttemptResult): string =>
  responseStatus === null ? (error ?? 'no answer') : `answered ${responseStatus}`;

export interface SenderOptions {
  rules: DestinationRules;
  resolve?: Resolve;
  timeoutMs?: number;
}

export type Send = (url: string, headers: Record<string, string>, body: string) => Promise<AttemptResult>;

/**
 * Returns a sender for one set of rules. It never throws: every failure of the endpoint is a result. Each sender has
 * its own keep-alive pool, so that a connection that the sandbox rules allowed is never reused for live.
 */
export function createSender({ rules, resolve, timeoutMs = ATTEMPT_TIMEOUT_MS }: SenderOptions): Send {
  const lookup = guardedLookup(rules.addresses, resolve ?? createResolve(rules.addresses));
  const kept = { keepAlive: true, timeout: KEPT_MS, lookup };
  const agents = { 'http:': new http.Agent(kept), 'https:': new https.Agent(kept) };

  /** Resolves at the headers of the response. */
  async function post(target: URL, headers: http.OutgoingHttpHeaders, body: string, signal: AbortSignal) {
    const { request } = target.protocol === 'https:' ? https : http;
    const agent = agents[target.protocol as keyof typeof agents];
    for (;;) {
      const sent = request(target, { method: 'POST', headers, agent, signal });
      const response = new Promise<http.IncomingMessage>((resolve, reject) => {
        sent.once('response', resolve).on('error', reject);
        sent.once('close', () => reject(new Error('the connection was closed without a response')));
      });
      sent.end(body);
      try {
        return await response;
      } catch (error) {
        // The endpoint may close a kept connection at the moment of a request, which then is sent over another one.
        if (!sent.reusedSocket || !/^(ECONNRESET|EPIPE)$/.test(codeOf(error))) throw error;
      }
    }
  }

  const attempt = async (...[url, headers, body]: Parameters<Send>): Promise<Response> => {
    // A connection to an IP literal makes no DNS lookup, so the guard in the lookup does not check it.
    if (!URL.canParse(url) || destinationProblem(new URL(url), rules) !== null) return failed('url_forbidden');
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const own = { 'user-agent': 'Manilla-Webhooks', 'content-type': 'application/json' };
      const response = await post(new URL(url), { ...own, ...headers }, body, signal);
      return { responseStatus: response.statusCode ?? null, responseBody: await readStart(response), error: null };
    } catch (error) {
      return failed(signal.aborted ? 'timeout' : reasonOf(error));
    }
  };

  return async (...request) => {
    const attemptedAt = new Date();
    const started = performance.now();
    const response = await attempt(...request);
    return { attemptedAt, durationMs: Math.round(performance.now() - started), ...response };
  };
}

type Response = Omit<AttemptResult, 'attemptedAt' | 'durationMs'>;

const failed = (error: AttemptError): Response => ({ responseStatus: null, responseBody: null, error });

/**
 * Returns the start of a response body, as text that Postgres can store (no NUL, well-formed). Stops after
 * BODY_WAIT_MS.
 */
async function readStart(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const timer = setTimeout(() => body.destroy(), BODY_WAIT_MS);
  body.on('error', () => {}); // the status is known, so an error of the body does not matter
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= BODY_BYTES_MAX) break;
    }
  } catch {
    // The stream was closed early, by this process or by the endpoint.
  } finally {
    clearTimeout(timer);
  }
  const start = Buffer.concat(chunks).subarray(0, BODY_BYTES_MAX);
  return new TextDecoder()
    .decode(start, { stream: true })
    .replaceAll('\0', '')
    .slice(0, BODY_CHARACTERS_STORED)
    .toWellFormed();
}

function reasonOf(error: unknown): AttemptError {
  if (error instanceof ForbiddenAddressError) return 'address_forbidden';
  if (error instanceof NameNotResolvedError) return 'name_not_resolved';
  const code = codeOf(error);
  if (code === 'ETIMEDOUT') return 'timeout';
  if (/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/.test(code)) return 'connection_failed';
  if (code.startsWith('HPE_')) return 'answer_unreadable';
  if (/CERT|^ERR_TLS|^ERR_SSL|^EPROTO|SIGNED|UNABLE_TO/.test(code)) return 'tls_failed';
  return 'connection_lost';
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
