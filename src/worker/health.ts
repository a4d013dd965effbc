// Health of a worker process, on its metrics port: `/health` whether the process is alive, `/ready` whether it polls
// its queues and could do the work that it gets.
import { cached } from '../concurrency/shared.ts';
import { withTimeout } from '../concurrency/withTimeout.ts';
import type { Config } from '../config.ts';
import type { Sql } from '../database/pool.ts';
import type { Probe } from '../telemetry/metricsServer.ts';
import { type FaultKind, faultOfCall } from '../temporal/faults.ts';
import { requireFlowsCanStart } from '../temporal/namespace.ts';
import type { WorkerConnection } from './connection.ts';

/** Shorter than the timeout of a usual probe, 3 s. */
const CHECK_TIMEOUT_MS = 2_000;

/** `starting`: it waits for Temporal. `stopping`: it takes no more work. */
export type WorkerStage = 'starting' | 'running' | 'stopping';

interface HealthOptions {
  config: Pick<Config, 'temporal' | 'worker'>;
  sql: Sql;
  stage: () => WorkerStage;
  /** Null until there is one. */
  connection: () => WorkerConnection | null;
}

export function healthProbes({ config, sql, stage, connection }: HealthOptions): Record<string, Probe> {
  const database = (): Promise<'ok' | 'unreachable'> =>
    withTimeout(sql`SELECT`, CHECK_TIMEOUT_MS).then(
      () => 'ok',
      () => 'unreachable',
    );
  const temporal = async (): Promise<'ok' | FaultKind> => {
    const current = connection();
    if (current === null) return 'unreachable';
    try {
      await requireFlowsCanStart(current, config.temporal.namespace, CHECK_TIMEOUT_MS);
      return 'ok';
    } catch (error) {
      return faultOfCall(error, config.temporal)?.kind ?? 'unreachable';
    }
  };
  const checks = cached(async () => {
    const [ofDatabase, ofTemporal] = await Promise.all([database(), temporal()]);
    return { database: ofDatabase, temporal: ofTemporal };
  });
  return {
    '/health': () => Promise.resolve({ ok: true, body: { status: 'ok' } }),
    '/ready': async () => {
      const results = await checks();
      const isReady = stage() === 'running' && results.database === 'ok' && results.temporal === 'ok';
      const status = isReady ? 'ready' : stage() === 'running' ? 'degraded' : stage();
      return { ok: isReady, body: { status, roles: config.worker.roles, checks: results } };
    },
  };
}
