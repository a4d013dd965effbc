// functionVersions.json has the digest of each file of functions and the version that it is of. From the release
// candidate on every edit raises the version in the first line: without it, `migrate` refuses to upgrade a database
// that has the text of the release before.
import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readFunctions } from '../../src/database/migrate.ts';

test('a file of functions has the text that is recorded for its version; after an edit, run `npm run generate -- functions`', async () => {
  const recorded = JSON.parse(readFileSync(new URL('functionVersions.json', import.meta.url), 'utf8'));
  const found = (await readFunctions()).map(({ name, version, checksum }) => [name, { version, checksum }]);
  expect(Object.fromEntries(found)).toEqual(recorded);
});
