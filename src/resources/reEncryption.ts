// Re-encryption of what is sealed with the keyring, so that its older keys can be retired. Each step is one statement
// for some rows of one organisation, so it can be stopped at any time and run again: what is done is done.
import type { Sql } from '../database/pool.ts';
import { ALL_ORGANISATIONS, type Uuid } from '../ids.ts';
import { type KeyPurpose, type Keyring, keyIdOf } from '../keyring.ts';
import type { Environment } from '../money.ts';
import type { Proof } from './proofs.ts';
import { bvnIndexes } from './wallets/kyc.ts';

/** Every column with sealed values; the id of the row is the context of its seal. The index of a BVN follows. */
export const SEALED_COLUMNS: readonly { table: string; id: string; column: string; purpose: KeyPurpose }[] = [
  { table: 'wallet_kyc', id: 'wallet_id', column: 'sealed', purpose: 'kyc' },
  { table: 'webhook_endpoints', id: 'id', column: 'sealed_secret', purpose: 'webhook-secret' },
  { table: 'webhook_endpoints', id: 'id', column: 'sealed_previous_secret', purpose: 'webhook-secret' },
  { table: 'reconciliation_breaks', id: 'id', column: 'sealed_row', purpose: 'rail-row' },
  { table: 'rail_contracts', id: 'id', column: 'sealed', purpose: 'rail-credentials' },
];

const STEP_ROWS = 500;

/** How many values each key has sealed, by its id. */
export async function countSealed(sql: Sql): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { table, column } of SEALED_COLUMNS) {
    const rows = await sql<{ keyId: string; count: number }[]>`
      SELECT split_part(${sql(column)}, '.', 1) AS key_id, count(*)::integer AS count FROM ${sql(table)}
      WHERE ${sql(column)} IS NOT NULL GROUP BY 1`;
    for (const { keyId, count } of rows) counts.set(keyId, (counts.get(keyId) ?? 0) + count);
  }
  return counts;
}

/** Writes to the audit log who has begun to seal this many values with this key. */
export async function recordReEncryption(sql: Sql, proof: Proof, keyId: string, count: number): Promise<void> {
  await sql`
    SELECT ledger.audit(${ALL_ORGANISATIONS}, NULL, ${proof}, 'keyring.re_encrypt', ${keyId}, ${`${count} values`})`;
}

/** A value that no key of the keyring opens. */
export interface UnreadableValue {
  table: string;
  id: Uuid;
  error: string;
}

/**
 * Seals with the newest key what another key of the keyring has sealed. Calls `onStep` with the number of values that
 * each step has sealed. Returns the values that cannot be opened, which stay as they are.
 */
export async function reEncrypt(
  sql: Sql,
  keyring: Keyring,
  organisationIds: readonly Uuid[],
  onStep: (count: number) => void,
): Promise<UnreadableValue[]> {
  const unreadable: UnreadableValue[] = [];
  for (const organisationId of organisationIds) {
    for (const { table, id: idColumn, column, purpose } of SEALED_COLUMNS) {
      // The nil id is before every other.
      for (let after: Uuid | undefined = ALL_ORGANISATIONS; after !== undefined; ) {
        const rows: { id: Uuid; environment: Environment; sealed: string | null }[] = await sql`
          SELECT ${sql(idColumn)} AS id, environment, ${sql(column)} AS sealed FROM ${sql(table)}
          WHERE organisation_id = ${organisationId} AND ${sql(idColumn)} > ${after}
          ORDER BY ${sql(idColumn)} LIMIT ${STEP_ROWS}`;
        const changes: { id: Uuid; old: string; sealed: string; bvnIndex: string | null }[] = [];
        for (const { id, environment, sealed: old } of rows) {
          if (old === null || keyIdOf(old) === keyring.keyIds[0]) continue;
          try {
            const text = keyring.open(purpose, id, old);
            const book = { organisationId, environment };
            const bvnIndex = purpose === 'kyc' ? (bvnIndexes(keyring, book, JSON.parse(text).bvn)[0] ?? null) : null;
            changes.push({ id, old, sealed: keyring.seal(purpose, id, text), bvnIndex });
          } catch (error) {
            unreadable.push({ table, id, error: (error as Error).message });
          }
        }
        // What the service has written meanwhile stays.
        if (changes.length > 0) {
          await sql`
            UPDATE ${sql(table)} t SET ${sql(column)} = c.sealed ${purpose === 'kyc' ? sql`, bvn_index = c.bvn_index` : sql``}
            FROM unnest(${changes.map(({ id }) => id)}::uuid[], ${changes.map(({ old }) => old)}::text[],
                        ${changes.map(({ sealed }) => sealed)}::text[],
                        ${changes.map(({ bvnIndex }) => bvnIndex)}::text[]) AS c (id, old, sealed, bvn_index)
            WHERE t.organisation_id = ${organisationId} AND t.${sql(idColumn)} = c.id AND t.${sql(column)} = c.old`;
          onStep(changes.length);
        }
        after = rows.length === STEP_ROWS ? rows.at(-1)?.id : undefined;
      }
    }
  }
  return unreadable;
}
