// The one logger: JSON lines on standard output. Names, account numbers, BVNs and keys are never passed to it.
import { AsyncLocalStorage } from 'node:async_hooks';
import { type DestinationStream, type Logger, pino } from 'pino';

export type Log = Logger;

const ids = new AsyncLocalStorage<Readonly<Record<string, unknown>>>();

/** Every line that is logged while `work` runs, however deep inside, carries these ids: of the workflow, the activity … */
export function withLogIds<Result>(carried: Readonly<Record<string, unknown>>, work: () => Result): Result {
  return ids.run(carried, work);
}

/** A logger for one process; `part` tells its lines from the other processes' (`api`, `worker`). */
export function createLog(part: string, level: string, destination?: DestinationStream): Log {
  return pino(
    { level, base: { part }, timestamp: pino.stdTimeFunctions.isoTime, mixin: () => ids.getStore() ?? {} },
    destination ?? pino.destination(1),
  );
}
