// What an operator sees and decides of a wallet: its status, what is in flight, and who changed what and why.
import type { Sql } from '../../database/pool.ts';
import type { Uuid } from '../../ids.ts';
import type { Environment, Kobo } from '../../money.ts';
import { findWallet, type Wallet } from './queries.ts';

/** Counts by kind (`payments`, `withdrawals` …); a kind of which there are none is left out. */
export type InFlight = Readonly<Record<string, number>>;

export type StatusChange =
  | { outcome: 'changed' | 'unchanged' | 'closed' | 'settlement' | 'not_found' }
  | { outcome: 'balance'; balance: Kobo }
  | { outcome: 'in_flight'; inFlight: InFlight };

/**
 * Changes the status under the lock that money moves under, together with its audit entry. Once this resolves, no
 * movement that the new status forbids is posted any more.
 */
export async function setWalletStatus(
  sql: Sql,
  organisationId: Uuid,
  walletId: Uuid,
  wanted: Wallet['status'],
  act: { operator: string; reason: string },
): Promise<StatusChange> {
  const [row] = await sql<{ outcome: StatusChange['outcome']; held: Kobo; inFlight: InFlight }[]>`
    SELECT outcome, held, in_flight
    FROM ledger.set_wallet_status(${organisationId}, ${walletId}, ${wanted}, ${act.operator}, ${act.reason})`;
  if (row === undefined) throw new Error('a change of status has no outcome');
  const { outcome, held, inFlight } = row;
  if (outcome === 'balance') return { outcome, balance: held };
  return outcome === 'in_flight' ? { outcome, inFlight } : { outcome };
}

export interface AuditEntry {
  operator: string;
  action: string;
  reason: string | null;
  createdAt: Date;
}

export interface WalletReport {
  wallet: Wallet;
  environment: Environment;
  inFlight: InFlight;
  /** What operators did to it, newest first. */
  audit: AuditEntry[];
}

/** Everything an operator needs to know before changing a wallet; null when this organisation has no such wallet. */
export async function reportWallet(sql: Sql, organisationId: Uuid, walletId: Uuid): Promise<WalletReport | null> {
  const [found] = await sql<{ environment: Environment; inFlight: InFlight }[]>`
    SELECT environment, ledger.wallet_in_flight(organisation_id, environment, id) AS in_flight
    FROM wallets WHERE organisation_id = ${organisationId} AND id = ${walletId}`;
  if (found === undefined) return null;
  const wallet = await findWallet(sql, { organisationId, environment: found.environment }, walletId);
  if (wallet === null) return null;
  const audit = await sql<AuditEntry[]>`
    SELECT operator, action, reason, created_at FROM audit_log
    WHERE organisation_id = ${organisationId} AND subject = ${walletId} AND action LIKE 'wallet.%'
    ORDER BY id DESC`;
  return { wallet, ...found, audit: [...audit] };
}
