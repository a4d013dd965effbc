// Sends an event to the developer's own server as the service sends a webhook: the same body, headers, time limit and
// rule of success (docs/webhooks.md), signed with the secret of this machine.
import { Webhook } from 'standardwebhooks';
import type { Event } from '../../typescript/src/index.ts';
import { reasonOf } from '../../typescript/src/reason.ts';
import { paint, statusText } from './output.ts';

/** The service waits as long. */
const TIMEOUT_MS = 10_000;

/** What the developer's server said: a status, or why there was none. */
export interface Forwarded {
  url: string;
  status: number | null;
  error: string | null;
  durationMs: number;
}

/** The body of a webhook: the fields of the event in the order in which the service sends them. */
export const webhookBody = ({ id, type, createdAt, resourceId, sequence, data }: Event): string =>
  JSON.stringify({ id, type, createdAt, resourceId, sequence, data });

/** The headers of Standard Webhooks for a body that is sent now. */
export const webhookHeaders = (secret: string, id: string, at: Date, body: string): Record<string, string> => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': new Webhook(secret).sign(id, at, body),
});

/** Sends an event. Never throws: whatever the server does is a result. */
export async function forwardEvent(
  url: string,
  secret: string,
  event: Event,
  signal: AbortSignal,
  timeoutMs = TIMEOUT_MS,
): Promise<Forwarded> {
  const body = webhookBody(event);
  const limit = AbortSignal.timeout(timeoutMs);
  const started = performance.now();
  const ended = (status: number | null, error: string | null): Forwarded => ({
    url,
    status,
    error,
    durationMs: Math.round(performance.now() - started),
  });
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'user-agent': 'Manilla-Webhooks',
        'content-type': 'application/json',
        ...webhookHeaders(secret, event.id, new Date(), body),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, limit]),
    });
    await response.body?.cancel();
    return ended(response.status, null);
  } catch (error) {
    return ended(null, limit.aborted ? `no response within ${timeoutMs / 1000} seconds` : reasonOf(error));
  }
}

/** A result for people. What the service would take for a failure says so. */
export function forwardedText({ status, error, durationMs }: Forwarded): string {
  if (status === null) return paint('red', `not delivered: ${error ?? 'no response'}`);
  const text = `${statusText(status)} ${durationMs} ms`;
  if (status < 300) return text;
  return `${text} ${paint('red', status < 400 ? 'not delivered: redirects are not followed' : 'not delivered')}`;
}
