// The reaper: a process that cleans up after its parent (`npm start`, a test run, the benchmark), also when the parent
// is killed. The parent sends it the child processes and temporary folders to remove; when its standard input closes,
// which happens when the parent exits, it ends the processes and deletes the folders.
import { rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { endProcess } from './processes.ts';
import type { ReaperCommand } from './supervisor.ts';

// It exits when standard input closes, not on a signal that is sent to the parent's process group.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});

const tracked = new Map<number, Extract<ReaperCommand, { track: unknown }>['track']>();
const folders: string[] = [];

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line) as ReaperCommand;
  if ('track' in command) tracked.set(command.track.pid, command.track);
  else if ('untrack' in command) tracked.delete(command.untrack);
  else folders.push(command.remove);
}

// In reverse start order: processes that were started later use those started earlier.
for (const child of [...tracked.values()].reverse()) await endProcess(child, child.signal, child.graceMs);
for (const folder of folders) await rm(folder, { recursive: true, force: true });
