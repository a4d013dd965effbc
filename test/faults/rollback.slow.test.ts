// Going back: processes of this release take over from those of the next one under load, on its tables and functions,
// and give way to them again. The drill `rollback`, at its shortest.
import { expect, test } from '@jest/globals';
import { upgrade } from '../../dev/drill/upgrade.ts';

test('a release goes up, back and up again under load: no request fails, and what was accepted ends', async () => {
  const timeline: string[] = [];
  const say = (line: string) => timeline.push(line);
  const { verdict, outages } = await upgrade({ seed: 3, seconds: 75, perSecond: 4, say }, { back: true });
  const wrong = [...outages, ...verdict.wrong];
  expect([...wrong, ...(wrong.length > 0 ? timeline : [])]).toEqual([]);
  expect(timeline.filter((line) => line.includes('has migrated'))).toHaveLength(3);
  expect(verdict.facts.operations.length).toBeGreaterThan(50);
}, 600_000);
