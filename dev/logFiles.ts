// The log files of processes that write into them directly: `api.log`, and the older ones `api.1.log` (the newest) to
// `api.5.log`.
import { constants, copyFileSync, existsSync, renameSync, statSync, truncateSync } from 'node:fs';

/**
 * Makes a log the newest of the older ones, if it is larger than this many bytes. The process that writes keeps its
 * file, which is copied and emptied, as by `copytruncate` of logrotate: a line written between the two is lost. It must
 * have opened the file for appending.
 */
export function rotateAbove(bytes: number, log: string, olderKept: number): void {
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) <= bytes) return;
  const older = (position: number): string => log.replace(/\.log$/, `.${position}.log`);
  for (let position = olderKept - 1; position >= 1; position -= 1) {
    if (existsSync(older(position))) renameSync(older(position), older(position + 1));
  }
  copyFileSync(log, older(1), constants.COPYFILE_FICLONE);
  truncateSync(log);
}
