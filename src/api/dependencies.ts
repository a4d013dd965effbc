// The dependencies of the request handlers, created once per process.
import type { Keyring } from '../keyring.ts';
import type { ServiceRuntime } from '../runtime.ts';
import type { TemporalStatus } from '../temporal/health.ts';

export interface ApiDependencies extends Omit<ServiceRuntime, 'maintenanceSql' | 'close'> {
  keyring: Keyring;
  /** Whether Temporal can start flows, for the health check. A rejection counts as `unreachable`. */
  temporalStatus: () => Promise<TemporalStatus>;
}
