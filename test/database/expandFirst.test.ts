// Expand first, contract a minor later (docs/decisions/0034-going-back.md): a migration takes away nothing that the
// release before uses, which may run on its tables.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const MIGRATIONS = new URL('../../src/database/migrations/', import.meta.url);
/** No release is before these. */
const LAST_OF_FIRST_RELEASE = '0008_sandbox_bank.sql';

const CONTRACTIONS = {
  DROP: /\bDROP\b/i,
  RENAME: /\bRENAME\b/i,
  TYPE: /\bALTER (?:COLUMN )?\S+ (?:SET DATA )?TYPE\b/i,
  'SET NOT NULL': /\bSET NOT NULL\b/i,
  'ADD without a default': /\bADD\b(?!.*\b(?:DEFAULT|GENERATED)\b).*\bNOT NULL\b/i,
};

/** What a migration takes away or requires, unless its first line says the last minor that uses it. */
function contractionsOf(text: string): string[] {
  if (/^-- contracts \d+\.\d+\n/.test(text)) return [];
  let statements = text.replaceAll(/--.*$|\/\*[\s\S]*?\*\//gm, ' ').replaceAll(/'[^']*'/g, "''");
  // What is in parentheses is of one column or one new table. Without it, a comma divides the actions of a statement.
  for (let before = ''; before !== statements; ) {
    before = statements;
    statements = before.replaceAll(/\([^()]*\)/g, ' ');
  }
  const actions = statements.split(/[;,]/).map((action) => action.replaceAll(/\s+/g, ' '));
  return Object.entries(CONTRACTIONS)
    .filter(([, pattern]) => actions.some((action) => pattern.test(action)))
    .map(([name]) => name);
}

test.each<[string, string[]]>([
  ["ALTER TABLE payments ADD COLUMN note text NOT NULL DEFAULT 'none';", []],
  ["ALTER TABLE payments ADD note text, ADD COLUMN kind text CHECK (kind IS NOT NULL OR note = 'DROP');", []],
  ['CREATE TABLE notes (id uuid NOT NULL, text text NOT NULL);\nCREATE INDEX notes_by_id ON notes (id);', []],
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
  ['-- contracts\nDROP TABLE notes;', ['DROP']],
  ['-- Why.\n-- contracts 0.2\nDROP TABLE notes;', ['DROP']],
])('%j takes away: %j', (text, contractions) => {
  expect(contractionsOf(text)).toEqual(contractions);
});

test('no migration takes away what the release before uses', () => {
  const names = readdirSync(MIGRATIONS).toSorted();
  expect(names).toContain(LAST_OF_FIRST_RELEASE);
  const wrong = names
    .filter((name) => name > LAST_OF_FIRST_RELEASE)
    .map((name) => [name, contractionsOf(readFileSync(new URL(name, MIGRATIONS), 'utf8'))] as const)
    .filter(([, contractions]) => contractions.length > 0);
  expect(wrong).toEqual([]);
});
