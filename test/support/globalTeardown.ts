// Runs once after all test files: ends what globalSetup started, with its files. Jest skips this on Ctrl-C and kill; then
// the caretaker of the parts does the same.
import type { Supervisor } from '../../dev/supervisor.ts';

let started: Supervisor | undefined;

export function keepForTeardown(parts: Supervisor): void {
  started = parts;
}

export default async function globalTeardown(): Promise<void> {
  await started?.stop();
}
