// Operators: who may use the command line and decide about parked flows. An operator signs in to the command line with
// a key, and to a workflow with a short code that the key made. Both are stored as their SHA-256. Each change is one
// statement that also writes the audit entry.
import { createHash, randomBytes } from 'node:crypto';
import type { Sql } from '../database/pool.ts';
import { ALL_ORGANISATIONS, BASE32_DIGITS, publicId, requireUuid, type Uuid } from '../ids.ts';
import type { AuditRow, Movement } from '../ledger/movement.ts';
import type { AuditEntry, Identified, OperatorCode, OperatorScope } from '../workflows/operators/messages.ts';

/** Who acts, for the audit log. */
export interface Operator {
  /** Null: the database owner, before there is an admin. */
  id: Uuid | null;
  name: string;
}

export interface OperatorRow {
  id: Uuid;
  name: string;
  scopes: OperatorScope[];
  /** The last four characters of the key. */
  hint: string;
  createdAt: Date;
  revokedAt: Date | null;
  lastUsedAt: Date | null;
}

interface NewKey {
  hash: Buffer;
  hint: string;
}

/** All operators by name, revoked ones included. */
export async function listOperators(sql: Sql): Promise<OperatorRow[]> {
  return await sql<OperatorRow[]>`
    SELECT id, name, scopes, hint, created_at, revoked_at, last_used_at
    FROM operators WHERE organisation_id = ${ALL_ORGANISATIONS} ORDER BY name`;
}

/** Whether an operator can create others. */
export async function hasAdmin(sql: Sql): Promise<boolean> {
  const rows = await sql`
    SELECT FROM operators
    WHERE organisation_id = ${ALL_ORGANISATIONS} AND revoked_at IS NULL AND 'admin' = ANY (scopes) LIMIT 1`;
  return rows.length > 0;
}

/** Returns the operator of a key and records its use; null for a key that does not exist or is revoked. */
export async function findOperatorByKey(
  sql: Sql,
  hash: Buffer,
): Promise<{ id: Uuid; name: string; scopes: OperatorScope[] } | null> {
  const [row] = await sql<{ id: Uuid; name: string; scopes: OperatorScope[] }[]>`
    UPDATE operators SET last_used_at = now()
    WHERE organisation_id = ${ALL_ORGANISATIONS} AND key_hash = ${hash} AND revoked_at IS NULL
    RETURNING id, name, scopes`;
  return row ?? null;
}

/** The hash of an operator's key; null for an operator that does not exist or is revoked. */
export async function keyHashOf(sql: Sql, id: Uuid): Promise<Buffer | null> {
  const [row] = await sql<{ keyHash: Buffer }[]>`
    SELECT key_hash FROM operators
    WHERE organisation_id = ${ALL_ORGANISATIONS} AND id = ${id} AND revoked_at IS NULL`;
  return row?.keyHash ?? null;
}

/** Returns false when the name is taken, also by a revoked operator. */
export async function insertOperator(
  sql: Sql,
  operator: { id: Uuid; name: string; scopes: readonly OperatorScope[]; key: NewKey },
  by: Operator,
): Promise<boolean> {
  const { id, name, scopes, key } = operator;
  const rows = await sql`
    WITH created AS (
      INSERT INTO operators (id, name, scopes, key_hash, hint)
      VALUES (${id}, ${name}, ${scopes as OperatorScope[]}, ${key.hash}, ${key.hint})
      ON CONFLICT (organisation_id, name) DO NOTHING RETURNING organisation_id, scopes
    )
    INSERT INTO audit_log (organisation_id, operator_id, operator, action, subject, reason)
    SELECT organisation_id, ${by.id}, ${by.name}, 'operator.create', ${publicId('operator', id)},
           array_to_string(scopes, ', ')
    FROM created RETURNING id`;
  return rows.length > 0;
}

/** Replaces the key of an operator; the old one ends at once. Returns null when there is no such operator in use. */
export async function replaceOperatorKey(sql: Sql, name: string, key: NewKey, by: Operator): Promise<Uuid | null> {
  return await change(sql, 'operator.rotate', name, sql`key_hash = ${key.hash}, hint = ${key.hint}`, by, null);
}

/** Revokes an operator, with key and codes. Returns null when there is no such operator in use. */
export async function revokeOperator(
  sql: Sql,
  name: string,
  reason: string | null,
  by: Operator,
): Promise<Uuid | null> {
  return await change(sql, 'operator.revoke', name, sql`revoked_at = now()`, by, reason);
}

async function change(
  sql: Sql,
  action: string,
  name: string,
  assignments: ReturnType<Sql>,
  by: Operator,
  reason: string | null,
): Promise<Uuid | null> {
  const [row] = await sql<{ id: Uuid }[]>`
    WITH changed AS (
      UPDATE operators SET ${assignments}
      WHERE organisation_id = ${ALL_ORGANISATIONS} AND name = ${name} AND revoked_at IS NULL
      RETURNING organisation_id, id
    ), audited AS (
      INSERT INTO audit_log (organisation_id, operator_id, operator, action, subject, reason)
      SELECT organisation_id, ${by.id}, ${by.name}, ${action}, ledger.public_id(id, 'opr'), ${reason} FROM changed
    )
    SELECT id FROM changed`;
  return row?.id ?? null;
}

/** Adds the audit entries of a decision to the movement that carries it out, so that both are written or neither. */
export function withAudit(movement: Movement, subject: string, entries: readonly AuditEntry[]): Movement {
  if (entries.length === 0) return movement;
  const rows = entries.map(
    ({ operator, action, reason }): AuditRow => ({
      operatorId: requireUuid('operator', operator),
      action,
      subject,
      reason,
    }),
  );
  return { ...movement, rows: { ...movement.rows, audit_log: rows } };
}

/** 60 bits: too many to find one from its hash while it is valid. */
const CODE_LENGTH = 12;
/** Time to paste it into the Temporal UI. */
const CODE_MINUTES = 10;

/** Groups, upper case and what else a person adds do not matter. */
const hashCode = (code: string): string =>
  createHash('sha256')
    .update(code.toLowerCase().replaceAll(/[^0-9a-z]/g, ''))
    .digest('hex');

function newCode(): string {
  const digits = Array.from(randomBytes(CODE_LENGTH), (byte) => BASE32_DIGITS[byte % BASE32_DIGITS.length]);
  return digits.join('').replaceAll(/(.{4})(?=.)/g, '$1-');
}

/**
 * Makes a code for each workflow, with which the operator makes one decision there. Removes codes that have expired.
 */
export async function createOperatorCodes<Id extends string>(
  sql: Sql,
  operatorId: Uuid,
  workflowIds: readonly Id[],
): Promise<{ codes: Map<Id, string>; expiresAt: Date }> {
  const codes = new Map(workflowIds.map((id) => [id, newCode()]));
  const [row] = await sql<{ expiresAt: Date }[]>`
    WITH expired AS (DELETE FROM operator_codes WHERE organisation_id = ${ALL_ORGANISATIONS} AND expires_at < now())
    INSERT INTO operator_codes (operator_id, workflow_id, hash, expires_at)
    SELECT ${operatorId}::uuid, c.workflow_id, decode(c.hash, 'hex'), now() + ${CODE_MINUTES} * interval '1 minute'
    FROM unnest(${[...codes.keys()]}::text[], ${[...codes.values()].map(hashCode)}::text[]) AS c (workflow_id, hash)
    RETURNING expires_at`;
  return { codes, expiresAt: row?.expiresAt ?? new Date() };
}

/** What a batch's code is valid for, instead of a workflow. No workflow has such an id. */
const batchSubject = (batch: string): string => `batch:${batch}`;

/** Longer than a batch of 100,000 signals takes, at the server's 50 a second. */
const BATCH_MINUTES = 60;

/**
 * Makes a code with which the operator retries the flows of one batch operation, and writes the audit entry, in one
 * statement.
 */
export async function createBatchCode(
  sql: Sql,
  operator: Operator & { id: Uuid },
  { batch, query, reason }: { batch: string; query: string; reason: string },
): Promise<string> {
  const code = newCode();
  await sql`
    WITH code AS (
      INSERT INTO operator_codes (operator_id, workflow_id, hash, expires_at)
      VALUES (${operator.id}, ${batchSubject(batch)}, decode(${hashCode(code)}, 'hex'),
              now() + ${BATCH_MINUTES} * interval '1 minute')
    )
    INSERT INTO audit_log (organisation_id, operator_id, operator, action, subject, reason)
    VALUES (${ALL_ORGANISATIONS}, ${operator.id}, ${operator.name}, 'attention.retry', ${batchSubject(batch)},
            ${`${reason} (${query})`})`;
  return code;
}

/**
 * Returns the operator whose code it is. The first decision that a code is used for is kept: the code is valid for it
 * again, because a message may be handled twice, and for no other.
 */
export async function identifyOperator(
  sql: Sql,
  { code, workflowId, batch, scope, decision }: OperatorCode,
): Promise<Identified> {
  const [found] = await sql<{ id: Uuid; isValid: boolean; hasScope: boolean; usedFor: string | null }[]>`
    WITH found AS (
      SELECT c.hash, c.used_for, o.id, c.expires_at > now() AND o.revoked_at IS NULL AS is_valid,
             ${scope} = 'view' OR ${scope} = ANY (o.scopes) AS has_scope
      FROM operator_codes c JOIN operators o ON o.organisation_id = c.organisation_id AND o.id = c.operator_id
      WHERE c.organisation_id = ${ALL_ORGANISATIONS} AND c.hash = decode(${hashCode(code)}, 'hex') AND c.workflow_id = ${batch === undefined ? workflowId : batchSubject(batch)}
      FOR UPDATE OF c
    ), used AS (
      UPDATE operator_codes c SET used_for = ${decision} FROM found f
      WHERE c.organisation_id = ${ALL_ORGANISATIONS} AND c.hash = f.hash AND f.is_valid AND f.has_scope
        AND f.used_for IS NULL
    )
    SELECT id, is_valid, has_scope, used_for FROM found`;
  const make = `Make a new one: npm run cli -- operators code ${workflowId}`;
  if (!found?.isValid) return { refusal: `This code is not valid, or no longer, for this workflow. ${make}` };
  if (!found.hasScope) return { refusal: `This needs an operator with the scope ${scope}, which yours has not.` };
  if (found.usedFor !== null && found.usedFor !== decision) {
    return { refusal: `This code was used for another decision, ${found.usedFor}. ${make}` };
  }
  return { operator: publicId('operator', found.id) };
}
