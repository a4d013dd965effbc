// Injects the faults of a plan into the stack, and heals them: signals to processes, cut connections, a full disk.
import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import type { Fault } from './plan.ts';
import type { WebhookReceiver } from './receiver.ts';
import type { ChaosStack } from './stack.ts';

const REAPPLY_MS = 100;

/**
 * The disk of Postgres is full: every write of its processes fails (RLIMIT_FSIZE of 0, with util-linux's `prlimit`, so
 * on Linux only). As on a full disk, a data file that cannot grow fails the statement, and a log that cannot be
 * written stops the server; only the code of the error differs (XX000 for EFBIG, 53100 for ENOSPC).
 */
export const canFillDisk = process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0;

type Target = Pick<ChaosStack, 'pidsOf' | 'links'> & { receiver: Pick<WebhookReceiver, 'behave'> };

/** Injects the fault. Returns the function that heals it. */
export function inject(target: Target, fault: Fault): () => void {
  switch (fault.kind) {
    case 'kill':
      // The first is the process that was started: the server processes of Postgres end when it is gone.
      signal(target.pidsOf(fault.part).slice(0, 1), 'SIGKILL');
      return () => {};
    case 'stop':
      signal(target.pidsOf(fault.part), 'SIGTERM');
      return () => {};
    case 'freeze': {
      const pids = target.pidsOf(fault.part);
      signal(pids, 'SIGSTOP');
      return () => signal(pids, 'SIGCONT');
    }
    case 'cut': {
      const proxy = target.links[fault.link];
      proxy[fault.how]();
      return () => proxy.heal();
    }
    case 'fillDisk':
      return fillDisk(() => target.pidsOf('postgres'));
    case 'receiver':
      target.receiver.behave(fault.how);
      return () => target.receiver.behave('accept');
  }
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name);
    } catch {
      // It has ended.
    }
  }
}

function fillDisk(pids: () => number[]): () => void {
  limitFileSize(pids(), '0');
  // New processes inherit it, except for a server that was started again.
  const timer = setInterval(() => limitFileSize(pids(), '0'), REAPPLY_MS);
  return () => {
    clearInterval(timer);
    limitFileSize(pids(), 'unlimited');
  };
}

/** As the account of each process, which may change its own limits: a root in a container may not change others'. */
function limitFileSize(pids: readonly number[], bytes: '0' | 'unlimited'): void {
  for (const pid of pids) {
    const owner = statSync(`/proc/${pid}`, { throwIfNoEntry: false });
    if (owner === undefined) continue;
    const account = process.getuid?.() === 0 ? { uid: owner.uid, gid: owner.gid } : {};
    const { status, stderr } = spawnSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`], {
      ...account,
      cwd: '/',
      encoding: 'utf8',
    });
    if (status !== 0 && existsSync(`/proc/${pid}`)) throw new Error(`prlimit failed on process ${pid}: ${stderr}`);
  }
}
