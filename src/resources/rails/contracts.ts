// Contracts with providers: connected, checked, rotated and disconnected by operators, each with its audit log entry in
// the same statement; and what each could pay out when it was last asked.
import { firstOf, type Sql } from '../../database/pool.ts';
import { newUuid, type Uuid } from '../../ids.ts';
import type { Book, Kobo } from '../../money.ts';
import { CONTRACT_IN_USE_FOR_MS } from '../../rail/contracts.ts';
import type { CheckReport } from '../../rail/promises/run.ts';
import { type AuditNote, audited } from './audit.ts';

export interface StoredContract extends Book {
  id: Uuid;
  rail: string;
  version: number;
  connectedAt: Date;
  closingAt: Date | null;
  /** What it could pay out when it was last asked; null: it was not asked, or does not report. */
  available: Kobo | null;
  readAt: Date | null;
  /** The last report of `rail check` with these credentials; null: there is none. */
  adapterVersion: string | null;
  passed: boolean | null;
  checkedAt: Date | null;
  /** Its number of checks by verdict. */
  summary: Record<string, number> | null;
  /** The checks that it did not try. */
  untried: string[] | null;
}

export const listContracts = (sql: Sql): Promise<StoredContract[]> => sql<StoredContract[]>`
    SELECT r.organisation_id, r.environment, r.id, r.rail, r.version, r.connected_at, r.closing_at,
           b.available, b.read_at, c.adapter_version, c.passed, c.checked_at, c.summary, c.untried
    FROM rail_contracts r
    LEFT JOIN rail_progress b USING (organisation_id, environment, rail)
    LEFT JOIN LATERAL (
      SELECT adapter_version, passed, checked_at, report->'summary' AS summary, report->'untried' AS untried
      FROM rail_checks c
      WHERE c.organisation_id = r.organisation_id AND c.contract_id = r.id AND c.credentials_version = r.version
      ORDER BY checked_at DESC LIMIT 1
    ) c ON true
    WHERE r.disconnected_at IS NULL ORDER BY r.organisation_id, r.environment`;

/** The connected contract of a book; null: none. */
export async function findContract(sql: Sql, { organisationId, environment }: Book): Promise<StoredContract | null> {
  const contracts = await listContracts(sql);
  return contracts.find((one) => one.organisationId === organisationId && one.environment === environment) ?? null;
}

/** The sealed credentials of a contract, and their version; null: it is not connected any more. */
export const findSealedCredentials = (
  sql: Sql,
  { organisationId, id }: Pick<StoredContract, 'organisationId' | 'id'>,
): Promise<{ sealed: string; version: number } | null> =>
  firstOf(sql<{ sealed: string; version: number }[]>`
    SELECT sealed, version FROM rail_contracts
    WHERE organisation_id = ${organisationId} AND id = ${id} AND sealed IS NOT NULL`);

/** What is written of a contract: its credentials are sealed already. */
export type SealedContract = Pick<StoredContract, 'id' | 'rail'> & { sealed: string };

/** False: another contract is connected, and nothing was written. */
export async function connectContract(
  sql: Sql,
  { organisationId, environment }: Book,
  { id, rail, sealed }: SealedContract,
  note: AuditNote,
): Promise<boolean> {
  const connecting = sql`
      INSERT INTO rail_contracts (organisation_id, environment, id, rail, sealed)
      VALUES (${organisationId}, ${environment}, ${id}, ${rail}, ${sealed})
      ON CONFLICT DO NOTHING RETURNING organisation_id, environment`;
  return await audited(sql, 'rail.connect', note, connecting);
}

/** Replaces the credentials. False: the contract is not connected any more. */
export async function rotateContract(
  sql: Sql,
  { organisationId, environment }: Book,
  { id, sealed }: SealedContract,
  note: AuditNote,
): Promise<boolean> {
  const rotating = sql`
      UPDATE rail_contracts SET version = version + 1, sealed = ${sealed}
      WHERE organisation_id = ${organisationId} AND environment = ${environment} AND id = ${id} AND disconnected_at IS NULL
      RETURNING organisation_id, environment`;
  return await audited(sql, 'rail.rotate', note, rotating);
}

/** `closing`: nothing new is accepted, and this much is still on its way. */
export type Disconnection = { outcome: 'disconnected' } | { outcome: 'closing'; onItsWay: number };

/**
 * Closes a contract: it accepts nothing new. Disconnects it, and removes its credentials, if nothing is on its way and
 * every process knows that it is closed; else it must be called again.
 */
export async function disconnectContract(
  sql: Sql,
  { organisationId, environment }: Book,
  { id, rail }: Pick<StoredContract, 'id' | 'rail'>,
  note: AuditNote,
): Promise<Disconnection> {
  await audited(
    sql,
    'rail.close',
    note,
    sql`
      UPDATE rail_contracts SET closing_at = now()
      WHERE organisation_id = ${organisationId} AND id = ${id} AND closing_at IS NULL AND disconnected_at IS NULL
      RETURNING organisation_id, environment`,
  );
  const book = sql`organisation_id = ${organisationId} AND environment = ${environment}`;
  const onItsWay = sql`(
      SELECT (SELECT count(*) FROM withdrawals WHERE ${book} AND rail = ${rail} AND status = 'processing')
           + (SELECT count(*) FROM refunds WHERE ${book} AND rail = ${rail} AND status = 'processing')
           + (SELECT count(*) FROM payout_items WHERE ${book} AND rail = ${rail} AND status IN ('pending', 'processing'))
           + (SELECT count(*) FROM review_cases WHERE ${book} AND rail = ${rail} AND status = 'returning')
           + (SELECT count(*) FROM inbound_credits WHERE ${book} AND rail = ${rail} AND 'received' IN (status, recall))
           + (SELECT count(*) FROM payments p
              WHERE ${book} AND status IN ('pending', 'partial') AND method = 'bank_transfer'))`;
  const disconnecting = sql`
      UPDATE rail_contracts SET disconnected_at = now(), sealed = NULL
      WHERE organisation_id = ${organisationId} AND id = ${id} AND disconnected_at IS NULL
        AND closing_at < now() - make_interval(secs => ${CONTRACT_IN_USE_FOR_MS / 1000}) AND ${onItsWay} = 0
      RETURNING organisation_id, environment`;
  if (await audited(sql, 'rail.disconnect', note, disconnecting)) return { outcome: 'disconnected' };
  const [left] = await sql<{ count: number }[]>`SELECT ${onItsWay}::int AS count`;
  return { outcome: 'closing', onItsWay: left?.count ?? 0 };
}

/** Stores the report of a contract, as it was with the credentials of this version. */
export async function insertRailCheck(
  sql: Sql,
  { organisationId, environment, id }: Pick<StoredContract, 'organisationId' | 'environment' | 'id'>,
  credentialsVersion: number,
  report: CheckReport,
  note: AuditNote,
): Promise<void> {
  const { adapterVersion, passed } = report;
  const inserting = sql`
      INSERT INTO rail_checks (organisation_id, environment, id, contract_id, credentials_version, adapter_version, passed, report)
      VALUES (${organisationId}, ${environment}, ${newUuid()}, ${id}, ${credentialsVersion}, ${adapterVersion},
              ${passed}, ${JSON.stringify(report)}::text::jsonb)
      RETURNING organisation_id, environment`;
  await audited(sql, 'rail.check', note, inserting);
}

/** Stores what a rail can pay out: for operators and alerts, not for decisions. */
export async function saveRailBalance(
  sql: Sql,
  { organisationId, environment }: Book,
  rail: string,
  available: Kobo,
): Promise<void> {
  await sql`
    INSERT INTO rail_progress (organisation_id, environment, rail, available, read_at)
    VALUES (${organisationId}, ${environment}, ${rail}, ${available}, now())
    ON CONFLICT (organisation_id, environment, rail)
    DO UPDATE SET available = excluded.available, read_at = excluded.read_at`;
}
