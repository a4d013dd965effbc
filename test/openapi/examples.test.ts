// The examples of the OpenAPI document are real answers: a run of the story has the same operations, codes and events
// as the committed one, with the same fields. `npm run examples` records them again.
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ROUTES } from '../../src/api/routes/index.ts';
import { EVENT_TYPES, TEST_EVENT_TYPE } from '../../src/resources/events.ts';
import { type Examples, readExamples } from '../../tools/openapi/examples.ts';
import { eventProblem } from '../support/documented.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { SCENARIO_SETTINGS } from '../support/scenarios.ts';
import { recordExamples } from './story.ts';

let flows: TestFlows;
let recorded: Examples;
const committed = readExamples();

beforeAll(async () => {
  flows = await startTestFlows({ settings: SCENARIO_SETTINGS });
  recorded = await recordExamples(flows);
});

afterAll(() => flows.close());

/** The fields of a value, with the types of their values: of an array, those of its first item. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? [] : [shapeOf(value[0])];
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, shapeOf(field)]));
}

test('every operation has an example', () => {
  const expected = ROUTES.map(({ operationId }) => operationId).toSorted();
  expect(Object.keys(committed.operations).toSorted()).toEqual(expected);
});

test('every event type has an example, which has the schema of its type', () => {
  expect(Object.keys(committed.events).toSorted()).toEqual([...EVENT_TYPES, TEST_EVENT_TYPE].toSorted());
  for (const event of Object.values(committed.events)) expect(eventProblem(event as object as never)).toBeNull();
});

test.each(['operations', 'errors', 'events'] as const)(
  'the %s of a new run have the fields of the examples',
  (kind) => {
    expect(shapeOf(recorded[kind])).toEqual(shapeOf(committed[kind]));
  },
);
