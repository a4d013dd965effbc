// Ids of our own making: valid, in the order in which they were made, and never twice.
import { expect, jest, test } from '@jest/globals';
import { newUuid } from '../src/ids.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The moment that an id carries, in milliseconds. */
const momentOf = (uuid: string) => Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16);

test('is a UUID of version 7 and carries the time', () => {
  const before = Date.now();
  const uuid = newUuid();
  expect(uuid).toMatch(UUID_V7);
  expect(momentOf(uuid)).toBeGreaterThanOrEqual(before);
  expect(momentOf(uuid)).toBeLessThanOrEqual(Date.now());
});

test('each sorts behind the one before it, however many one millisecond takes and wherever the clock goes', () => {
  const noon = Date.now() + 60_000;
  const clock = jest.spyOn(Date, 'now');
  try {
    const made: string[] = [];
    for (const [moment, times] of [
      [noon, 10_000],
      [noon + 1, 10],
      [noon - 5_000, 10],
      [noon + 4, 10],
    ] as const) {
      clock.mockReturnValue(moment);
      for (let time = 0; time < times; time += 1) made.push(newUuid());
    }
    expect(made.filter((uuid) => !UUID_V7.test(uuid))).toEqual([]);
    expect(made.filter((uuid, place) => place > 0 && uuid <= (made[place - 1] as string))).toEqual([]);
    expect([...new Set(made.map(momentOf))]).toEqual([noon, noon + 1, noon + 2, noon + 4]);
  } finally {
    clock.mockRestore();
  }
});
