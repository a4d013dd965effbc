// Makes dist/, the JavaScript of the published package: the sources of the command line and of the TypeScript client,
// with their types replaced by blanks, in folders as in the repository. `npm pack` runs it and removes dist/ again.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';

const CLIENTS = path.join(import.meta.dirname, '..');
const DIST = path.join(import.meta.dirname, 'dist');
/** The folders of sources, below `clients/`. `schema.ts` has types only: nothing imports it at run time. */
const FOLDERS = ['cli/src', 'typescript/src'];
const TYPES_ONLY = 'schema.ts';

/** The JavaScript of a TypeScript file; relative imports name the built files. */
const built = (source: string): string =>
  stripTypeScriptTypes(source).replaceAll(/((?:from|import) ?\(?)'(\.{1,2}\/[^']+)\.ts'/g, "$1'$2.js'");

rmSync(DIST, { recursive: true, force: true });
for (const folder of FOLDERS) {
  const files = readdirSync(path.join(CLIENTS, folder), { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.ts') && name !== TYPES_ONLY)) {
    const target = path.join(DIST, folder, file.replace(/\.ts$/, '.js'));
    mkdirSync(path.dirname(target), { recursive: true });
    writeFileSync(target, built(readFileSync(path.join(CLIENTS, folder, file), 'utf8')));
  }
}
cpSync(path.join(CLIENTS, '..', 'LICENSE'), path.join(DIST, 'LICENSE'));
