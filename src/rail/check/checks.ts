// The checks in their order: what needs no money first, the limit of calls last.
import { accountChecks } from './accounts.ts';
import { authChecks } from './auth.ts';
import type { RailCheck } from './check.ts';
import { callbackChecks, creditChecks } from './credits.ts';
import { limitChecks, readingChecks } from './reading.ts';
import { statementChecks } from './statement.ts';
import { transferChecks } from './transfers.ts';

export const CHECKS: readonly RailCheck[] = [
  ...authChecks,
  ...readingChecks,
  ...accountChecks,
  ...creditChecks,
  ...transferChecks,
  ...callbackChecks,
  ...statementChecks,
  ...limitChecks,
];
