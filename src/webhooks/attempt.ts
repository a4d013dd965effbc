// The courier carries one event to one endpoint: one signed attempt, written into the delivery log with what follows from
// it. The dispatcher uses it for the first attempt, the webhookDelivery flow for every later one.
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import { publicId } from '../ids.ts';
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
import { nextGapMs } from './retrySchedule.ts';
import { createSender, describeAttempt, type Send, wasDelivered } from './sender.ts';
import { signatureHeaders } from './signature.ts';

export interface DeliveryDependencies {
  sql: Sql;
  keyring: Keyring;
  config: Pick<Config, 'webhooks'>;
  log: Log;
}

/** Where a delivery stands after an attempt. `answer` says what the endpoint did, in two words. */
export type AttemptOutcome =
  | { status: 'delivered'; answer: string }
  | { status: 'pending'; answer: string; attempts: number; nextAttemptAt: Date }
  | { status: 'failed'; reason: DeliveryFailure; answer: string | null };

export type AttemptDelivery = (
  book: Book,
  parcel: PendingDelivery,
  options?: { extra: boolean },
) => Promise<AttemptOutcome>;

/**
 * A courier of this process. Call it for a pending delivery. An `extra` attempt is none of the schedule's: when it fails,
 * the delivery waits for its next attempt as before. Throws only when the database or the keyring does.
 */
export function createAttemptDelivery({ sql, keyring, config, log }: DeliveryDependencies): AttemptDelivery {
  const senders: Record<Environment, Send> = {
    test: createSender({ rules: destinationRules('test', config.webhooks) }),
    live: createSender({ rules: destinationRules('live', config.webhooks) }),
  };

  return async (book, parcel, { extra } = { extra: false }) => {
    if (parcel.endpointStatus !== 'enabled') {
      const reason = `endpoint_${parcel.endpointStatus}` as const;
      await endDelivery(sql, book, parcel, reason);
      webhookDeliveries.inc({ outcome: reason });
      return { status: 'failed', reason, answer: null };
    }
    const body = eventBody(parcel);
    const id = publicId('event', parcel.eventId);
    const headers = signatureHeaders(secretsOf(keyring, parcel), id, new Date(), body);
    const result = await senders[book.environment](parcel.url, headers, body);
    webhookAttemptSeconds.observe(result.durationMs / 1000);
    webhookAttempts.inc({ outcome: outcomeOf(result) });
    const answer = describeAttempt(result);
    const verdict = wasDelivered(result)
      ? ({ kind: 'delivered' } as const)
      : verdictOfFailure(parcel, extra, config.webhooks.retryGapsMs);
    await recordAttempt(sql, book, parcel, result, verdict);
    if (verdict.kind === 'delivered') webhookDeliveries.inc({ outcome: 'delivered' });
    if (verdict.kind === 'failed') webhookDeliveries.inc({ outcome: verdict.reason });
    if (verdict.kind === 'delivered') return { status: 'delivered', answer };

    const endpointId = publicId('webhookEndpoint', parcel.endpointId);
    log.info({ eventId: id, endpointId, attempts: parcel.attempts + 1, answer }, 'a webhook was not delivered');
    if (verdict.kind === 'failed') return { status: 'failed', reason: verdict.reason, answer };
    return verdict.kind === 'again'
      ? { status: 'pending', answer, attempts: parcel.attempts + 1, nextAttemptAt: verdict.at }
      : { status: 'pending', answer, attempts: parcel.attempts, nextAttemptAt: parcel.nextAttemptAt ?? new Date() };
  };
}

/** The label of an attempt: `delivered`, the class of another status, or why there was no answer. */
function outcomeOf(result: AttemptResult): string {
  if (wasDelivered(result)) return 'delivered';
  if (result.responseStatus === null) return result.error ?? 'connection_lost';
  return `answered_${Math.floor(result.responseStatus / 100)}xx`;
}

function verdictOfFailure(parcel: PendingDelivery, extra: boolean, gapsMs: readonly number[]): AttemptVerdict {
  if (extra) return { kind: 'extra' };
  const gap = nextGapMs(parcel.attempts + 1, gapsMs);
  return gap === null
    ? { kind: 'failed', reason: 'retries_exhausted' }
    : { kind: 'again', at: new Date(Date.now() + gap) };
}

/** The envelope of contract section 6. The payload goes in as its stored text, so that each attempt sends the same bytes. */
function eventBody({ eventId, type, createdAt, data }: PendingDelivery): string {
  const head = JSON.stringify({ id: publicId('event', eventId), type, createdAt: createdAt.toISOString() });
  return `${head.slice(0, -1)},"data":${data}}`;
}

/** The secrets that sign: the newest first, and during a rotation the one before it. */
function secretsOf(keyring: Keyring, { endpointId, sealedSecret, sealedPreviousSecret }: PendingDelivery): string[] {
  return [sealedSecret, sealedPreviousSecret]
    .filter((sealed) => sealed !== null)
    .map((sealed) => keyring.open('webhook-secret', endpointId, sealed));
}
