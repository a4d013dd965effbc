// What is generated from the OpenAPI document is up to date. The types of the TypeScript client, whose generator is not
// among the dependencies, are checked by `npm run generate -- clients check` in the gate.
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { generatedFiles } from '../../tools/generateClients.ts';

test.each(Object.entries(generatedFiles()))('%s is the output of `npm run generate -- clients`', (file, content) => {
  expect(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8') === content).toBe(true);
});
