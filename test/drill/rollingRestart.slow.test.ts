// A rolling restart under load: real API and worker processes are stopped and started one after the other.
import { expect, test } from '@jest/globals';
import { rollingRestart } from '../../dev/drill/stop.ts';

test('no request fails while each API and worker is stopped and started under load', async () => {
  const timeline: string[] = [];
  const say = (line: string) => timeline.push(line);
  const { wrong, requests, verdict } = await rollingRestart({
    seed: 3,
    seconds: 30,
    perSecond: 4,
    busyCallers: 2,
    say,
  });
  expect([...wrong, ...(wrong.length > 0 ? timeline : [])]).toEqual([]);
  expect(requests).toBeGreaterThan(100);
  expect(verdict.facts.operations.length).toBeGreaterThan(50);
});
