// The sandbox bank's outgoing transfers: taking them, ending them when they are due or when somebody says so, and telling
// where they stand. Each step is one statement, with the callback about it, so that it happens once or not at all.
import { randomInt } from 'node:crypto';
import type postgres from 'postgres';
import { PollingLoop } from '../../concurrency/pollingLoop.ts';
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Kobo } from '../../money.ts';
import type { Log } from '../../telemetry/log.ts';
import { SANDBOX_BANK } from './banks.ts';
import { creditCallback, transferCallback } from './callbacks.ts';
import {
  type Behaviour,
  type Destination,
  type DestinationChoice,
  destinationOf,
  OUTCOMES,
  type Outcome,
} from './destinations.ts';

export interface SandboxTransfer {
  reference: string;
  amount: Kobo;
  accountNumber: string;
  bankCode: string;
  accountName: string | null;
  sessionId: string;
  status: 'processing' | 'completed' | 'failed' | 'returned';
  reason: string | null;
}

/** A transfer and what the bank did about it, by count: however often it was sent, it is paid at most once. */
export interface SandboxTransferRecord extends SandboxTransfer {
  timesSent: number;
  timesPaid: number;
  timesReturned: number;
}

export interface SandboxInstruction {
  organisationId: Uuid;
  reference: string;
  amount: Kobo;
  accountNumber: string;
  bankCode: string;
  accountName: string | null;
  narration: string | null;
}

/** How the bank answers, if it does. `timed_out` says nothing of whether it took the transfer. */
export type SandboxAnswer =
  | { answer: 'known'; transfer: SandboxTransfer }
  | { answer: 'unknown' }
  | { answer: 'timed_out' }
  | { answer: 'unavailable' };

export interface TransferOptions {
  sql: Sql;
  log: Log;
  /** How long a transfer takes, in milliseconds. */
  delayMs: number;
}

/** The bank code of a choice that holds for an account number at every bank. */
const EVERY_BANK = '*';

/** How each outcome is told: the status, and the reason in the bank's words. */
const ENDINGS: Record<Outcome, { status: SandboxTransfer['status']; reason: string | null }> = {
  complete: { status: 'completed', reason: null },
  reject: { status: 'failed', reason: 'The receiving bank rejected the transfer' },
  return: { status: 'returned', reason: 'The receiving bank returned the money' },
};

/** Who pays, as the receiver of a transfer to an account of this bank is told. */
const SENDER_NAME = 'Sandbox Bank customer';

/** A batch that is ended by one statement: it holds its row locks for milliseconds. */
const ENDED_AT_ONCE = 100;

export class SandboxTransfers {
  readonly #options: TransferOptions;

  constructor(options: TransferOptions) {
    this.#options = options;
  }

  /** The account that a transfer would go to. Name enquiry reads it too. */
  async findDestination(organisationId: Uuid, accountNumber: string, bankCode: string | null): Promise<Destination> {
    const [found] = await this.#options.sql<(Partial<DestinationChoice> & { ownName: string | null })[]>`
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
    const choice = found?.behaviour ? { behaviour: found.behaviour, name: found.name ?? null } : null;
    return destinationOf(accountNumber, choice, found?.ownName ?? null);
  }

  /**
   * Chooses how transfers to an account end from now on, at one bank or (`bankCode` null) at every bank that has no choice
   * of its own. An outcome also ends the transfers that the account holds; whatever is under way otherwise goes its way.
   */
  async setDestination(
    account: { organisationId: Uuid; accountNumber: string; bankCode: string | null },
    choice: DestinationChoice,
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

  /** Takes a transfer. A reference that it has already is answered from the books, whatever else the instruction says. */
  async send(instruction: SandboxInstruction): Promise<SandboxAnswer> {
    const { sql } = this.#options;
    const { organisationId, reference, amount, accountNumber, bankCode, accountName, narration } = instruction;
    const { behaviour } = await this.findDestination(organisationId, accountNumber, bankCode);
    const outcome = outcomeOf(behaviour);
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
      WHERE ${behaviour !== 'unavailable' && behaviour !== 'timeout_lost'}::boolean
      ON CONFLICT (organisation_id, reference) DO UPDATE SET reference = excluded.reference
      RETURNING *`;
    if (behaviour === 'unavailable') return { answer: 'unavailable' };
    if (transfer === undefined) return { answer: 'timed_out' };
    // The answer that is lost is the one to the send that the bank took; asked again, it tells where the transfer stands.
    if (behaviour === 'timeout_delivered' && transfer.sessionId === sessionId) return { answer: 'timed_out' };
    return { answer: 'known', transfer };
  }

  /** Where a transfer stands in the bank's books. A bank that cannot be reached about an account does not answer. */
  async lookUp(organisationId: Uuid, reference: string): Promise<SandboxAnswer> {
    const { sql } = this.#options;
    const [request] = await sql<{ accountNumber: string; bankCode: string }[]>`
      SELECT account_number, bank_code FROM sandbox_bank.requests
      WHERE organisation_id = ${organisationId} AND reference = ${reference}`;
    if (request === undefined) return { answer: 'unknown' };
    // After the request, with which it is written: read beside it, it could be missed, and the bank would deny what it took.
    const [transfer, destination] = await Promise.all([
      this.find(organisationId, reference),
      this.findDestination(organisationId, request.accountNumber, request.bankCode),
    ]);
    if (destination.behaviour === 'unavailable') return { answer: 'unavailable' };
    return transfer === null ? { answer: 'unknown' } : { answer: 'known', transfer };
  }

  /** A transfer in the books, with its counts; null for a reference that the bank never took. */
  async find(organisationId: Uuid, reference: string): Promise<SandboxTransferRecord | null> {
    const { sql } = this.#options;
    const [found] = await sql<SandboxTransferRecord[]>`
      SELECT t.*, r.times AS times_sent,
             count(*) FILTER (WHERE l.kind = 'sent')::int AS times_paid,
             count(*) FILTER (WHERE l.kind = 'returned')::int AS times_returned
      FROM sandbox_bank.transfers t
      JOIN sandbox_bank.requests r USING (organisation_id, reference)
      LEFT JOIN sandbox_bank.statement_lines l USING (organisation_id, reference)
      WHERE t.organisation_id = ${organisationId} AND t.reference = ${reference}
      GROUP BY t.organisation_id, t.reference, r.times`;
    return found ?? null;
  }

  /**
   * Ends a transfer that is under way, or returns one that was completed and did not arrive at an account of this bank.
   * Doing it again tells the customer again. False, and nothing happens, for a transfer that has ended another way.
   */
  async resolve(organisationId: Uuid, reference: string, outcome: Outcome): Promise<boolean> {
    const { sql } = this.#options;
    const ended = await this.#end(sql`
      SELECT organisation_id, reference, status, ${outcome}::text AS outcome FROM sandbox_bank.transfers t
      WHERE organisation_id = ${organisationId} AND reference = ${reference}
        AND (status IN ('processing', ${ENDINGS[outcome].status})
             OR (${outcome}::text = 'return' AND status = 'completed' AND NOT EXISTS (
                   SELECT FROM sandbox_bank.accounts a
                   WHERE a.organisation_id = t.organisation_id AND a.account_number = t.account_number)))
      FOR UPDATE`);
    return ended.length > 0;
  }

  /** The loop that ends transfers which are due. The statement that takes one also ends it, so nothing is left to handle. */
  dueLoop(): PollingLoop<{ reference: string }> {
    const { sql, log } = this.#options;
    return new PollingLoop({
      concurrency: ENDED_AT_ONCE,
      claim: (max) =>
        this.#end(sql`
          SELECT organisation_id, reference, status, outcome FROM sandbox_bank.transfers
          WHERE due_at <= now() ORDER BY due_at LIMIT ${max} FOR UPDATE SKIP LOCKED`),
      handle: async () => {},
      onError: (error) => log.warn({ err: error }, 'the sandbox bank could not end transfers'),
    });
  }

  /**
   * Ends the transfers of `chosen` (organisation, reference, outcome, and the status so far) with all that belongs to it:
   * the lines of the bank's statement, the arrival where the account is one of this bank, and the callbacks.
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
        SET status = e.status, reason = e.reason, outcome = NULL, due_at = NULL
        FROM chosen c JOIN ending e USING (outcome)
        WHERE t.organisation_id = c.organisation_id AND t.reference = c.reference
        RETURNING t.*, c.status AS status_before
      ), line AS (
        INSERT INTO sandbox_bank.statement_lines (organisation_id, reference, kind, amount)
        SELECT organisation_id, reference, 'sent', amount FROM ended
        WHERE status_before = 'processing' AND status IN ('completed', 'returned')
        UNION ALL
        SELECT organisation_id, reference, 'returned', amount FROM ended
        WHERE status_before <> 'returned' AND status = 'returned'
      ), credit AS (
        INSERT INTO sandbox_bank.credits (organisation_id, session_id, account_number, amount, sender_name,
                                          sender_account_number, sender_bank_code)
        SELECT organisation_id, e.session_id, account_number, e.amount, ${SENDER_NAME}::text, NULL,
               ${SANDBOX_BANK.code}::text
        FROM ended e JOIN sandbox_bank.accounts USING (organisation_id, account_number)
        WHERE e.status_before = 'processing' AND e.status = 'completed'
        ON CONFLICT (organisation_id, session_id) DO NOTHING -- a simulated credit took the id: it is this one, then
        RETURNING *
      ), callback AS (
        INSERT INTO sandbox_bank.callbacks (organisation_id, body, available_at)
        SELECT organisation_id, ${transferCallback(sql)}, now() FROM ended
        UNION ALL
        SELECT organisation_id, ${creditCallback(sql)}, now() FROM credit
      )
      SELECT reference FROM ended`;
  }

  /** SQL: when a transfer that is taken now ends. */
  #due(): postgres.Fragment {
    const { sql, delayMs } = this.#options;
    return sql`now() + make_interval(secs => ${delayMs / 1000})`;
  }
}

/** How a transfer that is taken now will end; null where that is left open. */
function outcomeOf(behaviour: Behaviour): Outcome | null {
  switch (behaviour) {
    case 'complete':
    case 'reject':
    case 'return':
      return behaviour;
    case 'timeout_delivered':
      return 'complete';
    case 'hold':
    case 'timeout_lost':
    case 'unavailable':
      return null;
  }
}

/** A new interbank identity in the form of NIBSS: institution (6 digits), time (12) and a number (12). */
export function newSessionId(at: Date): string {
  const time = at.toISOString().replaceAll(/\D/g, '').slice(2, 14);
  return `000${SANDBOX_BANK.code}${time}${String(randomInt(10 ** 12)).padStart(12, '0')}`;
}
