// Ends processes by pid, after checking that the pid has not been reused by another process; and finds the children of
// a process and the npm process that started this one.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { identify, isRunning, type ProcessIdentity } from './lockFile.mjs';

const POLL_MS = 50;

/** Sends the signal, and SIGKILL when the process is still running after the grace period. */
export async function endProcess(identity: ProcessIdentity, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  for (const { send, waitMs } of [
    { send: signal, waitMs: graceMs },
    // A killed process that is blocked in disk I/O ends only when the call returns.
    { send: 'SIGKILL' as const, waitMs: 5_000 },
  ]) {
    if (!isRunning(identity)) return;
    try {
      process.kill(identity.pid, send);
    } catch {
      return;
    }
    const deadline = Date.now() + waitMs;
    while (Date.now() < deadline && isRunning(identity)) await wait(POLL_MS);
  }
}

/**
 * Returns the npm process that runs this script, or undefined. npm starts scripts through a shell, which on some
 * systems remains as the parent, and the launcher does on its first run.
 */
export function parentNpm(): ProcessIdentity | undefined {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  let pid = process.ppid;
  for (;;) {
    const { commandLine, ppid } = describe(pid);
    if (!/^\S*sh -c |\bdev\/launch\.mjs /.test(commandLine)) return identify(pid);
    pid = ppid;
  }
}

/** Returns the pids of the processes that this one has started and that are running. */
export function childrenOf(pid: number): number[] {
  if (process.platform === 'linux') {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name) && isChild(Number(name), pid))
      .map(Number);
  }
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([, ppid]) => ppid === pid)
    .map(([child]) => Number(child));
}

function isChild(pid: number, of: number): boolean {
  try {
    return describe(pid).ppid === of;
  } catch {
    return false; // it has ended
  }
}

function describe(pid: number): { ppid: number; commandLine: string } {
  if (process.platform === 'linux') {
    const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? '';
    const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
    return { ppid: Number(afterName.split(' ')[1]), commandLine };
  }
  const [ppid = '', ...words] = execFileSync('ps', ['-o', 'ppid=,args=', '-p', String(pid)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/);
  return { ppid: Number(ppid), commandLine: words.join(' ') };
}
