// Verifies the books: the ledger in itself, the resources against the ledger, and history against its seals.
import type { Sql } from '../database/pool.ts';
import { type Verification, type VerificationOptions, verifyLedger } from '../ledger/verify.ts';
import { checkResources } from './resources.ts';
import { checkSeals, type Seal } from './seals.ts';

/**
 * Verifies all books. `publishedSeals`: copies from outside of the database, to compare. When the database is
 * unavailable it throws the error of the driver.
 */
export async function verifyBooks(
  sql: Sql,
  { publishedSeals, ...options }: VerificationOptions & { publishedSeals?: readonly Seal[] } = {},
): Promise<Verification> {
  const verification = await verifyLedger(sql, { ...options, checkResources });
  return { ...verification, findings: [...verification.findings, ...(await checkSeals(sql, publishedSeals))] };
}
