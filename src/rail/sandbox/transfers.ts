// The sandbox bank's outgoing transfers: accepts them, ends them when they are due or resolved, and returns their
// status. Each step is one statement, which also writes its callback, so a step is atomic.
import { createHash, randomInt } from 'node:crypto';
import type postgres from 'postgres';
import { PollingLoop } from '../../concurrency/pollingLoop.ts';
import { firstOf, type Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Log } from '../../telemetry/log.ts';
import { RailNotReadyError, RailUnavailableError } from '../errors.ts';
import { NIP_WORDS_OF, type RailFailureCode } from '../failures.ts';
import type { TransferInstruction, TransferReport } from '../port.ts';
import { SANDBOX_BANK } from './banks.ts';
import { creditCallback, transferCallback } from './callbacks.ts';
import { type Destination, destinationOf, OUTCOMES, type Outcome, TREATMENTS } from './destinations.ts';

export interface SandboxTransfer
  extends Pick<TransferInstruction, 'reference' | 'amount' | 'accountNumber' | 'bankCode' | 'accountName'>,
    Pick<TransferReport, 'status' | 'reason'> {
  sessionId: string;
}

/** A transfer with the counts of what the bank did: however often it was sent, it is paid at most once. */
export interface SandboxTransferRecord extends SandboxTransfer {
  timesSent: number;
  timesPaid: number;
  timesReturned: number;
}

export interface TransferOptions {
  sql: Sql;
  log: Log;
  /** Duration of a transfer, in milliseconds. */
  delayMs: number;
}

/** The bank code of an override that applies to an account number at every bank. */
const EVERY_BANK = '*';

const ENDINGS: Record<Outcome, { status: SandboxTransfer['status']; reason: string | null }> = {
  complete: { status: 'completed', reason: null },
  reject: { status: 'failed', reason: 'The receiving bank rejected the transfer' },
  return: { status: 'returned', reason: 'The receiving bank returned the money' },
};

/** The status that an outcome contradicts, where a bank has been seen to report one after the other. */
const CONTRADICTED: Partial<Record<Outcome, SandboxTransfer['status']>> = { complete: 'failed', reject: 'completed' };

/** The sender's name of a transfer to an account of this bank. */
const SENDER_NAME = 'Sandbox Bank customer';

/** Transfers ended by one statement. Small, so that row locks are held for milliseconds. */
const END_BATCH_SIZE = 100;

export class SandboxTransfers {
  readonly #options: TransferOptions;

  constructor(options: TransferOptions) {
    this.#options = options;
  }

  /** Returns the destination of a transfer to an account. Also used for name enquiry. */
  async findDestination(organisationId: Uuid, accountNumber: string, bankCode: string | null): Promise<Destination> {
    const [row] = await this.#options.sql<(Partial<Destination> & { ownName: string | null })[]>`
      SELECT d.behaviour, d.name, (
        SELECT account_name FROM sandbox_bank.accounts
        WHERE organisation_id = ${organisationId} AND account_number = ${accountNumber}
      ) AS own_name
      FROM (VALUES (1)) AS always LEFT JOIN LATERAL (
        SELECT behaviour, name FROM sandbox_bank.destinations
        WHERE organisation_id = ${organisationId} AND account_number = ${accountNumber}
          AND bank_code IN (${bankCode ?? EVERY_BANK}, ${EVERY_BANK})
        ORDER BY bank_code = ${EVERY_BANK} LIMIT 1
      ) d ON true`;
    const choice = row?.behaviour ? { behaviour: row.behaviour, name: row.name ?? null } : null;
    return destinationOf(accountNumber, choice, row?.ownName ?? null);
  }

  /**
   * Overrides how transfers to an account end from now on, at one bank, or with `bankCode` null at every bank without
   * an override of its own. An outcome also ends transfers that the account holds; other transfers in progress are
   * unchanged.
   */
  async setDestination(
    account: { organisationId: Uuid; accountNumber: string; bankCode: string | null },
    choice: Destination,
  ): Promise<Destination> {
    const { sql } = this.#options;
    const { organisationId, accountNumber, bankCode } = account;
    const outcome = OUTCOMES.find((known) => known === choice.behaviour) ?? null;
    await sql`
      WITH chosen AS (
        INSERT INTO sandbox_bank.destinations (organisation_id, account_number, bank_code, name, behaviour)
        VALUES (${organisationId}, ${accountNumber}, ${bankCode ?? EVERY_BANK}, ${choice.name}, ${choice.behaviour})
        ON CONFLICT (organisation_id, account_number, bank_code) DO UPDATE SET
          name = excluded.name, behaviour = excluded.behaviour
      )
      UPDATE sandbox_bank.transfers t SET outcome = ${outcome}, due_at = ${this.#due()}
      WHERE ${outcome}::text IS NOT NULL AND t.organisation_id = ${organisationId}
        AND t.account_number = ${accountNumber} AND t.status = 'processing' AND t.due_at IS NULL
        AND CASE WHEN ${bankCode}::text IS NOT NULL THEN t.bank_code = ${bankCode}
                 ELSE NOT EXISTS (SELECT FROM sandbox_bank.destinations d
                                  WHERE d.organisation_id = t.organisation_id AND d.account_number = t.account_number
                                    AND d.bank_code = t.bank_code) END`;
    return await this.findDestination(organisationId, accountNumber, bankCode);
  }

  /** Accepts a transfer. A known reference returns the stored transfer; the rest of the instruction is ignored. */
  async send(instruction: TransferInstruction): Promise<SandboxTransfer> {
    const { sql } = this.#options;
    const { organisationId, reference, amount, accountNumber, bankCode, accountName, narration } = instruction;
    const { behaviour } = await this.findDestination(organisationId, accountNumber, bankCode);
    const { isAccepted, outcome } = TREATMENTS[behaviour];
    const sessionId = newSessionId(new Date());
    const [transfer] = await sql<SandboxTransfer[]>`
      WITH request AS (
        INSERT INTO sandbox_bank.requests AS r (organisation_id, reference, account_number, bank_code)
        VALUES (${organisationId}, ${reference}, ${accountNumber}, ${bankCode})
        ON CONFLICT (organisation_id, reference) DO UPDATE SET times = r.times + 1
      )
      INSERT INTO sandbox_bank.transfers (organisation_id, reference, amount, account_number, bank_code, account_name,
                                          narration, session_id, status, outcome, due_at)
      SELECT ${organisationId}::uuid, ${reference}::text, ${amount}::bigint, ${accountNumber}::text, ${bankCode}::text,
             ${accountName}::text, ${narration}::text, ${sessionId}::text, 'processing', ${outcome}::text,
             CASE WHEN ${outcome}::text IS NOT NULL THEN ${this.#due()} END
      WHERE ${isAccepted}::boolean
      ON CONFLICT (organisation_id, reference) DO UPDATE SET reference = excluded.reference
      RETURNING *`;
    if (behaviour === 'unavailable') throw unavailable();
    if (behaviour === 'underfunded') {
      throw new RailNotReadyError('underfunded', 'the sandbox bank is set to pay from too low a balance', {
        providerMessage: 'Insufficient balance',
      });
    }
    // Only the response to the send that created the transfer is lost; a repeated send returns the transfer.
    const isLost = behaviour === 'timeout_delivered' && transfer?.sessionId === sessionId;
    if (transfer !== undefined && !isLost) return transfer;
    throw new RailUnavailableError('the sandbox bank did not respond in time', { timedOut: true, ofOneAccount: true });
  }

  /** Returns a transfer in the bank's books. Throws while its account is set to `unavailable`. */
  async lookUp(organisationId: Uuid, reference: string): Promise<SandboxTransfer | null> {
    const { sql } = this.#options;
    const [request] = await sql<{ accountNumber: string; bankCode: string }[]>`
      SELECT account_number, bank_code FROM sandbox_bank.requests
      WHERE organisation_id = ${organisationId} AND reference = ${reference}`;
    if (request === undefined) return null;
    // Not in parallel with the request: both rows are written by one statement, and a transfer read before the request
    // row could be missed, so that the bank would deny a transfer that it accepted.
    const [transfer, destination] = await Promise.all([
      this.find(organisationId, reference),
      this.findDestination(organisationId, request.accountNumber, request.bankCode),
    ]);
    if (destination.behaviour === 'unavailable') throw unavailable();
    return transfer;
  }

  /** Returns a transfer with its counts; null for a reference that the bank never accepted. */
  async find(organisationId: Uuid, reference: string): Promise<SandboxTransferRecord | null> {
    const { sql } = this.#options;
    return await firstOf(sql<SandboxTransferRecord[]>`
      SELECT t.*, r.times AS times_sent,
             count(*) FILTER (WHERE l.kind = 'sent')::int AS times_paid,
             count(*) FILTER (WHERE l.kind = 'returned')::int AS times_returned
      FROM sandbox_bank.transfers t
      JOIN sandbox_bank.requests r USING (organisation_id, reference)
      LEFT JOIN sandbox_bank.statement_lines l USING (organisation_id, reference)
      WHERE t.organisation_id = ${organisationId} AND t.reference = ${reference}
      GROUP BY t.organisation_id, t.reference, r.times`);
  }

  /**
   * Ends a transfer in progress, or returns a completed one that was not paid to an account of this bank. Repeating the
   * same outcome sends the callback again. Returns false, without a change, for a transfer that ended another way,
   * unless it is to be contradicted: a failed one is paid after all, or the money of a completed one is back.
   * `failureCode`: why it is rejected or returned, in the words of NIP.
   */
  async resolve(
    organisationId: Uuid,
    reference: string,
    outcome: Outcome,
    { contradict = false, failureCode }: { contradict?: boolean; failureCode?: RailFailureCode | undefined } = {},
  ): Promise<boolean> {
    const { sql } = this.#options;
    const words = failureCode === undefined ? null : (NIP_WORDS_OF[failureCode] ?? null);
    const contradicted = contradict ? CONTRADICTED[outcome] : undefined;
    const ended = await this.#end(sql`
      SELECT organisation_id, reference, status, ${outcome}::text AS outcome, ${words}::text AS words FROM sandbox_bank.transfers t
      WHERE organisation_id = ${organisationId} AND reference = ${reference}
        AND (status IN ('processing', ${ENDINGS[outcome].status}) OR status = 'failed' AND ${contradicted === 'failed'}::boolean
             OR (${outcome === 'return' || contradicted === 'completed'}::boolean AND status = 'completed' AND NOT EXISTS (
                   SELECT FROM sandbox_bank.accounts a
                   WHERE a.organisation_id = t.organisation_id AND a.account_number = t.account_number)))
      FOR UPDATE`);
    return ended.length > 0;
  }

  /** Returns the loop that ends due transfers. The statement that claims one also ends it, so `handle` does nothing. */
  dueLoop(): PollingLoop<{ reference: string }> {
    const { sql, log } = this.#options;
    return new PollingLoop({
      concurrency: END_BATCH_SIZE,
      claim: (max) =>
        this.#end(sql`
          SELECT organisation_id, reference, status, outcome, NULL AS words FROM sandbox_bank.transfers
          WHERE due_at <= now() ORDER BY due_at LIMIT ${max} FOR UPDATE SKIP LOCKED`),
      handle: async () => {},
      onError: (error) => log.warn({ err: error }, 'the sandbox bank could not end its due transfers; retrying'),
    });
  }

  /**
   * Ends the transfers selected by `chosen` (organisation, reference, outcome, words, current status), together with
   * the statement lines, the inbound credit if the account is one of this bank, and the callbacks.
   */
  async #end(chosen: postgres.Fragment): Promise<{ reference: string }[]> {
    const { sql } = this.#options;
    const outcomes = Object.entries(ENDINGS);
    return await sql<{ reference: string }[]>`
      WITH chosen AS (${chosen}), ending AS (
        SELECT * FROM unnest(${outcomes.map(([name]) => name)}::text[],
                             ${outcomes.map(([, { status }]) => status)}::text[],
                             ${outcomes.map(([, { reason }]) => reason)}::text[]) AS e (outcome, status, reason)
      ), ended AS (
        UPDATE sandbox_bank.transfers t
        SET status = e.status, reason = coalesce(c.words, e.reason), outcome = NULL, due_at = NULL
        FROM chosen c JOIN ending e USING (outcome)
        WHERE t.organisation_id = c.organisation_id AND t.reference = c.reference
        RETURNING t.*, c.status AS status_before
      ), line AS (
        INSERT INTO sandbox_bank.statement_lines (organisation_id, reference, kind, amount)
        SELECT organisation_id, reference, 'sent', amount FROM ended
        WHERE status_before IN ('processing', 'failed') AND status IN ('completed', 'returned')
        UNION ALL
        SELECT organisation_id, reference, 'returned', amount FROM ended
        WHERE status_before <> 'returned' AND status = 'returned' OR status_before = 'completed' AND status = 'failed'
      ), credit AS (
        INSERT INTO sandbox_bank.credits (organisation_id, session_id, account_number, amount, sender_name,
                                          sender_account_number, sender_bank_code)
        SELECT organisation_id, e.session_id, account_number, e.amount, ${SENDER_NAME}::text, NULL,
               ${SANDBOX_BANK.code}::text
        FROM ended e JOIN sandbox_bank.accounts USING (organisation_id, account_number)
        WHERE e.status_before IN ('processing', 'failed') AND e.status = 'completed'
        -- A simulated credit may already have this session id; it counts as this one.
        ON CONFLICT (organisation_id, session_id) DO NOTHING
        RETURNING *
      ), callback AS (
        INSERT INTO sandbox_bank.callbacks (organisation_id, body, available_at)
        SELECT organisation_id, ${transferCallback(sql)}, now() FROM ended
        UNION ALL
        SELECT organisation_id, ${creditCallback(sql)}, now() FROM credit
      )
      SELECT reference FROM ended`;
  }

  /** SQL: when a transfer that is accepted now ends. */
  #due(): postgres.Fragment {
    const { sql, delayMs } = this.#options;
    return sql`now() + make_interval(secs => ${delayMs / 1000})`;
  }
}

const unavailable = (): RailUnavailableError =>
  new RailUnavailableError('the sandbox bank is set to be unavailable for this account', { ofOneAccount: true });

/**
 * Generates a session id in the NIBSS format: institution (6 digits), time (12) and a random number (12). For the
 * repeats of one request it is the same one, made from `repeatId`.
 */
export function newSessionId(at: Date, repeatId: string | null = null): string {
  const time = at.toISOString().replaceAll(/\D/g, '').slice(2, 14);
  const number = repeatId === null ? `${time}${String(randomInt(10 ** 12)).padStart(12, '0')}` : digitsOf(repeatId);
  return `000${SANDBOX_BANK.code}${number}`;
}

/** 24 digits of a digest. */
const digitsOf = (text: string): string =>
  BigInt(`0x${createHash('sha256').update(text).digest('hex')}`)
    .toString()
    .padStart(24, '0')
    .slice(-24);
