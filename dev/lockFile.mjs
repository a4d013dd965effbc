// Lock files that name the process holding them: a mutex between commands that run concurrently, where the lock of a
// killed process is detected as stale. Plain JavaScript, because the launcher uses it before anything is installed.
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {{pid: number, startedAt: string}} ProcessIdentity A process. The start time distinguishes it from a later
 * process with the same, reused, pid.
 */

/**
 * Returns the identity of a running process, or undefined when no process has this pid or it is a zombie.
 * @param {number} pid
 * @returns {ProcessIdentity | undefined}
 */
export function identify(pid) {
  try {
    if (process.platform === 'linux') {
      // The program name, in parentheses, may contain any character: count the fields after it (proc(5): 3 state, 22
      // start time).
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
 * Whether the process is still running, and the pid has not been reused.
 * @param {ProcessIdentity} identity
 */
export function isRunning(identity) {
  return identify(identity.pid)?.startedAt === identity.startedAt;
}

/**
 * Returns the content of a lock file, or undefined when the file is missing or damaged.
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
 * Takes the lock unless a running process holds it.
 * @param {string} file
 * @returns {{taken: true, left: (ProcessIdentity & Record<string, unknown>) | undefined} | {taken: false, holder:
 *   ProcessIdentity & Record<string, unknown>}} `left` is the content of the stale lock that was replaced, if there was
 *   one
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
        // link(2) is atomic: the lock appears with its content, and only one process can create it.
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
 * Removes a stale lock. When another process has replaced it in the meantime, so that the removed lock belongs to a
 * running process, it is put back.
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
      // A third process has taken the lock in the meantime; the caller waits for it.
    }
  }
  rmSync(aside, { force: true });
  return content;
}

/**
 * Waits until the lock is free and takes it. The lock is also released when this process exits.
 * @param {string} file
 * @param {(holder: ProcessIdentity) => void} [onWait] called once when another process holds the lock
 * @returns {Promise<() => void>} releases the lock
 */
export async function acquireLock(file, onWait) {
  for (let isReported = false; ; isReported = true) {
    const attempt = tryLock(file);
    if (attempt.taken) {
      const release = () => rmSync(file, { force: true });
      process.once('exit', release);
      return () => {
        process.off('exit', release);
        release();
      };
    }
    if (!isReported) onWait?.(attempt.holder);
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
}
