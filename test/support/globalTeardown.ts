// Runs once after all test files: stops the processes of globalSetup and deletes their files. Jest skips this on Ctrl-C
// and kill; then the supervisor's reaper process does the same.
import type { Supervisor } from '../../dev/supervisor.ts';

let running: Supervisor | undefined;

export function keepForTeardown(supervisor: Supervisor): void {
  running = supervisor;
}

export default async function globalTeardown(): Promise<void> {
  await running?.stop();
}
