// The API and the worker as processes of their own, which tests stop and kill.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TestApi } from './api.ts';

const processes = new Set<ChildProcess>();

/** Starts a process with the database, the Temporal server and the keys of a test API. Its standard error is shown. */
export function startProcess(
  part: 'api' | 'worker',
  { dependencies: { config } }: Pick<TestApi, 'dependencies'>,
  settings: NodeJS.ProcessEnv = {},
): ChildProcess {
  const child = spawn(process.execPath, [fileURLToPath(new URL(`../../src/${part}/main.ts`, import.meta.url))], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      DATABASE_URL: config.databaseUrl,
      DATABASE_CONNECTIONS_MAX: '4',
      TEMPORAL_ADDRESS: config.temporal.address,
      TEMPORAL_TASK_QUEUE: config.temporal.taskQueue,
      MANILLA_KEYS: `test:${Buffer.alloc(32, 7).toString('base64url')}`,
      SANDBOX_RAIL_CALLBACK_URL: config.sandboxRail.callbackUrl,
      SANDBOX_RAIL_DELAY_MS: '0',
      WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'sandbox',
      SCHEDULES: 'off',
      LOG_LEVEL: 'error',
      ...settings,
    },
  });
  processes.add(child);
  child.once('exit', () => processes.delete(child));
  return child;
}

/** Ends a process, as a crash does unless another signal is given. Returns its exit code. */
export async function endProcess(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const exited = once(child, 'exit');
  child.kill(signal);
  const [code] = (await exited) as [number | null];
  return code;
}

/** Kills the processes that still run. */
export async function killProcesses(): Promise<void> {
  await Promise.all([...processes].map((child) => endProcess(child)));
}
