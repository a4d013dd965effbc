// The one logger: JSON lines on standard output. Names, account numbers, BVNs and keys are never passed to it.
import { AsyncLocalStorage } from 'node:async_hooks';
import { type DestinationStream, type Logger, pino } from 'pino';
import { currentTraceId } from './tracing.ts';

export type Log = Logger;

const ids = new AsyncLocalStorage<Readonly<Record<string, unknown>>>();

/** Every line that is logged while `work` runs, however deep inside, carries these ids: of the workflow, the activity … */
export function withLogIds<Result>(carried: Readonly<Record<string, unknown>>, work: () => Result): Result {
  return ids.run(carried, work);
}

/** A new object for each line: pino writes the line's own fields into it. */
function carriedIds(): object {
  const traceId = currentTraceId();
  return { ...ids.getStore(), ...(traceId !== undefined && { traceId }) };
}

/** Lines wait for so many bytes, or for so long, and are then written together: a write for each line is dear. */
const WRITE = { bytes: 4_096, everyMs: 100 };

/** A logger for one process; `part` tells its lines from the other processes' (`api`, `worker`). */
export function createLog(part: string, level: string, destination?: DestinationStream): Log {
  return pino(
    { level, base: { part }, timestamp: pino.stdTimeFunctions.isoTime, mixin: carriedIds },
    destination ?? pino.destination({ dest: 1, minLength: WRITE.bytes, periodicFlush: WRITE.everyMs }),
  );
}
