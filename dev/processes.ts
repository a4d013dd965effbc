// Ends processes by number, and only after making sure that the number still belongs to the process that was meant; and
// finds out whose child we are.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { identify, isRunning, type ProcessIdentity } from './lockFile.mjs';

const POLL_MS = 50;

/** Asks the process to end with the signal, and ends it by force when it is still there after the grace period. */
export async function endProcess(identity: ProcessIdentity, signal: NodeJS.Signals, graceMs: number): Promise<void> {
  for (const { send, patienceMs } of [
    { send: signal, patienceMs: graceMs },
    // A killed process that waits for its disk can take a moment; nothing stronger can be sent.
    { send: 'SIGKILL' as const, patienceMs: 5_000 },
  ]) {
    if (!isRunning(identity)) return;
    try {
      process.kill(identity.pid, send);
    } catch {
      return;
    }
    const deadline = Date.now() + patienceMs;
    while (Date.now() < deadline && isRunning(identity)) await wait(POLL_MS);
  }
}

/** The npm that runs us, or undefined. It starts scripts through a shell, which some systems leave in between. */
export function parentNpm(): ProcessIdentity | undefined {
  if (process.env.npm_lifecycle_event === undefined) return undefined;
  const parent = describe(process.ppid);
  const isShell = /^\S*sh -c /.test(parent.commandLine);
  return identify(isShell ? parent.ppid : process.ppid);
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
