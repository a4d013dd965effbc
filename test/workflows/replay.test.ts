// Every recorded history replays with the current code, so running flows continue after a deployment. Histories are
// recorded by `npm run histories`; docs/replaying.md describes what to do when one no longer fits. That incompatible
// code is noticed: replayRejections.slow.test.ts.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { KYC } from '../../dev/chaos/requests.ts';
import { textOf } from '../support/histories.ts';
import { ISOLATED_SCENARIOS, recordingOf, SCENARIOS, WITHOUT_SCENARIO } from '../support/scenarios.ts';
import { flowOf, LIMIT_MS, misfitsOf, names, recorded, scenarioOf } from './misfits.ts';

describe('histories with the current code', () => {
  let misfits: ReadonlyMap<string, string>;

  beforeAll(async () => {
    misfits = await misfitsOf();
  }, LIMIT_MS);

  test.each(names)('%s replays with the current code', (name) => {
    expect(misfits.get(name)).toBeUndefined();
  });
});

test('exactly the scenarios are recorded, some of them several times', () => {
  const recordedScenarios = new Set(names.map(scenarioOf));
  const scenarios = [...SCENARIOS, ...ISOLATED_SCENARIOS];
  expect([...recordedScenarios].toSorted()).toEqual(scenarios.map(recordingOf).toSorted());
});

test('every workflow of a money flow has a scenario', () => {
  const index = readFileSync(fileURLToPath(new URL('../../src/workflows/index.ts', import.meta.url)), 'utf8');
  const exported = [...index.matchAll(/export \{ (.+?) \}/g)].flatMap(([, list = '']) => list.split(', '));
  expect(exported.filter((flow) => !WITHOUT_SCENARIO.includes(flow)).toSorted()).toEqual([
    ...new Set(names.map(flowOf)),
  ]);
});

test.each(recorded)('$name has no personal data, no account number and no machine name', ({ history }) => {
  // A local activity records its times as seconds.
  const text = textOf(history).replaceAll(/"seconds":\d+/g, '');
  const { bvn, dateOfBirth, phone, addressLine1 } = KYC;
  for (const word of ['Ada Obi', 'Chidi Eze', bvn, dateOfBirth, phone, addressLine1]) expect(text).not.toContain(word);
  expect(text).not.toMatch(/\b\d{10,11}\b/); // an account number, or a BVN
  expect(text).not.toMatch(/[a-z]@[a-z]+\.[a-z]|https?:/i);
  expect(text).not.toMatch(/\b\d+@/); // a process and its host
});

test("operators' texts are in their messages and in the activities that record them, and nowhere else", () => {
  let texts = 0;
  const wrong = recorded.flatMap(({ name, history }) => {
    const events = (history.events ?? []).map((event) => {
      const isMessage =
        event.workflowExecutionUpdateAcceptedEventAttributes ?? event.workflowExecutionSignaledEventAttributes;
      return { event, isMessage: isMessage != null, text: textOf({ events: [event] }) };
    });
    const written = events
      .filter(({ isMessage }) => isMessage)
      .flatMap(({ text }) => [...text.matchAll(/"(?:reason|evidence)":"([^"]+)"/g)].map(([, words = '']) => words));
    texts += written.length;
    return events
      .filter(({ event, isMessage }) => !isMessage && !event.activityTaskScheduledEventAttributes)
      .flatMap(({ event, text }) =>
        written
          .filter((words) => text.includes(words))
          .map((words) => `${name}, event ${String(event.eventId)}: ${words}`),
      );
  });
  expect(wrong).toEqual([]);
  expect(texts).toBeGreaterThan(20);
});
