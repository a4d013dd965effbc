// Operators: who may use the command line and decide about parked flows. An operator proves who they are by a key on
// the command line, and to a workflow by a short code that the key made. The database checks both (proofs.ts).
import { randomBytes } from 'node:crypto';
import type { PendingQuery, Row } from 'postgres';
import { hasRow, rowOf, type Sql } from '../database/pool.ts';
import { ALL_ORGANISATIONS, BASE32_DIGITS, publicId, type Uuid } from '../ids.ts';
import type { Decision } from '../ledger/movement.ts';
import type { Book } from '../money.ts';
import type { DecisionOutcome, OperatorScope, SentDecision } from '../workflows/operators/messages.ts';
import { hashOfProof, type Proof, proofOfCode, proofOfOperator } from './proofs.ts';

/** An operator who has signed in. */
export interface Operator {
  id: Uuid;
  name: string;
  scopes: OperatorScope[];
  proof: Proof;
}

export interface OperatorRow extends Omit<Operator, 'proof'> {
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
export const listOperators = (sql: Sql): Promise<OperatorRow[]> => sql<OperatorRow[]>`
    SELECT id, name, scopes, hint, created_at, revoked_at, last_used_at
    FROM operators WHERE organisation_id = ${ALL_ORGANISATIONS} ORDER BY name`;

/** Whether an operator can create others. */
export const hasAdmin = (sql: Sql): Promise<boolean> =>
  hasRow(sql`
    SELECT FROM operators
    WHERE organisation_id = ${ALL_ORGANISATIONS} AND revoked_at IS NULL AND 'admin' = ANY (scopes) LIMIT 1`);

/** Returns the operator of a key and records its use; null for a key that does not exist or is revoked. */
export async function findOperatorByKey(sql: Sql, key: string): Promise<Operator | null> {
  const proof = proofOfOperator(key);
  const [row] = await sql<Omit<Operator, 'proof'>[]>`
    UPDATE operators SET last_used_at = now()
    WHERE organisation_id = ${ALL_ORGANISATIONS} AND key_hash = ${hashOfProof(proof)} AND revoked_at IS NULL
    RETURNING id, name, scopes`;
  return row === undefined ? null : { ...row, proof };
}

/** The hash of an operator's key; null for an operator that does not exist or is revoked. */
export async function keyHashOf(sql: Sql, id: Uuid): Promise<Buffer | null> {
  const [row] = await sql<{ keyHash: Buffer }[]>`
    SELECT key_hash FROM operators
    WHERE organisation_id = ${ALL_ORGANISATIONS} AND id = ${id} AND revoked_at IS NULL`;
  return row?.keyHash ?? null;
}

/** Returns false when the name is taken, also by a revoked operator. For the database's owner, like the next two. */
export async function insertOperator(
  sql: Sql,
  operator: { id: Uuid; name: string; scopes: readonly OperatorScope[]; key: NewKey },
  proof: Proof,
): Promise<boolean> {
  const { id, name, scopes, key } = operator;
  return await hasRow(sql`
    WITH created AS (
      INSERT INTO operators (id, name, scopes, key_hash, hint)
      VALUES (${id}, ${name}, ${scopes as OperatorScope[]}, ${key.hash}, ${key.hint})
      ON CONFLICT (organisation_id, name) DO NOTHING RETURNING organisation_id, scopes
    )
    SELECT ledger.audit(organisation_id, NULL, ${proof}, 'operator.create', ${publicId('operator', id)},
                        array_to_string(scopes, ', '))
    FROM created`);
}

/** Replaces the key of an operator; the old one, its codes and proposals end at once. Null: not in use. */
export async function replaceOperatorKey(sql: Sql, name: string, key: NewKey, proof: Proof): Promise<Uuid | null> {
  const replaced = sql`key_hash = ${key.hash}, hint = ${key.hint}, key_since = now()`;
  return await change(sql, 'operator.rotate', name, replaced, proof, null);
}

/** Revokes an operator, with key and codes. Returns null when there is no such operator in use. */
export async function revokeOperator(
  sql: Sql,
  name: string,
  reason: string | null,
  proof: Proof,
): Promise<Uuid | null> {
  return await change(sql, 'operator.revoke', name, sql`revoked_at = now()`, proof, reason);
}

async function change(
  sql: Sql,
  action: string,
  name: string,
  assignments: PendingQuery<Row[]>,
  proof: Proof,
  reason: string | null,
): Promise<Uuid | null> {
  const [row] = await sql<{ id: Uuid }[]>`
    WITH audited AS ( -- before the change: operators may change their own key
      SELECT id, ledger.audit(organisation_id, NULL, ${proof}, ${action}, ledger.public_id(id, 'opr'), ${reason})
      FROM operators WHERE organisation_id = ${ALL_ORGANISATIONS} AND name = ${name} AND revoked_at IS NULL FOR UPDATE
    ), changed AS (
      UPDATE operators o SET ${assignments} FROM audited a WHERE o.organisation_id = ${ALL_ORGANISATIONS} AND o.id = a.id
      RETURNING o.id
    ), ended AS (
      DELETE FROM operator_codes c USING audited a
      WHERE c.organisation_id = ${ALL_ORGANISATIONS} AND c.operator_id = a.id AND c.first_used_at IS NULL
    )
    SELECT id FROM changed`;
  return row?.id ?? null;
}

/** 60 bits: too many to find one from its hash while it is valid. */
const CODE_LENGTH = 12;
/** Time to paste it into the Temporal UI. */
const CODE_MINUTES = 10;

function newCode(): string {
  const digits = Array.from(randomBytes(CODE_LENGTH), (byte) => BASE32_DIGITS[byte % BASE32_DIGITS.length]);
  return digits.join('').replaceAll(/(.{4})(?=.)/g, '$1-');
}

/** A code for each workflow with which the operator makes this decision there, with the wallet it names. */
export async function createOperatorCodes<Id extends string>(
  sql: Sql,
  { proof }: Pick<Operator, 'proof'>,
  action: string,
  workflowIds: readonly Id[],
): Promise<{ codes: Map<Id, string>; expiresAt: Date }> {
  const codes = new Map(workflowIds.map((id) => [id, newCode()]));
  const { expiresAt } = await rowOf(sql<{ expiresAt: Date }[]>`
    SELECT ledger.create_operator_codes(
      ${proof}, ${action}, ${[...codes.keys()]}::text[], ${[...codes.values()].map(hashOfCode)}::text[],
      ${CODE_MINUTES} * interval '1 minute') AS expires_at`);
  return { codes, expiresAt };
}

const hashOfCode = (code: string): string => hashOfProof(proofOfCode(code)).toString('hex');

/** What a batch's code is valid for, instead of a workflow. No workflow has such an id. */
const batchSubject = (batch: string): string => `batch:${batch}`;

/** Longer than a batch of 100,000 signals takes, at the server's 50 a second. */
const BATCH_MINUTES = 60;

/** Makes a code to retry the flows of one batch operation, with its audit entry, in one statement. */
export async function createBatchCode(
  sql: Sql,
  { proof }: Pick<Operator, 'proof'>,
  { batch, query, reason }: { batch: string; query: string; reason: string },
): Promise<string> {
  const code = newCode();
  const subject = batchSubject(batch);
  await sql`
    SELECT ledger.create_operator_codes(
             ${proof}, 'retry', ARRAY[${subject}], ARRAY[${hashOfCode(code)}], ${BATCH_MINUTES} * interval '1 minute'),
           ledger.audit(${ALL_ORGANISATIONS}, NULL, ${proof}, 'attention.retry', ${subject}, ${`${reason} (${query})`})`;
  return code;
}

/** What a decision about a row is about: once the row has changed, it is another one. */
export const versionText = ({ version }: { version: number }): string => `version ${version}`;

/** A decision that an operator has sent to a workflow. */
export function decisionOf(
  { code, wallet, about, reason }: Pick<SentDecision, 'code' | 'wallet' | 'about' | 'reason'>,
  subject: string,
  action: string,
): Decision {
  return { proof: proofOfCode(code), subject, action, wallet, about, reason };
}

/** A decision without money. One by two is only asked: the movement that carries it out records it. */
export async function recordDecision(sql: Sql, book: Book, sent: SentDecision): Promise<DecisionOutcome> {
  const { proof, subject, action, about, reason } = decisionOf(sent, sent.subject, sent.action);
  const row = await rowOf(sql<{ code: string | null; detail: { because?: string; operator?: string } | null }[]>`
    SELECT code, detail FROM ledger.record_decision(
      ${book.organisationId}, ${book.environment}, ${proof}, ${subject}, ${action}, ${about ?? ''}, ${reason})`);
  if (row.code === null) return { outcome: 'accepted' };
  return row.code === 'DECISION_PROPOSED'
    ? { outcome: 'proposed', operator: row.detail?.operator ?? '' }
    : { outcome: 'refused', message: refusalText(row.detail ?? {}, sent) };
}

const REFUSALS: Readonly<Record<string, string>> = {
  unknown: 'This code is not valid, or no longer, for this workflow.',
  other: 'This code was made for another decision.',
  used: 'This code was used already.',
  scope: 'This needs an operator with another scope.',
  same_person: 'You requested this: another operator must approve it. You can reject it.',
};

/** Why a decision is refused, as a message that says what to do. */
export function refusalText(
  { because }: { because?: unknown },
  { subject, action }: Pick<Decision, 'subject' | 'action'>,
): string {
  const text = REFUSALS[String(because)] ?? `It is not proven who decides (${String(because)}).`;
  if (because === 'same_person' || because === 'scope') return text;
  return `${text} Make a new one: npm run cli -- operators code ${subject} ${action.replace(/^.*[:.]/, '')}`;
}
