// The examples of the OpenAPI document, generated/examples.json: answers that a run of test/openapi/examples.test.ts
// received.
import { readFileSync, writeFileSync } from 'node:fs';

export interface Examples {
  /** By operationId. */
  operations: Record<string, { request?: unknown; response: unknown }>;
  /** By error code. */
  errors: Record<string, unknown>;
  /** By event type. */
  events: Record<string, unknown>;
}

const FILE = new URL('../../generated/examples.json', import.meta.url);

export const readExamples = (): Examples => JSON.parse(readFileSync(FILE, 'utf8')) as Examples;

export const writeExamples = (examples: Examples): void => {
  writeFileSync(FILE, `${JSON.stringify(examples, null, 2)}\n`);
};
