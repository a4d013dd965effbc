// When the embedded Temporal is started again: what decides it, case by case. test/dev/start.test.ts has the real stall.
import { expect, test } from '@jest/globals';
import { judge, type Look, type Watch, WELL } from '../../dev/temporalWatch.ts';

const LIMIT_MS = 30_000;
const STALLED: Look = { atMs: 100_000, oldestMs: 60_000, moved: false, answers: false };
/** It has not answered for the whole of the limit. */
const LONG: Watch = { ...WELL, stalledSinceMs: STALLED.atMs - LIMIT_MS };

test.each<[string, Watch, Partial<Look>]>([
  ['nothing waits', LONG, { oldestMs: null }],
  ['messages go, be it slowly: an overload', LONG, { moved: true }],
  ['it answers: the worker is away, or a message can never be handled', LONG, { answers: true }],
  ['it has not answered for less than the limit', { ...WELL, stalledSinceMs: STALLED.atMs - LIMIT_MS + 1 }, {}],
  ['this is the first look without an answer', WELL, {}],
  ['no message is older than the limit', LONG, { oldestMs: LIMIT_MS - 1 }],
])('no restart while %s', (_case, watch, differs) => {
  expect(judge(watch, { ...STALLED, ...differs }, LIMIT_MS).act).toBe('wait');
});

test('a server that answers nothing for the limit, with a message older than it that does not go, is started again', () => {
  expect(judge(LONG, STALLED, LIMIT_MS)).toEqual({ watch: { ...WELL, restarts: 1 }, act: 'restart' });
});

/** The times at which something is done, in seconds, looked at once a second while nothing gets better. */
function actsOf(looks: number, differs: (second: number) => Partial<Look> = () => ({})): [number, string][] {
  const acts: [number, string][] = [];
  let watch = WELL;
  for (let second = 0; second < looks; second++) {
    const atMs = second * 1000;
    const judged = judge(watch, { ...STALLED, atMs, oldestMs: 60_000 + atMs, ...differs(second) }, LIMIT_MS);
    watch = judged.watch;
    if (judged.act !== 'wait') acts.push([second, judged.act]);
  }
  return acts;
}

test('each further restart waits twice as long, and after three it says once that they do not help', () => {
  const acts = actsOf(3_600);
  expect(acts.map(([, act]) => act)).toEqual(['restart', 'restart', 'restart', 'giveUp']);
  const seconds = acts.map(([second]) => second);
  const pauses = seconds.map((second, index) => second - (seconds[index - 1] ?? 0));
  for (const [index, pause] of pauses.entries()) expect(Math.abs(pause - 30 * 2 ** index)).toBeLessThan(3);
});

test('once flows have started again, a later stall is taken as the first', () => {
  const acts = actsOf(180, (second) => ({ moved: second === 100 }));
  expect(acts.map(([, act]) => act)).toEqual(['restart', 'restart', 'restart']);
  expect((acts[2]?.[0] ?? 0) - 100).toBeLessThan(33);
});
