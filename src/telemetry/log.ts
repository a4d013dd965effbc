// The logger of every process: JSON lines on standard output. Never log names, account numbers, BVNs or keys.
import { AsyncLocalStorage } from 'node:async_hooks';
import { type DestinationStream, type Logger, pino } from 'pino';
import { currentTraceId } from './tracing.ts';

export type Log = Logger;

const contextIds = new AsyncLocalStorage<Readonly<Record<string, unknown>>>();

/** Runs `work`; every line logged in its async context has these ids, such as those of a workflow or an activity. */
export const withLogIds = <Result>(ids: Readonly<Record<string, unknown>>, work: () => Result): Result =>
  contextIds.run(ids, work);

/** Returns a new object for each line, because pino adds the fields of the line to it. */
function contextFields(): object {
  const traceId = currentTraceId();
  return { ...contextIds.getStore(), ...(traceId !== undefined && { traceId }) };
}

/** Buffered: one write(2) per line is expensive. */
const BUFFER = { bytes: 4_096, flushEveryMs: 100 };

/** Creates the logger of a process. `part` (`api`, `worker`) is a field of each of its lines. */
export function createLog(part: string, level: string, destination?: DestinationStream): Log {
  return pino(
    { level, base: { part }, timestamp: pino.stdTimeFunctions.isoTime, mixin: contextFields },
    destination ?? pino.destination({ dest: 1, minLength: BUFFER.bytes, periodicFlush: BUFFER.flushEveryMs }),
  );
}
