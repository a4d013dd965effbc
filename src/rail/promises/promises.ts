// The promises of a rail, in the order in which they are tried: what needs no money first, the limit of calls last.
import { accountPromises } from './accounts.ts';
import { authPromises } from './auth.ts';
import { callbackPromises } from './callbacks.ts';
import { controlledTransferPromises } from './controlledTransfers.ts';
import { creditPromises } from './credits.ts';
import { listPromises } from './lists.ts';
import type { RailPromise } from './promise.ts';
import { limitPromises, readingPromises } from './reading.ts';
import { statementPromises } from './statement.ts';
import { transferPromises } from './transfers.ts';

/** All, for a fake of a provider. */
export const PROMISES: readonly RailPromise[] = [
  ...authPromises,
  ...readingPromises,
  ...accountPromises,
  ...creditPromises,
  ...transferPromises,
  ...controlledTransferPromises,
  ...callbackPromises,
  ...statementPromises,
  ...listPromises,
  ...limitPromises,
];

/** Those that a real provider can be tried with: `rail check`. */
export const CHECKS: readonly RailPromise[] = PROMISES.filter(({ needs }) => !needs.includes('control'));
