// Health check of Temporal: whether it can start workflows, over a connection of its own.
import { Connection } from '@temporalio/client';
import type { Log } from '../telemetry/log.ts';
import { connectionOptions } from './connect.ts';
import { type FaultKind, faultLog, faultOfConnection, type SearchAttribute, type TemporalFault } from './faults.ts';
import { requireFlowsCanStart, requireSearchAttributes } from './namespace.ts';
import type { TemporalTarget } from './profile.ts';
import { followCredentials } from './rotation.ts';

export type TemporalStatus = 'ok' | FaultKind;

export interface TemporalHealthOptions {
  log: Log;
  timeoutMs: number;
  /** Asked for until the namespace has them. */
  searchAttributes: readonly SearchAttribute[];
  /** How often the credentials are read. */
  credentialsEveryMs?: number;
}

/**
 * Opens no connection before the first check. Logs when a check finds something new. A connection is closed only when
 * no check is in flight: the SDK retries a call from a timer, and a retry on a closed channel throws outside of any try
 * block.
 */
export function createTemporalHealth(target: TemporalTarget, options: TemporalHealthOptions) {
  const { log, timeoutMs, searchAttributes, credentialsEveryMs } = options;
  const report = faultLog(log);
  const credentials = target.credentials();
  let inUse = { ...target, credentials: () => credentials };
  let connection = Connection.lazy(connectionOptions(inUse));
  let inFlight = new Set<Promise<TemporalFault | null>>();
  let hasSearchAttributes = searchAttributes.length === 0;

  const rotation = followCredentials({
    target,
    current: credentials,
    log,
    everyMs: credentialsEveryMs,
    use: async (next) => {
      const [old, oldChecks] = [connection, inFlight];
      inUse = { ...target, credentials: () => next };
      connection = Connection.lazy(connectionOptions(inUse));
      inFlight = new Set();
      await Promise.allSettled(oldChecks);
      await old.close();
    },
  });

  const findFault = async (limitMs: number): Promise<TemporalFault | null> => {
    try {
      const [, found] = await Promise.all([
        requireFlowsCanStart(connection, target.namespace, limitMs),
        hasSearchAttributes || requireSearchAttributes(connection, target, searchAttributes, limitMs),
      ]);
      hasSearchAttributes = found;
      return null;
    } catch (error) {
      return faultOfConnection(error, target);
    }
  };

  return {
    /** Whether flows can start, and why not. */
    check: async (limitMs = timeoutMs): Promise<TemporalStatus> => {
      const checks = inFlight;
      const call = findFault(limitMs);
      checks.add(call);
      const fault = await call;
      checks.delete(call);
      report(fault ?? inUse);
      return fault?.kind ?? 'ok';
    },
    /** Waits for the checks in flight, at most for their time limit, and closes the connection. */
    close: async () => {
      await rotation.stop();
      await Promise.allSettled(inFlight);
      await connection.close();
    },
  };
}
