// The examples of the OpenAPI document are real answers: a run of the story has the same operations, codes and events
// as the committed one, with the same fields. `npm run generate -- examples` records them again. Its events are also
// compared with what the API returns.
import { afterAll, expect, test } from '@jest/globals';
import { ROUTES } from '../../src/api/routes/index.ts';
import { EVENT_TYPES, TEST_EVENT_TYPE } from '../../src/resources/events.ts';
import { readExamples } from '../../tools/openapi/examples.ts';
import { eventProblem } from '../support/documented.ts';
import { startTestFlows } from '../support/flows.ts';
import { SCENARIO_SETTINGS } from '../support/scenarios.ts';
import { type EventAndResource, recordExamples } from './story.ts';

const moments = new Map<string, EventAndResource>();
const committed = readExamples();

const flows = await startTestFlows({ settings: SCENARIO_SETTINGS });
const recorded = await recordExamples(flows, moments);

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

/** What the API returns of the thing and its event does not (contract, section 6), by the first part of the type. */
const NOT_IN_EVENTS: Readonly<Record<string, readonly string[]>> = { payment: ['checkoutUrl'], payout: ['items'] };

// Those of wallets carry what moved, and the status of the wallet.
test.each(EVENT_TYPES.filter((type) => !type.startsWith('wallet.')))(
  '%s carries the whole resource, as the API returns it at that moment',
  (type) => {
    const { data, resource } = moments.get(type) ?? { data: {}, resource: {} };
    const omitted = NOT_IN_EVENTS[type.split('.')[0] ?? ''] ?? [];
    const { credit: _, ...fields } = data;
    expect(Object.keys(fields)).toContain('id');
    expect(fields).toEqual(Object.fromEntries(Object.entries(resource).filter(([name]) => !omitted.includes(name))));
  },
);
