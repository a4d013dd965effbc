// Makes one signed attempt to deliver an event to an endpoint, and records the attempt with the delivery's new state.
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import { publicId } from '../ids.ts';
import type { Keyring } from '../keyring.ts';
import type { Book, Environment } from '../money.ts';
import type { Log } from '../telemetry/log.ts';
import { webhookAttemptSeconds, webhookAttempts, webhookDeliveries } from '../telemetry/metrics.ts';
import {
  type AttemptOutcome,
  type AttemptResult,
  endDelivery,
  type PendingDelivery,
  recordAttempt,
} from './deliveries.ts';
import { destinationRules } from './destination.ts';
import { giveNotice } from './endpoints.ts';
import { createSender, describeAttempt, type Send, wasDelivered } from './sender.ts';
import { openSecrets, signatureHeaders } from './signature.ts';

export interface DeliveryDependencies {
  sql: Sql;
  keyring: Keyring;
  config: Pick<Config, 'webhooks'>;
  log: Log;
}

/** Returns the function that makes an attempt. It throws only when the database or the keyring throws. */
export function createAttemptDelivery({ sql, keyring, config, log }: DeliveryDependencies) {
  const senders: Record<Environment, Send> = {
    test: createSender({ rules: destinationRules('test', config.webhooks) }),
    live: createSender({ rules: destinationRules('live', config.webhooks) }),
  };

  return async (book: Book, delivery: PendingDelivery): Promise<AttemptOutcome> => {
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
    webhookAttempts.inc({ outcome: labelOf(result) });
    const answer = describeAttempt(result);
    const outcome: AttemptOutcome = wasDelivered(result)
      ? { status: 'delivered', answer }
      : outcomeOfFailure(delivery, answer, config.webhooks.retryGapsMs);
    await recordAttempt(sql, book, delivery, result, outcome);
    if (outcome.status === 'failed') webhookDeliveries.inc({ outcome: outcome.reason });
    if (outcome.status === 'delivered') {
      webhookDeliveries.inc({ outcome: 'delivered' });
      return outcome;
    }
    const endpointId = publicId('webhookEndpoint', delivery.endpointId);
    const notice = delivery.endpointNotice;
    // The deliveries of a disabled endpoint end when their next attempts are due.
    if (notice !== null && (await giveNotice(sql, book, delivery.endpointId, notice))) {
      log.warn({ endpointId }, NOTICES[notice]);
    }
    log.info({ eventId: id, endpointId, attempts: delivery.attempts + 1, answer }, 'a webhook was not delivered');
    return outcome;
  };
}

const NOTICES = {
  failing: 'a webhook endpoint keeps failing',
  disabled: 'a webhook endpoint was disabled: it failed for days',
};

/** The metric label of an attempt: `delivered`, the class of another status, or why there was no response. */
function labelOf(result: AttemptResult): string {
  if (wasDelivered(result)) return 'delivered';
  if (result.responseStatus === null) return result.error ?? 'connection_lost';
  return `answered_${Math.floor(result.responseStatus / 100)}xx`;
}

/** Of a gap, so that deliveries that failed together in an outage of the receiver are not all retried at one moment. */
const JITTER = 0.1;

export const jittered = (ms: number, random: () => number = Math.random): number =>
  Math.round(ms * (1 - JITTER + 2 * JITTER * random()));

/** Returns the gap in milliseconds before the next attempt, after `attempts` were made; null when none is left. */
export function nextGapMs(attempts: number, gapsMs: readonly number[], random?: () => number): number | null {
  const gap = gapsMs[attempts - 1];
  return gap === undefined ? null : jittered(gap, random);
}

function outcomeOfFailure({ attempts }: PendingDelivery, answer: string, gapsMs: readonly number[]): AttemptOutcome {
  const gap = nextGapMs(attempts + 1, gapsMs);
  if (gap === null) return { status: 'failed', reason: 'retries_exhausted', answer };
  return { status: 'pending', answer, waitMs: gap };
}

/**
 * The envelope of contract section 6. The payload is inserted as stored text, so that each attempt sends the same
 * bytes.
 */
function eventBody({ eventId, type, createdAt, resource, sequence, data }: PendingDelivery): string {
  const [id, at] = [publicId('event', eventId), createdAt.toISOString()];
  const head = JSON.stringify({ id, type, createdAt: at, resourceId: resource, sequence });
  return `${head.slice(0, -1)},"data":${data}}`;
}
