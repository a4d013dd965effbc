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

export class RequestLog {
  readonly #sql: Sql;
  readonly #log: Log;
  readonly #isKept: boolean;
  #pending: LogEntry[] = [];
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> = Promise.resolve();

  /** `isKept`: false where no request log is wanted. */
  constructor(asyncCommitSql: Sql, log: Log, isKept: boolean) {
    this.#sql = asyncCommitSql;
    this.#log = log;
    this.#isKept = isKept;
  }

  add(entry: LogEntry): void {
    if (!this.#isKept) return;
    if (this.#pending.length >= PENDING_MAX) {
      requestLogsLost.inc();
      return;
    }
    this.#pending.push(entry);
    this.#timer ??= setTimeout(() => void this.flush(), FLUSH_EVERY_MS).unref();
  }

  /** Writes what is in memory. One call after the other: a slow database must not get more and more statements. */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#flushing = this.#flushing.then(() => this.#write());
    return this.#flushing;
  }

  async #write(): Promise<void> {
    const pending = this.#pending;
    this.#pending = [];
    for (const [keyId, entries] of Map.groupBy(pending, (entry) => entry.keyId)) {
      for (let from = 0; from < entries.length; from += BATCH_MAX) {
        const batch = entries.slice(from, from + BATCH_MAX);
        try {
          await insertRequestLogs(this.#sql, entries[0] as LogEntry, keyId, batch);
        } catch (error) {
          requestLogsLost.inc(batch.length);
          this.#log.warn({ err: error, requests: batch.length }, 'could not write the request log');
        }
      }
    }
  }
}
