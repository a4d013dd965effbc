// Lock files that name the process holding them, so that commands run side by side take turns and what a killed process
// left behind counts for nothing. Plain JavaScript, because the bootstrap needs it before anything is installed.
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {{pid: number, startedAt: string}} ProcessIdentity A process, told apart from a later one that got the same
 * number by the time it started.
 */

/**
 * The identity of a running process, or undefined when there is none with this number (or only its remains).
 * @param {number} pid
 * @returns {ProcessIdentity | undefined}
 */
export function identify(pid) {
  try {
    if (process.platform === 'linux') {
      // The name of the program, in brackets, may hold anything: count the fields after it (proc(5): 3 state, 22 start time).
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
      return fields[0] === 'Z' || fields[0] === 'X' ? undefined : { pid, startedAt: String(fields[19]) };
    }
    process.kill(pid, 0);
    return { pid, startedAt: execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() };
  } catch {
    return undefined;
  }
}

/**
 * Whether this very process still runs.
 * @param {ProcessIdentity} identity
 */
export function isRunning(identity) {
  return identify(identity.pid)?.startedAt === identity.startedAt;
}

/**
 * What a lock file says, or undefined when there is none or it is no lock.
 * @param {string} file
 * @returns {(ProcessIdentity & Record<string, unknown>) | undefined}
 */
export function readLock(file) {
  try {
    const content = JSON.parse(readFileSync(file, 'utf8'));
    return Number.isInteger(content?.pid) ? content : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Takes the lock when nobody alive holds it.
 * @param {string} file
 * @returns {{taken: true, left: (ProcessIdentity & Record<string, unknown>) | undefined} | {taken: false, holder:
 *   ProcessIdentity & Record<string, unknown>}} `left` is what a holder that is gone had written
 */
export function tryLock(file) {
  mkdirSync(path.dirname(file), { recursive: true });
  const own = `${file}.${process.pid}`;
  writeFileSync(own, JSON.stringify(identify(process.pid)), { mode: 0o600 });
  /** @type {ReturnType<typeof readLock>} */
  let left;
  try {
    for (;;) {
      try {
        // A link appears with its content, and only one process can make it.
        linkSync(own, file);
        return { taken: true, left };
      } catch (error) {
        if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') throw error;
      }
      const holder = readLock(file);
      if (holder !== undefined && isRunning(holder)) return { taken: false, holder };
      left = evictStaleLock(file, own) ?? left;
    }
  } finally {
    rmSync(own, { force: true });
  }
}

/**
 * Moves a dead holder's lock out of the way. When another process was faster and the lock is a living one's by now, it
 * goes back.
 * @param {string} file
 * @param {string} own
 */
function evictStaleLock(file, own) {
  const aside = `${own}.left`;
  try {
    renameSync(file, aside);
  } catch {
    return undefined;
  }
  const content = readLock(aside);
  if (content !== undefined && isRunning(content)) {
    try {
      linkSync(aside, file);
    } catch {
      // A third process has it now: it waits for whoever holds it, as everybody does.
    }
  }
  rmSync(aside, { force: true });
  return content;
}

/**
 * Waits until the lock is free and takes it.
 * @param {string} file
 * @param {(holder: ProcessIdentity) => void} [onWait] called once when somebody else has it
 * @returns {Promise<() => void>} gives the lock back
 */
export async function acquireLock(file, onWait) {
  for (let said = false; ; said = true) {
    const attempt = tryLock(file);
    if (attempt.taken) {
      const giveBack = () => rmSync(file, { force: true });
      // A process that is told to end in the middle takes its lock along.
      process.once('exit', giveBack);
      return () => {
        process.off('exit', giveBack);
        giveBack();
      };
    }
    if (!said) onWait?.(attempt.holder);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}
