// Verifies the books: the ledger in itself, and the resources against the ledger.
import type { Sql } from '../database/pool.ts';
import { type Verification, type VerificationOptions, verifyLedger } from '../ledger/verify.ts';
import { checkResources } from './resources.ts';

/** Verifies all books on one read-only snapshot. When the database is unavailable it throws the error of the driver. */
export const verifyBooks = (sql: Sql, options: VerificationOptions = {}): Promise<Verification> =>
  verifyLedger(sql, { ...options, checkResources });
