// Every edit of a file of functions raises the version in its first line: without it, `migrate` refuses to upgrade a
// database that has the text of the release before. functionVersions.json has the text of each version, as its digest.
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readFunctions } from '../../src/database/migrate.ts';

test('a file of functions has the text that is recorded for its version; after an edit, raise the version and record it', async () => {
  const recorded = JSON.parse(readFileSync(new URL('functionVersions.json', import.meta.url), 'utf8'));
  const found = (await readFunctions()).map(({ name, version, checksum }) => [name, { version, checksum }]);
  expect(Object.fromEntries(found)).toEqual(recorded);
});
