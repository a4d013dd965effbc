// Reports of `rail check`, each with its audit log entry in the same statement.
import type { Sql } from '../../database/pool.ts';
import { newUuid } from '../../ids.ts';
import type { CheckReport } from '../../rail/promises/report.ts';
import { type AuditNote, audited } from './audit.ts';
import type { StoredContract } from './contracts.ts';

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
