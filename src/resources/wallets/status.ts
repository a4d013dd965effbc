// Wallet status for operators: changing it, and a report with what is in flight and the audit entries.
import { rowOf, type Sql } from '../../database/pool.ts';
import { newUuid, type Uuid } from '../../ids.ts';
import type { Environment, Kobo } from '../../money.ts';
import type { Proof } from '../proofs.ts';
import { findWallet, type Wallet } from './queries.ts';

/** Counts of unfinished resources by kind (`payments`, `withdrawals`, ...), without zeros. */
export type InFlight = Readonly<Record<string, number>>;

export type StatusChange =
  | { outcome: 'changed' | 'unchanged' | 'closed' | 'settlement' | 'not_found' }
  | { outcome: 'debt'; amountOwed: Kobo }
  | { outcome: 'balance'; balance: Kobo }
  | { outcome: 'in_flight'; inFlight: InFlight };

/** Once this resolves, no movement that the new status forbids can be posted. With audit entry and event. */
export async function setWalletStatus(
  sql: Sql,
  organisationId: Uuid,
  walletId: Uuid,
  status: Wallet['status'],
  { proof, reason }: { proof: Proof; reason: string },
): Promise<StatusChange> {
  const { outcome, held, owed, inFlight } = await rowOf(sql<
    { outcome: StatusChange['outcome']; held: Kobo; owed: Kobo; inFlight: InFlight }[]
  >`
    SELECT outcome, held, owed, in_flight
    FROM ledger.set_wallet_status(${organisationId}, ${walletId}, ${status}, ${proof}, ${reason}, ${newUuid()})`);
  if (outcome === 'debt') return { outcome, amountOwed: owed };
  if (outcome === 'balance') return { outcome, balance: held };
  return outcome === 'in_flight' ? { outcome, inFlight } : { outcome };
}

export interface AuditEntry {
  operator: string;
  action: string;
  reason: string | null;
  createdAt: Date;
}

/**
 * The report that an operator needs before changing a wallet; null when this organisation has no such wallet. `audit`:
 * the operators' actions on it, newest first.
 */
export async function reportWallet(sql: Sql, organisationId: Uuid, walletId: Uuid) {
  const [found] = await sql<{ environment: Environment }[]>`
    SELECT environment FROM wallets WHERE organisation_id = ${organisationId} AND id = ${walletId}`;
  if (found === undefined) return null;
  const { environment } = found;
  const wallet = await findWallet(sql, { organisationId, environment }, walletId);
  if (wallet === null) return null;
  const { inFlight } = await rowOf(sql<{ inFlight: InFlight }[]>`
    SELECT ledger.wallet_in_flight(${organisationId}, ${environment}, ${walletId}) AS in_flight`);
  const audit = await sql<AuditEntry[]>`
    SELECT operator, action, reason, created_at FROM audit_log
    WHERE organisation_id = ${organisationId} AND subject = ${walletId} AND action LIKE 'wallet.%'
    ORDER BY created_at DESC, id DESC`;
  return { wallet, environment, inFlight, audit: [...audit] };
}
