// Verifies the books: the ledger in itself, the resources against the ledger, and history against its seals.
import type { Sql } from '../database/pool.ts';
import { bookChecks } from '../ledger/bookChecks.ts';
import { type Verification, type VerificationOptions, verify } from '../ledger/verify.ts';
import { bankBalanceCheck } from './bankBalances.ts';
import { resourceChecks, transactionCheck } from './resources.ts';
import { findMissingSeals, type Seal, sealCheck } from './seals.ts';
import { heldInSuspense, suspenseCheck } from './suspense.ts';

/** What `verifyBooks` can compare with, besides the options of every verification. */
interface BooksOptions extends VerificationOptions {
  /** Copies of seals from outside of the database. */
  publishedSeals?: readonly Seal[];
}

/**
 * Verifies all books: each check is run on the books of every organisation, the longest first. When the database is
 * unavailable it throws the error of the driver.
 */
export async function verifyBooks(
  sql: Sql,
  { publishedSeals = [], ...options }: BooksOptions = {},
): Promise<Verification> {
  const checks = [
    ...resourceChecks,
    sealCheck(publishedSeals),
    ...bookChecks(heldInSuspense),
    transactionCheck,
    suspenseCheck,
    bankBalanceCheck,
  ];
  const verification = await verify(sql, checks, options);
  const missing = await findMissingSeals(sql, publishedSeals);
  return { ...verification, findings: [...verification.findings, ...missing] };
}
