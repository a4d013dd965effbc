// The promises of a rail, in the order in which they are tried: what needs no money first, the limit of calls last.
import { accountPromises, controlledAccountPromises } from './accounts.ts';
import { authPromises } from './auth.ts';
import { callbackPromises, controlledCallbackPromises } from './callbacks.ts';
import { controlledTransferPromises } from './controlledTransfers.ts';
import { controlledCreditPromises, creditPromises } from './credits.ts';
import type { RailPromise } from './promise.ts';
import { limitPromises, readingPromises } from './reading.ts';
import { controlledStatementPromises, statementPromises } from './statement.ts';
import { transferPromises } from './transfers.ts';

/** Those that a real provider can be tried with: `rail check`. */
export const CHECKS: readonly RailPromise[] = [
  ...authPromises,
  ...readingPromises,
  ...accountPromises,
  ...creditPromises,
  ...transferPromises,
  ...callbackPromises,
  ...statementPromises,
  ...limitPromises,
];

/** All, for a fake of a provider. */
export const PROMISES: readonly RailPromise[] = [
  ...CHECKS,
  ...controlledAccountPromises,
  ...controlledCreditPromises,
  ...controlledTransferPromises,
  ...controlledCallbackPromises,
  ...controlledStatementPromises,
];
