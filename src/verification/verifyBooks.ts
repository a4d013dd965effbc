// What `ledger verify` checks: the ledger in itself, the resources against the ledger, and history against its seals.
import type { Sql } from '../database/pool.ts';
import { accountCheck } from './accounts.ts';
import { balanceBreakCheck, bankBalanceCheck, safeguardingCheck } from './bankBalances.ts';
import { debtCheck, holdCheck } from './besideWallets.ts';
import { decisionCheck } from './decisions.ts';
import { paymentCheck } from './payments.ts';
import { linkCheck, postingCheck, reversalCheck } from './postings.ts';
import { resourceChecks, transactionCheck } from './resources.ts';
import { findMissingSeals, type Seal, sealCheck } from './seals.ts';
import { suspenseChecks } from './suspense.ts';
import { type Verification, type VerificationOptions, verify } from './verify.ts';

/** The checks of the ledger in itself, without the resources. */
const LEDGER_CHECKS = [postingCheck, linkCheck, accountCheck, debtCheck, reversalCheck];

/** Verifies the ledger of all books in itself. */
export const verifyLedger = (sql: Sql, options: VerificationOptions = {}): Promise<Verification> =>
  verify(sql, LEDGER_CHECKS, options);

/**
 * Verifies all books: each check is run on the books of every organisation, the longest first. `publishedSeals`:
 * copies from outside of the database to compare with. When the database is unavailable it throws the error of the
 * driver.
 */
export async function verifyBooks(
  sql: Sql,
  { publishedSeals = [], ...options }: VerificationOptions & { publishedSeals?: readonly Seal[] } = {},
): Promise<Verification> {
  const checks = [
    ...resourceChecks,
    sealCheck(publishedSeals),
    ...LEDGER_CHECKS,
    transactionCheck,
    paymentCheck,
    holdCheck,
    ...suspenseChecks,
    bankBalanceCheck,
    balanceBreakCheck,
    safeguardingCheck,
    decisionCheck,
  ];
  const verification = await verify(sql, checks, options);
  const missing = await findMissingSeals(sql, publishedSeals);
  return { ...verification, findings: [...verification.findings, ...missing] };
}
