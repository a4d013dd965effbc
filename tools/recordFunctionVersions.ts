// Records the version and the digest of each file of functions, which `functionVersions.test.ts` compares. Before the
// first release a function is edited in place, at version 1, and recorded again: `npm run generate -- functions`.
import { writeFileSync } from 'node:fs';
import { readFunctions } from '../src/database/migrate.ts';

const FILE = new URL('../test/database/functionVersions.json', import.meta.url);

export async function writeFunctionVersions(): Promise<void> {
  const functions = await readFunctions();
  const recorded = functions.map(({ name, version, checksum }) => [name, { version, checksum }]);
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(recorded), null, 2)}\n`);
}
