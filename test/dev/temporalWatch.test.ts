// When the embedded Temporal is restarted: the decision, case by case. test/dev/start.slow.test.ts has a real stall.
import { expect, test } from '@jest/globals';
import { judge, type Look, type Watch, WELL } from '../../dev/temporalWatch.ts';

const LIMIT_MS = 30_000;
const STALLED: Look = { atMs: 100_000, oldestMs: 60_000, moved: false, answers: false };
/** Temporal has not responded for the whole limit. */
const LONG: Watch = { ...WELL, stalledSinceMs: STALLED.atMs - LIMIT_MS };

test.each<[string, Watch, Partial<Look>]>([
  ['no message waits', LONG, { oldestMs: null }],
  ['messages are delivered, however slowly (an overload)', LONG, { moved: true }],
  ['it responds (no worker runs, or a message cannot be handled)', LONG, { answers: true }],
  ['it has been unresponsive for less than the limit', { ...WELL, stalledSinceMs: STALLED.atMs - LIMIT_MS + 1 }, {}],
  ['only one check has been unanswered', WELL, {}],
  ['no message is older than the limit', LONG, { oldestMs: LIMIT_MS - 1 }],
])('Temporal is not restarted while %s', (_case, watch, change) => {
  expect(judge(watch, { ...STALLED, ...change }, LIMIT_MS).act).toBe('wait');
});

test('Temporal is restarted when it has been unresponsive for the limit and an older message is not delivered', () => {
  expect(judge(LONG, STALLED, LIMIT_MS)).toEqual({ watch: { ...WELL, restarts: 1 }, act: 'restart' });
});

/** The actions taken and their times in seconds, with one check per second and no improvement. */
function actsOf(looks: number, change: (second: number) => Partial<Look> = () => ({})): [number, string][] {
  const acts: [number, string][] = [];
  let watch = WELL;
  for (let second = 0; second < looks; second++) {
    const atMs = second * 1000;
    const judged = judge(watch, { ...STALLED, atMs, oldestMs: 60_000 + atMs, ...change(second) }, LIMIT_MS);
    watch = judged.watch;
    if (judged.act !== 'wait') acts.push([second, judged.act]);
  }
  return acts;
}

test('each further restart waits twice as long, and after three restarts the watch stops with one report', () => {
  const acts = actsOf(3_600);
  expect(acts.map(([, act]) => act)).toEqual(['restart', 'restart', 'restart', 'giveUp']);
  const seconds = acts.map(([second]) => second);
  const pauses = seconds.map((second, index) => second - (seconds[index - 1] ?? 0));
  for (const [index, pause] of pauses.entries()) expect(Math.abs(pause - 30 * 2 ** index)).toBeLessThan(3);
});

test('once messages have been delivered again, a later stall is treated as the first', () => {
  const acts = actsOf(180, (second) => ({ moved: second === 100 }));
  expect(acts.map(([, act]) => act)).toEqual(['restart', 'restart', 'restart']);
  expect((acts[2]?.[0] ?? 0) - 100).toBeLessThan(33);
});
