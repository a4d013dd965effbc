// One HTTP request to a webhook endpoint, held short on every side: ten seconds in all, no redirects, no forbidden
// address, and no more of the reply than its log line needs.
import type { Readable } from 'node:stream';
import { Agent, errors, request } from 'undici';
import {
  createResolve,
  ForbiddenAddressError,
  guardedLookup,
  NameNotResolvedError,
  type Resolve,
} from './addressGuard.ts';
import type { AttemptError, AttemptResult } from './deliveries.ts';
import { type DestinationRules, destinationProblem } from './destination.ts';

/** The time for a whole attempt: name, connection, TLS, request and the status line of the reply. */
const ATTEMPT_TIMEOUT_MS = 10_000;
/** A reply's body is read no further than this, and waited for no longer than this: only its status counts. */
const BODY_BYTES_MAX = 4_096;
const BODY_WAIT_MS = 1_000;
/** How much of it the delivery log keeps. */
const BODY_CHARACTERS_KEPT = 1_000;

/** 2xx is delivered; everything else, redirects included, is not. */
export const wasDelivered = ({ responseStatus }: AttemptResult): boolean =>
  responseStatus !== null && responseStatus >= 200 && responseStatus < 300;

/** The result in two words, for a person: never a URL or a body. */
export const describeAttempt = ({ responseStatus, error }: AttemptResult): string =>
  responseStatus === null ? (error ?? 'no answer') : `answered ${responseStatus}`;

export interface SenderOptions {
  rules: DestinationRules;
  resolve?: Resolve;
  timeoutMs?: number;
}

export type Send = (url: string, headers: Record<string, string>, body: string) => Promise<AttemptResult>;

/**
 * A sender for one set of rules. It never throws: whatever goes wrong at the other side is a result. Connections are
 * kept for a moment and never shared between rules, so that one that the sandbox may hold is not used by live.
 */
export function createSender({ rules, resolve, timeoutMs = ATTEMPT_TIMEOUT_MS }: SenderOptions): Send {
  const agent = new Agent({
    connect: {
      timeout: timeoutMs,
      lookup: guardedLookup(rules.addresses, resolve ?? createResolve(rules.addresses)),
    },
    // The attempt's own limit covers both.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  return async (url, headers, body) => {
    const attemptedAt = new Date();
    const started = performance.now();
    const result = (answer: Pick<AttemptResult, 'responseStatus' | 'responseBody' | 'error'>): AttemptResult => ({
      attemptedAt,
      durationMs: Math.round(performance.now() - started),
      ...answer,
    });
    const failed = (error: AttemptError): AttemptResult => result({ responseStatus: null, responseBody: null, error });

    // A connection to an IP literal resolves no name, so the guard of the connection never sees it.
    if (!URL.canParse(url) || destinationProblem(new URL(url), rules) !== null) return failed('url_forbidden');
    const signal = AbortSignal.timeout(timeoutMs);
    try {
      const response = await request(url, {
        method: 'POST',
        headers: { 'user-agent': 'Manilla-Webhooks', 'content-type': 'application/json', ...headers },
        body,
        dispatcher: agent,
        signal,
      });
      return result({
        responseStatus: response.statusCode,
        responseBody: await readStart(response.body),
        error: null,
      });
    } catch (error) {
      return failed(signal.aborted ? 'timeout' : reasonOf(error));
    }
  };
}

/** The start of a reply's body, as text that Postgres can store. What does not come soon is not waited for. */
async function readStart(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const timer = setTimeout(() => body.destroy(), BODY_WAIT_MS);
  body.on('error', () => {}); // the status is known, so how the body ends changes nothing
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes >= BODY_BYTES_MAX) break;
    }
  } catch {
    // Cut off, by us or by the other side.
  } finally {
    clearTimeout(timer);
  }
  const start = Buffer.concat(chunks).subarray(0, BODY_BYTES_MAX);
  return new TextDecoder()
    .decode(start, { stream: true })
    .replaceAll('\0', '')
    .slice(0, BODY_CHARACTERS_KEPT)
    .toWellFormed();
}

function reasonOf(error: unknown): AttemptError {
  if (error instanceof ForbiddenAddressError) return 'address_forbidden';
  if (error instanceof NameNotResolvedError) return 'name_not_resolved';
  const code = codeOf(error);
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT') return 'timeout';
  if (/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/.test(code)) return 'connection_failed';
  if (error instanceof errors.HTTPParserError || error instanceof errors.HeadersOverflowError)
    return 'answer_unreadable';
  if (/CERT|^ERR_TLS|^ERR_SSL|^EPROTO|SIGNED|UNABLE_TO/.test(code)) return 'tls_failed';
  return 'connection_lost';
}

function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
