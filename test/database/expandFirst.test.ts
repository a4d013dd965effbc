// Expand first, contract a minor later (docs/decisions/0034-going-back.md): a migration takes away nothing that the
// release before uses, which may run on its tables.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { isBefore, minorOf, refuseRelease } from '../../src/database/releases.ts';
import { VERSION } from '../../src/release.ts';

const MIGRATIONS = new URL('../../src/database/migrations/', import.meta.url);
const FUNCTIONS = new URL('../../src/ledger/sql/', import.meta.url);
/** No release is before these. */
const LAST_OF_FIRST_RELEASE = '0008_sandbox_bank.sql';

const CONTRACTIONS = {
  DROP: /\bDROP\b/i,
  RENAME: /\bRENAME\b/i,
  TYPE: /\bALTER (?:COLUMN )?\S+ (?:SET DATA )?TYPE\b/i,
  'SET NOT NULL': /\bSET NOT NULL\b/i,
  'ADD without a default': /\bADD\b(?!.*\b(?:DEFAULT|GENERATED)\b).*\bNOT NULL\b/i,
  'ADD a constraint': /\bADD (?:CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)\b/i,
  'UNIQUE INDEX': /\bCREATE UNIQUE INDEX\b/i,
  TRIGGER: /\bCREATE (?:OR REPLACE )?(?:CONSTRAINT )?TRIGGER\b/i,
  REVOKE: /\bREVOKE\b/i,
};

/**
 * What a file of a release takes away or requires, unless its first line says the last minor that uses it, which does
 * not run on the database of this release any more.
 */
function contractionsOf(text: string, version: string): string[] {
  const [, minor] = /^-- contracts (\d+\.\d+)\n/.exec(text) ?? [];
  const current = minorOf(version);
  if (minor !== undefined && isBefore(minor, current) && refuseRelease(minor, [current]) !== null) return [];
  let statements = text.replaceAll(/--.*$|\/\*[\s\S]*?\*\//gm, ' ').replaceAll(/'[^']*'/g, "''");
  // What is in parentheses is of one column or one new table. Without it, a comma divides the actions of a statement.
  for (let before = ''; before !== statements; ) {
    before = statements;
    statements = before.replaceAll(/\([^()]*\)/g, ' ');
  }
  const [, ...created] = statements.split(/\bCREATE TABLE /i).map((rest) => /^\S+/.exec(rest)?.[0]);
  const ofOldTables = statements
    .replaceAll(/\s+/g, ' ')
    .split(';')
    .filter((statement) => !created.includes(/\b(?:ON|TABLE) (\S+)/i.exec(statement)?.[1]));
  const actions = ofOldTables.flatMap((statement) => statement.split(','));
  return Object.entries(CONTRACTIONS)
    .filter(([, pattern]) => actions.some((action) => pattern.test(action)))
    .map(([name]) => name);
}

test.each<[string, string[]]>([
  ["ALTER TABLE payments ADD COLUMN note text NOT NULL DEFAULT 'none';", []],
  ["ALTER TABLE payments ADD note text, ADD COLUMN kind text CHECK (kind IS NOT NULL OR note = 'DROP');", []],
  ['CREATE TABLE notes (id uuid NOT NULL, text text NOT NULL);\nCREATE INDEX notes_by_id ON notes (id);', []],
  ['CREATE TABLE notes (id uuid);\nCREATE UNIQUE INDEX notes_by_id ON notes (id);\nREVOKE DELETE ON notes FROM a;', []],
  ['-- Nothing is dropped: DROP would be refused.\n/* RENAME\n too */ CREATE VIEW v AS SELECT 1;', []],
  ["ALTER TYPE kind ADD VALUE 'other';", []],
  ['ALTER TABLE a ADD COLUMN b bigint NOT NULL GENERATED ALWAYS AS (c + 1) STORED;', []],
  ['DROP TABLE notes;', ['DROP']],
  ['alter table notes\n  drop column text;', ['DROP']],
  ['CREATE TABLE a (id uuid); DROP INDEX IF EXISTS b;', ['DROP']],
  ['DO $$ BEGIN DROP TABLE notes; END $$;', ['DROP']],
  ['ALTER TABLE notes RENAME COLUMN text TO body;', ['RENAME']],
  ['ALTER TABLE notes RENAME TO texts;', ['RENAME']],
  ['ALTER TABLE notes ALTER COLUMN id TYPE text USING (id::text);', ['TYPE']],
  ['ALTER TABLE notes ALTER "id" SET DATA TYPE numeric(10, 2);', ['TYPE']],
  ['ALTER TABLE notes\n  ALTER COLUMN text\n  SET NOT NULL;', ['SET NOT NULL']],
  ['ALTER TABLE notes ADD COLUMN kind text NOT NULL;', ['ADD without a default']],
  ["ALTER TABLE notes ADD kind numeric(10, 2) NOT NULL, ADD other text DEFAULT 'x';", ['ADD without a default']],
  ['-- contracts 0.2\nDROP TABLE notes; ALTER TABLE a RENAME TO b;', []],
  ['-- contracts 0.3\nDROP TABLE notes;', ['DROP']],
  ['-- contracts 0.4\nDROP TABLE notes;', ['DROP']],
  ['-- contracts 9.9\nDROP TABLE notes;', ['DROP']],
  ['-- contracts\nDROP TABLE notes;', ['DROP']],
  ['-- Why.\n-- contracts 0.2\nDROP TABLE notes;', ['DROP']],
  ["ALTER TABLE notes ADD CONSTRAINT text_is_short CHECK (text <> 'DROP');", ['ADD a constraint']],
  ['ALTER TABLE notes ADD UNIQUE (text), ADD COLUMN kind text;', ['ADD a constraint']],
  ['CREATE UNIQUE INDEX CONCURRENTLY notes_by_text ON notes (text);', ['UNIQUE INDEX']],
  ['CREATE TRIGGER checked BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION check_note();', ['TRIGGER']],
  ['REVOKE INSERT ON notes FROM manilla_app;', ['REVOKE']],
  ['CREATE TABLE notes (id uuid); REVOKE INSERT ON texts FROM manilla_app;', ['REVOKE']],
])('%j of release 0.4.0 takes away: %j', (text, contractions) => {
  expect(contractionsOf(text, '0.4.0')).toEqual(contractions);
});

test('no migration and no file of functions takes away what the release before uses', () => {
  const names = readdirSync(MIGRATIONS).toSorted();
  expect(names).toContain(LAST_OF_FIRST_RELEASE);
  const later = names.filter((name) => name > LAST_OF_FIRST_RELEASE).map((name) => new URL(name, MIGRATIONS));
  const functions = readdirSync(FUNCTIONS).map((name) => new URL(name, FUNCTIONS));
  const wrong = [...later, ...functions]
    .map((file) => [file.pathname, contractionsOf(readFileSync(file, 'utf8'), VERSION)] as const)
    .filter(([, contractions]) => contractions.length > 0);
  expect(wrong).toEqual([]);
});
