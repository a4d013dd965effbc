// The promises that a real provider can be tried with (`rail check`), in the order in which they are tried: what needs
// no money first, the limit of calls last.
import { accountPromises } from './accounts.ts';
import { authPromises } from './auth.ts';
import { creditPromises } from './credits.ts';
import type { RailPromise } from './promise.ts';
import { limitPromises, readingPromises } from './reading.ts';
import { statementPromises } from './statement.ts';
import { transferPromises } from './transfers.ts';

export const CHECKS: readonly RailPromise[] = [
  ...authPromises,
  ...readingPromises,
  ...accountPromises,
  ...creditPromises,
  ...transferPromises,
  ...statementPromises,
  ...limitPromises,
];
