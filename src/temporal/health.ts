// Health check of Temporal: whether it can start workflows, over a connection of its own.
import { Connection } from '@temporalio/client';
import type { Log } from '../telemetry/log.ts';
import { connectionOptions } from './connect.ts';
import { explained } from './explain.ts';
import { faultLog } from './faultLog.ts';
import { type FaultKind, faultOfCall, type SearchAttribute, type TemporalFault, unreachable } from './faults.ts';
import { requireFlowsCanStart, requireSearchAttributes } from './namespace.ts';
import type { TemporalTarget } from './profile.ts';
import { followCredentials, isNewKeyOnly } from './rotation.ts';

export type TemporalStatus = 'ok' | FaultKind;

/** How long the reason of an outage is taken for the current one. */
const DIAGNOSIS_FRESH_MS = 10_000;

export interface TemporalHealth {
  /** Whether flows can start, and why not; within the time limit, by default that of the options. */
  check: (timeoutMs?: number) => Promise<TemporalStatus>;
  /** Waits for the checks in flight, at most for their time limit, and closes the connection. */
  close: () => Promise<void>;
}

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
export function createTemporalHealth(target: TemporalTarget, options: TemporalHealthOptions): TemporalHealth {
  const { log, timeoutMs, searchAttributes, credentialsEveryMs } = options;
  const report = faultLog(log);
  const credentials = target.credentials();
  let inUse = { ...target, credentials: () => credentials };
  let connection = Connection.lazy(connectionOptions(inUse));
  let inFlight = new Set<Promise<TemporalFault | null>>();
  let hasSearchAttributes = searchAttributes.length === 0;
  let diagnosis: { fault: TemporalFault; freshUntil: number } | null = null;

  const rotation = followCredentials({
    target,
    current: credentials,
    log,
    everyMs: credentialsEveryMs,
    use: async (next, previous) => {
      if (isNewKeyOnly(next, previous)) {
        connection.setApiKey(next.apiKey);
        return;
      }
      const [old, oldChecks] = [connection, inFlight];
      inUse = { ...target, credentials: () => next };
      connection = Connection.lazy(connectionOptions(inUse));
      inFlight = new Set();
      await Promise.allSettled(oldChecks);
      await old.close();
    },
  });

  const look = async (limitMs: number): Promise<TemporalFault | null> => {
    try {
      const [, found] = await Promise.all([
        requireFlowsCanStart(connection, target.namespace, limitMs),
        hasSearchAttributes || requireSearchAttributes(connection, target, searchAttributes, limitMs),
      ]);
      hasSearchAttributes = found;
      return null;
    } catch (error) {
      return faultOfCall(error, target) ?? unreachable(target, (error as Error).message, error);
    }
  };

  /** Why Temporal is unreachable, found out beside the checks, which must not wait for it. */
  const diagnosed = (fault: TemporalFault): TemporalFault => {
    if (diagnosis === null || performance.now() > diagnosis.freshUntil) {
      const current = { fault: diagnosis?.fault ?? fault, freshUntil: performance.now() + DIAGNOSIS_FRESH_MS };
      diagnosis = current;
      void explained(fault, target)
        .catch(() => fault) // the credentials cannot be read, which `followCredentials` reports
        .then((found) => {
          current.fault = found;
          if (diagnosis === current) report.failed(found);
        });
    }
    return diagnosis.fault;
  };

  return {
    check: async (limitMs = timeoutMs) => {
      const checks = inFlight;
      const call = look(limitMs);
      checks.add(call);
      const fault = await call;
      checks.delete(call);
      if (fault?.kind === 'unreachable') return diagnosed(fault).kind;
      diagnosis = null;
      if (fault === null) report.connected(inUse);
      else report.failed(fault);
      return fault?.kind ?? 'ok';
    },
    close: async () => {
      await rotation.stop();
      await Promise.allSettled(inFlight);
      await connection.close();
    },
  };
}
