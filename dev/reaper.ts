// The process that tidies up after a start script or a test run that was killed before it could: it is told which
// processes and temporary folders there are, and ends them when its standard input closes, which is when its parent is gone.
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { endProcess } from './processes.ts';
import type { ReaperCommand } from './supervisor.ts';

// Standard input tells when to go; a signal meant for the parent's group does not.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

const held = new Map<number, Extract<ReaperCommand, { hold: unknown }>['hold']>();
const folders: string[] = [];

for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line) as ReaperCommand;
  if ('hold' in order) held.set(order.hold.pid, order.hold);
  else if ('release' in order) held.delete(order.release);
  else folders.push(order.remove);
}

// Last come, first ended: what was started later uses what was started earlier.
for (const one of [...held.values()].reverse()) await endProcess(one, one.signal, one.graceMs);
for (const folder of folders) await rm(folder, { recursive: true, force: true });
