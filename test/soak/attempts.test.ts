// A soak whose checks did not check is not all true.
import { expect, test } from '@jest/globals';
import type { Fault, Timed } from '../../dev/chaos/plan.ts';
import { type Attempt, CHECKS, listUnchecked } from '../../dev/soak/attempts.ts';

const MINUTE = 60_000;
const END = 15 * MINUTE;

/** One of each check every minute; `failing`: why one that begins then does not end. */
const attemptsWhere = (failing: (check: Attempt['check'], minute: number) => string | null): Attempt[] =>
  Array.from({ length: 15 }, (_, minute) =>
    CHECKS.map((check) => ({
      check,
      fromMs: minute * MINUTE,
      toMs: minute * MINUTE + 5_000,
      failure: failing(check, minute),
    })),
  ).flat();

const freeze = (atMs: number, forMs: number): Timed<Fault>[] =>
  (['worker-1', 'worker-2'] as const).map((part) => ({ atMs, what: { kind: 'freeze', part, forMs } }));
const diskFull: Timed<Fault> = { atMs: 5 * MINUTE, what: { kind: 'fillDisk', forMs: 2_000 } };
const stopped: Timed<Fault> = { atMs: 5 * MINUTE, what: { kind: 'stop', part: 'worker-2' } };
const ofApi: Timed<Fault> = { atMs: 5 * MINUTE, what: { kind: 'freeze', part: 'api-1', forMs: 6_000 } };

/** The check that begins after five minutes fails. */
const once = (failed: Attempt['check']) =>
  attemptsWhere((check, minute) => (check === failed && minute === 5 ? 'gone' : null));

test('checks that all end are no alarm', () => {
  expect(
    listUnchecked(
      attemptsWhere(() => null),
      [],
      END,
    ),
  ).toEqual([]);
});

test.each<[Attempt['check'], string, Timed<Fault>[], boolean]>([
  ['verification', 'without a fault', [], true],
  ['verification', 'while workers stand still', freeze(5 * MINUTE, 150_000), true],
  ['verification', 'while a worker is stopped', [stopped], true],
  ['verification', 'while the disk is full', [diskFull], false],
  ['reconciliation', 'without a fault', [], true],
  ['reconciliation', 'while an API stands still', [ofApi], true],
  ['reconciliation', 'while workers stand still', freeze(4 * MINUTE, 150_000), false],
  ['reconciliation', 'as long again after workers stood still', freeze(3 * MINUTE, 50_000), false],
  ['reconciliation', 'long after workers stood still', freeze(2 * MINUTE, 50_000), true],
  ['whole reconciliation', 'while a worker is stopped', [stopped], false],
  ['whole reconciliation', 'before a fault', [{ ...stopped, atMs: 6 * MINUTE }], true],
])('a %s that fails %s: %j is an alarm: %s', (check, _when, faults, isAlarm) => {
  expect(listUnchecked(once(check), faults, END)).toEqual(isAlarm ? [`a ${check} failed after 300 s: gone`] : []);
});

test.each(CHECKS)('a run in which no %s has ended is an alarm, however short it was', (missing) => {
  const attempts = attemptsWhere(() => null).filter(({ check, fromMs }) => check !== missing && fromMs < 2 * MINUTE);
  expect(listUnchecked(attempts, [], 2 * MINUTE)).toEqual([`no ${missing} has ended`]);
});

test('ten minutes without an end are an alarm, but for those in which workers stand still', () => {
  const attempts = attemptsWhere(() => null).filter(({ check, fromMs }) => {
    return check !== 'reconciliation' || fromMs < 2 * MINUTE || fromMs > 12 * MINUTE;
  });
  expect(listUnchecked(attempts, [], END)).toEqual(['for ten minutes no reconciliation has ended']);
  expect(listUnchecked(attempts, freeze(4 * MINUTE, 150_000), END)).toEqual([]);
});
