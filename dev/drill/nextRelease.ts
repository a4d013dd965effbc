// A made-up next release, for the drills of an upgrade and of going back: a copy of this one, of the next minor, whose
// migrations add a column to a table of money, a table and an index, which replaces every function of the ledger, and
// whose withdrawals have a step more.
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { VERSION } from '../../src/release.ts';

export const THIS_RELEASE = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = ['package.json', 'src'];
const LINKED = ['generated', 'node_modules'];

export const MIGRATIONS = {
  '9001_note_of_a_payment.sql': "ALTER TABLE payments ADD COLUMN note text NOT NULL DEFAULT 'none';",
  '9002_notes.sql':
    'CREATE TABLE notes (organisation_id uuid NOT NULL, id uuid NOT NULL, PRIMARY KEY (organisation_id, id));',
  '9003_payments_by_note_concurrently.sql':
    'CREATE INDEX CONCURRENTLY IF NOT EXISTS payments_by_note ON payments (organisation_id, note, id);',
};

const WITHDRAWAL = 'src/workflows/withdrawal/workflow.ts';
const FIRST_STEP = '  return { status: await driveBankTransfer';
/** What a worker of this release cannot replay: it fails the task, and one of the next release does it. */
const STEP_MORE = "  if (patched('one-step-more')) await sleep(100);\n";

/** Writes the next release to a new folder. Returns the names of the files that its `migrate` applies to this one. */
export function writeNextRelease(folder: string): string[] {
  mkdirSync(folder);
  for (const name of COPIED) cpSync(path.join(THIS_RELEASE, name), path.join(folder, name), { recursive: true });
  for (const name of LINKED) symlinkSync(path.join(THIS_RELEASE, name), path.join(folder, name));
  for (const [name, text] of Object.entries(MIGRATIONS)) {
    writeFileSync(path.join(folder, 'src/database/migrations', name), `${text}\n`);
  }
  const workflow = readFileSync(path.join(folder, WITHDRAWAL), 'utf8');
  if (!workflow.includes(FIRST_STEP)) throw new Error(`${WITHDRAWAL} has no line ${FIRST_STEP}: change it here too`);
  writeFileSync(
    path.join(folder, WITHDRAWAL),
    `import { patched, sleep } from '@temporalio/workflow';\n${workflow.replace(FIRST_STEP, `${STEP_MORE}${FIRST_STEP}`)}`,
  );
  const [major, minor] = VERSION.split('.');
  const manifest = path.join(folder, 'package.json');
  const version = `${major}.${Number(minor) + 1}.0`;
  writeFileSync(manifest, JSON.stringify({ ...JSON.parse(readFileSync(manifest, 'utf8')), version }));
  const folderOfFunctions = path.join(folder, 'src/ledger/sql');
  const functions = readdirSync(folderOfFunctions).filter((name) => name.endsWith('.sql'));
  for (const name of functions) {
    const file = path.join(folderOfFunctions, name);
    writeFileSync(file, ofNextVersion(readFileSync(file, 'utf8')));
  }
  return [...Object.keys(MIGRATIONS), ...functions.toSorted()];
}

/** The text of a file of functions with its version raised. The first line of version 1 has none. */
function ofNextVersion(text: string): string {
  const [line = '', version = 1] = /^-- version (\d+)\n/.exec(text) ?? [];
  return `-- version ${Number(version) + 1}\n${text.slice(line.length)}`;
}
