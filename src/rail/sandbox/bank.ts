// The sandbox bank: keeps its own books in its own schema, acts with a delay, and reports by signed callbacks. It
// replaces a real bank, so it uses no table of the service and has no concept of wallets or payments.
import type postgres from 'postgres';
import { together } from '../../concurrency/pollingLoop.ts';
import { firstOf, rowOf, type Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Kobo } from '../../money.ts';
import type { RailCapabilities } from '../capabilities.ts';
import type {
  AccountRequest,
  CreditPage,
  InboundCreditRecord,
  PageRequest,
  StatementLine,
  StatementPage,
  VirtualAccount,
} from '../port.ts';
import { SANDBOX_BANK } from './banks.ts';
import {
  accountReference,
  type CallbackOptions,
  createCallbackLoop,
  creditCallback,
  recallCallback,
} from './callbacks.ts';
import { SandboxTransfers } from './transfers.ts';

/** Lines of a statement, and credits of a list, per page. */
const PAGE_SIZE = 1_000;

/** A credit. `accountReference` null: the bank has no account with this number. */
export type SandboxCredit = InboundCreditRecord & { accountNumber: string };

/** Lines of the statement that are the bank's own doing. */
export const OWN_LINE_KINDS = ['charge', 'settlement', 'interest'] as const;
export type OwnLineKind = (typeof OWN_LINE_KINDS)[number];

/** SQL: what a line of the statement adds to the balance. */
export const changeOf = (sql: Sql): postgres.Fragment => sql`
  CASE WHEN kind IN ('credit', 'returned', 'interest', 'opening') THEN amount ELSE -amount END`;

/** Another credit has the session id. */
export class SessionIdTakenError extends Error {
  override readonly name = 'SessionIdTakenError';
}

export interface SandboxBankOptions extends CallbackOptions {
  /** The delay before the bank acts and reports, in milliseconds. */
  delayMs: number;
  capabilities: RailCapabilities;
}

/** SQL: the columns of a row `credit` as a SandboxCredit. */
const creditColumns = (sql: Sql) => sql`
  session_id, account_number, ${accountReference(sql)} AS account_reference, amount, sender_name,
  sender_account_number, sender_bank_code, session_id AS sender_session_id, received_at, recalled_at`;

export class SandboxBank {
  /** Outgoing transfers. */
  readonly transfers: SandboxTransfers;
  readonly capabilities: RailCapabilities;
  readonly #options: SandboxBankOptions;

  constructor(options: SandboxBankOptions) {
    this.transfers = new SandboxTransfers(options);
    this.capabilities = options.capabilities;
    this.#options = options;
  }

  /** Opens an account, or returns the existing one of this reference. */
  async openAccount(request: AccountRequest): Promise<VirtualAccount> {
    const { organisationId, reference, holder } = request;
    const expiresAt = request.kind === 'one_off' ? request.expiresAt : null;
    const { name, code } = SANDBOX_BANK;
    return await rowOf(this.#options.sql<VirtualAccount[]>`
      INSERT INTO sandbox_bank.accounts (organisation_id, account_number, reference, account_name, expires_at)
      VALUES (${organisationId}, nextval('sandbox_bank.account_numbers')::text, ${reference}, ${holder.name}, ${expiresAt})
      ON CONFLICT (organisation_id, reference) DO UPDATE SET reference = excluded.reference
      RETURNING account_number, account_name, ${name}::text AS bank_name, ${code}::text AS bank_code,
                ${expiresAt}::timestamptz AS expires_at`);
  }

  async closeAccount(organisationId: Uuid, accountNumber: string): Promise<void> {
    await this.#options.sql`
      UPDATE sandbox_bank.accounts SET closed_at = coalesce(closed_at, now())
      WHERE organisation_id = ${organisationId} AND account_number = ${accountNumber}`;
  }

  /**
   * Simulates an inbound credit. Any account number accepts it, also a closed or unknown one, because real banks
   * sometimes do that. The same session id is the same credit; its callback is sent again. With `callback` false none
   * is sent, as if it had been lost. Throws SessionIdTakenError.
   */
  async receiveCredit(
    credit: Omit<SandboxCredit, 'accountReference' | 'receivedAt' | 'recalledAt'> & { organisationId: Uuid },
    { callback = true }: { callback?: boolean } = {},
  ): Promise<SandboxCredit> {
    const { sql, delayMs } = this.#options;
    const [received] = await sql<SandboxCredit[]>`
      WITH credit AS (
        INSERT INTO sandbox_bank.credits AS c (organisation_id, session_id, account_number, amount, sender_name,
                                               sender_account_number, sender_bank_code)
        VALUES (${credit.organisationId}, ${credit.sessionId}, ${credit.accountNumber}, ${credit.amount},
                ${credit.senderName}, ${credit.senderAccountNumber}, ${credit.senderBankCode})
        ON CONFLICT (organisation_id, session_id) DO UPDATE SET session_id = excluded.session_id
        WHERE (c.account_number, c.amount, c.sender_name, c.sender_account_number, c.sender_bank_code)
          IS NOT DISTINCT FROM (excluded.account_number, excluded.amount, excluded.sender_name,
                                excluded.sender_account_number, excluded.sender_bank_code)
        RETURNING *
      ), callback AS (
        INSERT INTO sandbox_bank.callbacks (organisation_id, body, available_at)
        SELECT organisation_id, ${creditCallback(sql)}, now() + make_interval(secs => ${delayMs / 1000})
        FROM credit WHERE ${callback}::boolean
      )
      SELECT ${creditColumns(sql)} FROM credit`;
    if (received === undefined) throw new SessionIdTakenError();
    return received;
  }

  /** Simulates that the sending bank takes a credit back. A repeat sends the callback again. Null: no such credit. */
  async recallCredit(organisationId: Uuid, sessionId: string): Promise<SandboxCredit | null> {
    const { sql, delayMs } = this.#options;
    return await firstOf(sql<SandboxCredit[]>`
      WITH credit AS (
        UPDATE sandbox_bank.credits SET recalled_at = coalesce(recalled_at, now())
        WHERE organisation_id = ${organisationId} AND session_id = ${sessionId}
        RETURNING *
      ), callback AS (
        INSERT INTO sandbox_bank.callbacks (organisation_id, body, available_at)
        SELECT organisation_id, ${recallCallback(sql)}, now() + make_interval(secs => ${delayMs / 1000}) FROM credit
      )
      SELECT ${creditColumns(sql)} FROM credit`);
  }

  async findCredit(organisationId: Uuid, sessionId: string): Promise<SandboxCredit | null> {
    const { sql } = this.#options;
    return await firstOf(sql<SandboxCredit[]>`
      SELECT ${creditColumns(sql)} FROM sandbox_bank.credits credit
      WHERE organisation_id = ${organisationId} AND session_id = ${sessionId}`);
  }

  /** A page of the credits of a period, recalled ones too. The cursor orders them by time, then session id. */
  async listCredits({ organisationId, from, to, cursor }: PageRequest): Promise<CreditPage> {
    const { sql } = this.#options;
    const sortKey = sql`to_char(received_at AT TIME ZONE 'UTC', 'YYYYMMDDHH24MISSMS') || ' ' || session_id COLLATE "C"`;
    const rows = await sql<(SandboxCredit & { sortKey: string })[]>`
      SELECT ${creditColumns(sql)}, ${sortKey} AS sort_key FROM sandbox_bank.credits credit
      WHERE organisation_id = ${organisationId} AND received_at >= ${from} AND received_at < ${to}
        AND ${sortKey} > ${cursor ?? ''}
      ORDER BY sort_key LIMIT ${PAGE_SIZE}`;
    return { credits: rows.map(({ sortKey: _sortKey, ...record }) => record), nextCursor: cursorAfter(rows) };
  }

  /** Simulates a line of the statement that is the bank's own doing. The same reference is the same line. */
  async addStatementLine(line: {
    organisationId: Uuid;
    kind: OwnLineKind;
    reference: string;
    amount: Kobo;
  }): Promise<Omit<StatementLine, 'charge'>> {
    return await rowOf(this.#options.sql<Omit<StatementLine, 'charge'>[]>`
      INSERT INTO sandbox_bank.statement_lines (organisation_id, kind, reference, amount)
      VALUES (${line.organisationId}, ${line.kind}, ${line.reference}, ${line.amount})
      ON CONFLICT (organisation_id, reference) WHERE kind IN ('charge', 'settlement', 'interest', 'opening')
      DO UPDATE SET reference = excluded.reference
      RETURNING kind, reference, amount, created_at AS at`);
  }

  /** Returns a page of the bank's statement. The cursor orders lines by time, then kind, then session id or line id. */
  async statement({ organisationId, from, to, cursor }: PageRequest): Promise<StatementPage> {
    const { sql } = this.#options;
    const sortKey = sql`to_char(at AT TIME ZONE 'UTC', 'YYYYMMDDHH24MISSMS') || ' ' || name COLLATE "C"`;
    const rows = await sql<(StatementLine & { sortKey: string })[]>`
      SELECT kind, reference, amount, 0 AS charge, at, ${sortKey} AS sort_key FROM ${this.#lines(organisationId)}
      WHERE at >= ${from} AND at < ${to} AND ${sortKey} > ${cursor ?? ''}
      ORDER BY sort_key LIMIT ${PAGE_SIZE}`;
    const nextCursor = cursorAfter(rows);
    return {
      lines: rows.map(({ sortKey: _sortKey, ...line }) => line),
      nextCursor,
      closingBalance: nextCursor === null ? await this.#balance(organisationId, to) : null,
    };
  }

  /** The balance after all lines before a time. */
  async #balance(organisationId: Uuid, before: Date): Promise<Kobo> {
    const [row] = await this.#options.sql<{ balance: Kobo }[]>`
      SELECT coalesce(sum(${changeOf(this.#options.sql)}), 0)::bigint AS balance FROM ${this.#lines(organisationId)}
      WHERE at < ${before}`;
    return row?.balance ?? 0;
  }

  /** SQL: all lines of the statement, as a row `line`. A credit that was recalled left again. */
  #lines(organisationId: Uuid): postgres.Fragment {
    return this.#options.sql`(
      SELECT 'credit' AS kind, session_id AS reference, amount, received_at AS at, 'credit ' || session_id AS name
      FROM sandbox_bank.credits WHERE organisation_id = ${organisationId}
      UNION ALL
      SELECT 'recalled', session_id, amount, recalled_at, 'recall ' || session_id
      FROM sandbox_bank.credits WHERE organisation_id = ${organisationId}
      UNION ALL
      SELECT kind, reference, amount, created_at, 'line ' || lpad(id::text, 20, '0')
      FROM sandbox_bank.statement_lines WHERE organisation_id = ${organisationId}
    ) AS line`;
  }

  /** The bank's background loops: end due transfers and send callbacks. Any number of processes may run them. */
  clock(): ReturnType<typeof together> {
    return together([this.transfers.dueLoop(), createCallbackLoop(this.#options)]);
  }
}

/** Null: no row follows a page that is not full. */
const cursorAfter = (rows: readonly { sortKey: string }[]): string | null =>
  rows.length < PAGE_SIZE ? null : (rows.at(-1)?.sortKey ?? null);
