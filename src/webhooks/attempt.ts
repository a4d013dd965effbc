// Makes one signed attempt to deliver an event to an endpoint, and records the attempt with the delivery's new state.
// The dispatcher uses it for the first attempt, the webhookDelivery flow for every later one.
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import { publicId, type Uuid } from '../ids.ts';
import type { Keyring } from '../keyring.ts';
import type { Book, Environment } from '../money.ts';
import type { Log } from '../telemetry/log.ts';
import { webhookAttemptSeconds, webhookAttempts, webhookDeliveries } from '../telemetry/metrics.ts';
import type { DeliveryFailure } from '../workflows/webhookDelivery/messages.ts';
import {
  type AttemptResult,
  type AttemptVerdict,
  endDelivery,
  type PendingDelivery,
  recordAttempt,
} from './deliveries.ts';
import { destinationRules } from './destination.ts';
import { disableFailingEndpoint, reportFailingEndpoint } from './endpoints.ts';
import { nextGapMs } from './retrySchedule.ts';
import { openSecrets } from './secrets.ts';
import { createSender, describeAttempt, type Send, wasDelivered } from './sender.ts';
import { signatureHeaders } from './signature.ts';

export interface DeliveryDependencies {
  sql: Sql;
  keyring: Keyring;
  config: Pick<Config, 'webhooks'>;
  log: Log;
}

/** The state of a delivery after an attempt. `answer` describes the endpoint's response in two words. */
export type AttemptOutcome =
  | { status: 'delivered'; answer: string }
  | { status: 'pending'; answer: string; attempts: number; waitMs: number }
  | { status: 'failed'; reason: DeliveryFailure; answer: string | null };

export type AttemptDelivery = (
  book: Book,
  delivery: PendingDelivery,
  options?: { extra: boolean },
) => Promise<AttemptOutcome>;

/**
 * Returns the function that makes an attempt for a pending delivery. An `extra` attempt is outside of the retry
 * schedule: when it fails, the delivery keeps its next scheduled attempt. It throws only when the database or the
 * keyring throws.
 */
export function createAttemptDelivery({ sql, keyring, config, log }: DeliveryDependencies): AttemptDelivery {
  const senders: Record<Environment, Send> = {
    test: createSender({ rules: destinationRules('test', config.webhooks) }),
    live: createSender({ rules: destinationRules('live', config.webhooks) }),
  };

  /** Notifies the other endpoints. The deliveries of a disabled endpoint end when their next attempts are due. */
  async function giveNotice(book: Book, id: Uuid, notice: 'failing' | 'disabled'): Promise<void> {
    const give = notice === 'disabled' ? disableFailingEndpoint : reportFailingEndpoint;
    if (!(await give(sql, book, id))) return;
    log.warn({ endpointId: publicId('webhookEndpoint', id) }, NOTICES[notice]);
  }

  return async (book, delivery, { extra } = { extra: false }) => {
    if (delivery.endpointStatus !== 'enabled') {
      const reason = `endpoint_${delivery.endpointStatus}` as const;
      await endDelivery(sql, book, delivery, reason);
      webhookDeliveries.inc({ outcome: reason });
      return { status: 'failed', reason, answer: null };
    }
    const body = eventBody(delivery);
    const id = publicId('event', delivery.eventId);
    const headers = signatureHeaders(openSecrets(keyring, delivery), id, new Date(), body);
    const result = await senders[book.environment](delivery.url, headers, body);
    webhookAttemptSeconds.observe(result.durationMs / 1000);
    webhookAttempts.inc({ outcome: outcomeOf(result) });
    const answer = describeAttempt(result);
    const verdict = wasDelivered(result)
      ? ({ kind: 'delivered' } as const)
      : verdictOfFailure(delivery, extra, config.webhooks.retryGapsMs);
    await recordAttempt(sql, book, delivery, result, verdict);
    if (verdict.kind === 'delivered') webhookDeliveries.inc({ outcome: 'delivered' });
    if (verdict.kind === 'failed') webhookDeliveries.inc({ outcome: verdict.reason });
    if (verdict.kind === 'delivered') return { status: 'delivered', answer };
    if (delivery.endpointNotice !== null) await giveNotice(book, delivery.endpointId, delivery.endpointNotice);

    const endpointId = publicId('webhookEndpoint', delivery.endpointId);
    log.info({ eventId: id, endpointId, attempts: delivery.attempts + 1, answer }, 'a webhook was not delivered');
    if (verdict.kind === 'failed') return { status: 'failed', reason: verdict.reason, answer };
    return verdict.kind === 'again'
      ? { status: 'pending', answer, attempts: delivery.attempts + 1, waitMs: verdict.afterMs }
      : { status: 'pending', answer, attempts: delivery.attempts, waitMs: delivery.waitMs };
  };
}

const NOTICES = {
  failing: 'a webhook endpoint keeps failing',
  disabled: 'a webhook endpoint was disabled: it failed for days',
};

/** The metric label of an attempt: `delivered`, the class of another status, or why there was no response. */
function outcomeOf(result: AttemptResult): string {
  if (wasDelivered(result)) return 'delivered';
  if (result.responseStatus === null) return result.error ?? 'connection_lost';
  return `answered_${Math.floor(result.responseStatus / 100)}xx`;
}

function verdictOfFailure(delivery: PendingDelivery, extra: boolean, gapsMs: readonly number[]): AttemptVerdict {
  if (extra) return { kind: 'extra' };
  const gap = nextGapMs(delivery.attempts + 1, gapsMs);
  return gap === null ? { kind: 'failed', reason: 'retries_exhausted' } : { kind: 'again', afterMs: gap };
}

/**
 * The envelope of contract section 6. The payload is inserted as stored text, so that each attempt sends the same
 * bytes.
 */
function eventBody({ eventId, type, createdAt, data }: PendingDelivery): string {
  const head = JSON.stringify({ id: publicId('event', eventId), type, createdAt: createdAt.toISOString() });
  return `${head.slice(0, -1)},"data":${data}}`;
}
