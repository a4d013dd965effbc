// Collects the request log in memory and writes it in batches, so that no request waits for it. It is no audit trail: a
// crash loses the last second, an outage of the database what was answered meanwhile.
import type { Sql } from '../database/pool.ts';
import type { Uuid } from '../ids.ts';
import type { Book } from '../money.ts';
import { insertRequestLogs, type LoggedRequest } from '../resources/requestLogs.ts';
import type { Log } from '../telemetry/log.ts';
import { requestLogsLost } from '../telemetry/metrics.ts';

const FLUSH_EVERY_MS = 1_000;
/** Rows of one statement. */
const BATCH_MAX = 1_000;
/** Rows in memory: about 5 MB. Beyond it, requests are answered and not logged. */
const PENDING_MAX = 10_000;

export type LogEntry = LoggedRequest & Book & { keyId: Uuid };

export type RequestLog = ReturnType<typeof createRequestLog>;

/** `isKept`: false where no request log is wanted. */
export function createRequestLog(asyncCommitSql: Sql, log: Log, isKept: boolean) {
  let pending: LogEntry[] = [];
  let timer: NodeJS.Timeout | undefined;
  let flushing = Promise.resolve();

  async function write(): Promise<void> {
    const written = pending;
    pending = [];
    for (const [keyId, entries] of Map.groupBy(written, (entry) => entry.keyId)) {
      for (let from = 0; from < entries.length; from += BATCH_MAX) {
        const batch = entries.slice(from, from + BATCH_MAX);
        try {
          await insertRequestLogs(asyncCommitSql, entries[0] as LogEntry, keyId, batch);
        } catch (error) {
          requestLogsLost.inc(batch.length);
          log.warn({ err: error, requests: batch.length }, 'could not write the request log');
        }
      }
    }
  }

  /** Writes what is in memory. One call after the other: a slow database must not get more and more statements. */
  function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    flushing = flushing.then(write);
    return flushing;
  }

  function add(entry: LogEntry): void {
    if (!isKept) return;
    if (pending.length >= PENDING_MAX) {
      requestLogsLost.inc();
      return;
    }
    pending.push(entry);
    timer ??= setTimeout(() => void flush(), FLUSH_EVERY_MS).unref();
  }

  return { add, flush };
}
