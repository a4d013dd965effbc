// Verifies the books: the ledger in itself, the resources against the ledger, and history against its seals.
import type { Sql } from '../database/pool.ts';
import { bookChecks } from '../ledger/bookChecks.ts';
import { type Verification, type VerificationOptions, verify } from '../ledger/verify.ts';
import { bankBalanceCheck } from './bankBalances.ts';
import { resourceCheck, transactionCheck } from './resources.ts';
import { checkSeals, type Seal } from './seals.ts';
import { heldInSuspense, suspenseCheck } from './suspense.ts';

/**
 * Each is run on the books of every organisation. The resources are compared with the postings that were read before.
 */
const CHECKS = [
  ...bookChecks(heldInSuspense),
  resourceCheck,
  transactionCheck,
  suspenseCheck,
  bankBalanceCheck,
] as const;

/**
 * Verifies all books. `publishedSeals`: copies from outside of the database, to compare. When the database is
 * unavailable it throws the error of the driver.
 */
export async function verifyBooks(
  sql: Sql,
  { publishedSeals, ...options }: VerificationOptions & { publishedSeals?: readonly Seal[] } = {},
): Promise<Verification> {
  const verification = await verify(sql, CHECKS, options);
  return { ...verification, findings: [...verification.findings, ...(await checkSeals(sql, publishedSeals))] };
}
