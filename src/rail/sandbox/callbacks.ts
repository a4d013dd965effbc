// Callbacks of the sandbox bank: rows that are written in the same statement as the change they report, and a loop that
// sends them, signed, until the service responds with 2xx.
import { PollingLoop } from '../../concurrency/pollingLoop.ts';
import type { Sql } from '../../database/pool.ts';
import { publicId, type Uuid } from '../../ids.ts';
import type { Keyring } from '../../keyring.ts';
import type { Log } from '../../telemetry/log.ts';

export const SIGNATURE_HEADER = 'sandbox-signature';

/** A callback without a response within this time is sent again. */
const CALLBACK_TIMEOUT_MS = 5_000;
const CALLBACK_LEASE_SECONDS = 10;
/** The retry backoff doubles from 1 s up to this. */
const CALLBACK_RETRY_MAX_SECONDS = 30;
const CALLBACK_CONCURRENCY = 20;

/** The signature of a callback: `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`. */
export function signCallback(keyring: Keyring, body: string, at: Date): string {
  const t = Math.floor(at.getTime() / 1000);
  return `t=${t},v1=${keyring.sign('sandbox-rail-callback', `${t}.${body}`).toString('hex')}`;
}

/** SQL: our reference of the account of a row `credit`; NULL: the bank has no such account. */
export const accountReference = (sql: Sql) => sql`(
  SELECT reference FROM sandbox_bank.accounts a
  WHERE a.organisation_id = credit.organisation_id AND a.account_number = credit.account_number)`;

/** SQL: the callback body for a row `credit` of `sandbox_bank.credits`. */
export const creditCallback = (sql: Sql) => sql`json_build_object(
  'type', 'inbound_credit', 'contract', organisation_id, 'sessionId', session_id, 'accountNumber', account_number,
  'accountReference', ${accountReference(sql)}, 'amount', amount, 'senderName', sender_name,
  'senderAccountNumber', sender_account_number, 'senderBankCode', sender_bank_code, 'receivedAt', received_at)::text`;

/** SQL: the callback body for a row of `sandbox_bank.credits` that was taken back. */
export const recallCallback = (sql: Sql) =>
  sql`json_build_object('type', 'recall', 'contract', organisation_id, 'sessionId', session_id)::text`;

/** SQL: the callback body for a row of `sandbox_bank.transfers`. It carries no status: the receiver must query it. */
export const transferCallback = (sql: Sql) =>
  sql`json_build_object('type', 'transfer_update', 'contract', organisation_id, 'reference', reference)::text`;

export interface CallbackOptions {
  sql: Sql;
  keyring: Keyring;
  log: Log;
  /** The URL that callbacks are sent to, before the id of the organisation. */
  callbackUrl: string;
}

interface Callback {
  organisationId: Uuid;
  id: number;
  body: string;
  attempts: number;
}

/** Returns the loop that sends callbacks. Any number of processes may run it. */
export function createCallbackLoop(options: CallbackOptions): PollingLoop<Callback> {
  const { sql, log } = options;
  return new PollingLoop<Callback>({
    concurrency: CALLBACK_CONCURRENCY,
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
    onError: (error) => log.warn({ err: error }, 'the sandbox bank could not read or update its callbacks; retrying'),
  });
}

async function sendCallback({ sql, keyring, callbackUrl }: CallbackOptions, callback: Callback): Promise<void> {
  const accepted = await fetch(`${callbackUrl}/${publicId('organisation', callback.organisationId)}`, {
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
  const ofCallback = sql`WHERE organisation_id = ${callback.organisationId} AND id = ${callback.id}`;
  if (accepted) {
    await sql`DELETE FROM sandbox_bank.callbacks ${ofCallback}`;
  } else {
    const delaySeconds = Math.min(CALLBACK_RETRY_MAX_SECONDS, 2 ** (callback.attempts - 1));
    await sql`UPDATE sandbox_bank.callbacks SET available_at = now() + make_interval(secs => ${delaySeconds}) ${ofCallback}`;
  }
}
