// The made-up next release of the drills `upgrade` and `rollback`: what it changes is what they show.
import { readdirSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { MIGRATIONS, writeNextRelease } from '../../dev/drill/nextRelease.ts';
import { migrateTo } from '../../dev/drill/upgrade.ts';
import { temporaryFolder } from '../dev/temporaryFolder.ts';
import { createDatabase, ownerOf } from '../support/stack.ts';

const FUNCTIONS = readdirSync(path.join(import.meta.dirname, '../../src/ledger/sql')).toSorted();

test('the next release adds its migrations to this one, and replaces every function', async () => {
  const folder = path.join(temporaryFolder(), 'next');
  const applied = writeNextRelease(folder);
  expect(applied).toEqual([...Object.keys(MIGRATIONS), ...FUNCTIONS]);
  const database = await createDatabase();
  expect(await migrateTo(folder, ownerOf(database.url))).toEqual(applied.map((name) => `applied ${name}`));
  await database.drop();
});
