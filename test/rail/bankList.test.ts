// The list of banks: read once a day, and served stale while the rail does not respond.
import { expect, test } from '@jest/globals';
import { createBankList } from '../../src/rail/bankList.ts';
import { RailUnavailableError } from '../../src/rail/errors.ts';

const HOUR_MS = 3_600_000;
const FIRST = [{ code: '044', name: 'Access Bank', nipCode: '000014' }];
const SECOND = [...FIRST, { code: '058', name: 'Guaranty Trust Bank', nipCode: '000013' }];

test('a list is kept for a day, then read again, and served stale while that fails', async () => {
  const clock = { now: 0 };
  let answer: () => Promise<typeof FIRST> = () => Promise.reject(new RailUnavailableError('away'));
  let reads = 0;
  const { load: banks } = createBankList(
    () => {
      reads += 1;
      return answer();
    },
    () => clock.now,
  );
  await expect(banks()).rejects.toBeInstanceOf(RailUnavailableError);
  answer = () => Promise.resolve(FIRST);
  expect(await banks()).toEqual(FIRST);
  clock.now = 23 * HOUR_MS;
  expect([await banks(), reads]).toEqual([FIRST, 2]);
  clock.now = 25 * HOUR_MS;
  answer = () => Promise.reject(new RailUnavailableError('away'));
  expect([await banks(), await banks(), reads]).toEqual([FIRST, FIRST, 3]);
  clock.now += 60_000;
  answer = () => Promise.resolve(SECOND);
  expect([await banks(), reads]).toEqual([SECOND, 4]);
});
