// Every edit of a file of functions raises the version in its first line: without it, `migrate` refuses to upgrade a
// database that has the text of the release before. functionVersions.json has the text of each version, as its digest.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const FOLDER = new URL('../../src/ledger/sql/', import.meta.url);

test('a file of functions has the text that is recorded for its version; after an edit, raise the version and record it', () => {
  const recorded = JSON.parse(readFileSync(new URL('functionVersions.json', import.meta.url), 'utf8'));
  const found = Object.fromEntries(
    readdirSync(FOLDER)
      .filter((name) => name.endsWith('.sql'))
      .map((name) => {
        const text = readFileSync(new URL(name, FOLDER), 'utf8');
        const version = Number(/^-- version (\d+)\n/.exec(text)?.[1]);
        return [name, { version, sha256: createHash('sha256').update(text).digest('hex') }];
      }),
  );
  expect(found).toEqual(recorded);
});
