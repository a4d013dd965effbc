// Which releases may run on a database, one after the other: a minor forward or back at a time. A release leaves what
// the minor before it uses, and takes it away a minor later, so that both may run at once and either may be the later.

/** The last minor of each major that has ended, `0: 9`. The last patches of that minor have it too, to go back. */
export const LAST_MINORS: Readonly<Record<number, number>> = {};

/** The minor of a version: `0.1` of `0.1.3`. */
export const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.');

/**
 * Why a minor may not migrate the database, with what to do; null if it may.
 * @param minors that have migrated it, the last one first
 */
export function refuseRelease(minor: string, minors: readonly string[], lastMinors = LAST_MINORS): string | null {
  const [last = minor] = minors;
  const newest = minors.reduce((one, other) => (isBefore(one, other) ? other : one), last);
  if (isBefore(last, minor) && !follows(last, minor, lastMinors)) {
    const order = `No minor may be left out: deploy the one after ${last} first.`;
    return `This is Manilla ${minor}, and the database was last migrated by ${last}. ${order}`;
  }
  if (isBefore(minor, newest) && !follows(minor, newest, lastMinors)) {
    const order = `Only the minor before ${newest} runs on it: deploy that, or restore a backup.`;
    return `This is Manilla ${minor}, and the database was migrated by ${newest}. ${order}`;
  }
  return null;
}

const partsOf = (minor: string): [number, number] => {
  const [major = 0, part = 0] = minor.split('.').map(Number);
  return [major, part];
};

/** Of minors. */
export function isBefore(one: string, other: string): boolean {
  const [[major, minor], [otherMajor, otherMinor]] = [partsOf(one), partsOf(other)];
  return major < otherMajor || (major === otherMajor && minor < otherMinor);
}

/** Whether `next` is the minor after `minor`. The first of a major follows the last of the major before it. */
function follows(minor: string, next: string, lastMinors: typeof LAST_MINORS): boolean {
  const [[major, part], [nextMajor, nextPart]] = [partsOf(minor), partsOf(next)];
  if (nextMajor === major) return nextPart === part + 1;
  return nextMajor === major + 1 && nextPart === 0 && part === lastMinors[major];
}
