// Generated ids: valid, monotonic and unique.
import { expect, jest, test } from '@jest/globals';

/** Of its own: the module knows the latest time of its process, and here the clock is ahead. */
const { newUuid } = (await import(
  new URL('../src/ids.ts?own', import.meta.url).href
)) as typeof import('../src/ids.ts');

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The timestamp in an id, in milliseconds. */
const timestampOf = (uuid: string) => Number.parseInt(uuid.replaceAll('-', '').slice(0, 12), 16);

test('an id is a UUID of version 7 and contains the current time', () => {
  const before = Date.now();
  const uuid = newUuid();
  expect(uuid).toMatch(UUID_V7);
  expect(timestampOf(uuid)).toBeGreaterThanOrEqual(before);
  expect(timestampOf(uuid)).toBeLessThanOrEqual(Date.now());
});

test('ids are strictly increasing, however many are generated per millisecond and even if the clock goes back', () => {
  const start = Date.now() + 60_000;
  const clock = jest.spyOn(Date, 'now');
  try {
    const ids: string[] = [];
    for (const [now, count] of [
      [start, 10_000],
      [start + 1, 10],
      [start - 5_000, 10],
      [start + 4, 10],
    ] as const) {
      clock.mockReturnValue(now);
      for (let round = 0; round < count; round += 1) ids.push(newUuid());
    }
    expect(ids.filter((uuid) => !UUID_V7.test(uuid))).toEqual([]);
    expect(ids.filter((uuid, index) => index > 0 && uuid <= (ids[index - 1] as string))).toEqual([]);
    expect([...new Set(ids.map(timestampOf))]).toEqual([start, start + 1, start + 2, start + 4]);
  } finally {
    clock.mockRestore();
  }
});
