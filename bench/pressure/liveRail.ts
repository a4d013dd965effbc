// A live rail for the benchmark: a second instance of the sandbox bank, with its books in a database of its own, so
// that the service is measured and not a fake of a provider.
import { connect, type Sql } from '../../src/database/pool.ts';
import type { Keyring } from '../../src/keyring.ts';
import { guardedRail } from '../../src/rail/guarded.ts';
import { Rails } from '../../src/rail/rails.ts';
import { createSandboxRail } from '../../src/rail/sandbox/adapter.ts';
import { SandboxBank } from '../../src/rail/sandbox/bank.ts';
import { sandboxCapabilities } from '../../src/rail/sandbox/capabilities.ts';
import type { ServiceRuntime } from '../../src/runtime.ts';
import type { Log } from '../../src/telemetry/log.ts';

/** The environment variable with the URL of the live bank's database. */
export const LIVE_BANK_URL = 'BENCH_LIVE_BANK_URL';

export function openLiveBank(sql: Sql, keyring: Keyring, log: Log, callbackUrl: string): SandboxBank {
  return new SandboxBank({
    sql,
    keyring,
    log,
    callbackUrl,
    delayMs: 0,
    capabilities: sandboxCapabilities({ callLimitMs: 5_000, notVisibleForMs: 5_000 }),
  });
}

/** The runtime of a process with a live rail. Only the process that runs the bank's loops sends its callbacks. */
export function withLiveRail(runtime: ServiceRuntime): ServiceRuntime {
  const { config, log, rails, close } = runtime;
  const url = process.env[LIVE_BANK_URL];
  if (url === undefined) throw new Error(`${LIVE_BANK_URL} is not set`);
  const sql = connect(url, { connectionsMax: 10 });
  const sandbox = rails.shared('test');
  if (sandbox === null) throw new Error('there is no sandbox rail');
  const bank = openLiveBank(sql, config.keyring, log, '');
  return {
    ...runtime,
    rails: new Rails({ test: sandbox, live: guardedRail(createSandboxRail(bank, config.keyring)) }),
    close: async () => {
      await close();
      await sql.end({ timeout: 5 });
    },
  };
}
