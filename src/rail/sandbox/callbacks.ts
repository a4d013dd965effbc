// How the sandbox bank tells its customer what happened: rows that are written in the statement that makes it happen,
// and a loop that sends them, signed, until the customer answers 2xx.

import { PollingLoop } from '../../concurrency/pollingLoop.ts';
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Keyring } from '../../keyring.ts';
import type { Log } from '../../telemetry/log.ts';

export const SIGNATURE_HEADER = 'sandbox-signature';

/** The customer has this long to answer a callback before the bank repeats it. */
const CALLBACK_TIMEOUT_MS = 5_000;
const CALLBACK_LEASE_SECONDS = 10;
/** Repeats come after 1 s, then ever slower, at most this far apart. */
const CALLBACK_GAP_MAX_SECONDS = 30;
const CALLBACKS_AT_ONCE = 20;

/** The signature of a callback: `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`. */
export function signCallback(keyring: Keyring, body: string, at: Date): string {
  const t = Math.floor(at.getTime() / 1000);
  return `t=${t},v1=${keyring.sign('sandbox-rail-callback', `${t}.${body}`).toString('hex')}`;
}

/** SQL: the callback about a row of `sandbox_bank.credits`. */
export const creditCallback = (sql: Sql) => sql`json_build_object(
  'type', 'inbound_credit', 'contract', organisation_id, 'sessionId', session_id, 'accountNumber', account_number,
  'amount', amount, 'senderName', sender_name, 'senderAccountNumber', sender_account_number,
  'senderBankCode', sender_bank_code, 'receivedAt', received_at)::text`;

/** SQL: the callback about a row of `sandbox_bank.transfers`. It says that there is news, not which: one has to ask. */
export const transferCallback = (sql: Sql) =>
  sql`json_build_object('type', 'transfer_update', 'contract', organisation_id, 'reference', reference)::text`;

export interface CallbackOptions {
  sql: Sql;
  keyring: Keyring;
  log: Log;
  /** Where the customer listens. */
  callbackUrl: string;
}

interface Callback {
  organisationId: Uuid;
  id: number;
  body: string;
  attempts: number;
}

/** The loop that sends callbacks. Any number of processes may run it. */
export function createCallbackLoop(options: CallbackOptions): PollingLoop<Callback> {
  const { sql, log } = options;
  return new PollingLoop<Callback>({
    concurrency: CALLBACKS_AT_ONCE,
    // MATERIALIZED: as in src/outbox/relay.ts.
    claim: (max) => sql<Callback[]>`
      WITH due AS MATERIALIZED (
        SELECT organisation_id, id FROM sandbox_bank.callbacks WHERE available_at <= now()
        ORDER BY available_at, id LIMIT ${max} FOR UPDATE SKIP LOCKED
      )
      UPDATE sandbox_bank.callbacks c
      SET available_at = now() + make_interval(secs => ${CALLBACK_LEASE_SECONDS}), attempts = attempts + 1
      FROM due
      WHERE c.organisation_id = due.organisation_id AND c.id = due.id
      RETURNING c.organisation_id, c.id, c.body, c.attempts`,
    handle: (callback) => sendCallback(options, callback),
    onError: (error) => log.warn({ err: error }, 'the sandbox bank could not send callbacks'),
  });
}

async function sendCallback({ sql, keyring, callbackUrl }: CallbackOptions, callback: Callback): Promise<void> {
  const answered = await fetch(callbackUrl, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      [SIGNATURE_HEADER]: signCallback(keyring, callback.body, new Date()),
    },
    body: callback.body,
    redirect: 'error',
    signal: AbortSignal.timeout(CALLBACK_TIMEOUT_MS),
  }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.ok;
    },
    () => false,
  );
  if (answered) {
    await sql`DELETE FROM sandbox_bank.callbacks
              WHERE organisation_id = ${callback.organisationId} AND id = ${callback.id}`;
  } else {
    const gap = Math.min(CALLBACK_GAP_MAX_SECONDS, 2 ** (callback.attempts - 1));
    await sql`UPDATE sandbox_bank.callbacks SET available_at = now() + make_interval(secs => ${gap})
              WHERE organisation_id = ${callback.organisationId} AND id = ${callback.id}`;
  }
}
