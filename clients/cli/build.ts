// Makes dist/, the JavaScript of the published package: the command line and the TypeScript client, their types replaced
// by blanks, in folders as in the repository. Node strips no types below `node_modules`. `npm pack` runs it and removes
// dist/ again.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';

const FOLDERS = ['cli/src', 'typescript/src'];
/** It has types only: nothing imports it at run time. */
const TYPES_ONLY = 'schema.ts';

const clients = path.join(import.meta.dirname, '..');
const dist = path.join(import.meta.dirname, 'dist');
rmSync(dist, { recursive: true, force: true });
for (const folder of FOLDERS) {
  const files = readdirSync(path.join(clients, folder), { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.ts') && name !== TYPES_ONLY)) {
    const target = path.join(dist, folder, file.replace(/\.ts$/, '.js'));
    mkdirSync(path.dirname(target), { recursive: true });
    const text = stripTypeScriptTypes(readFileSync(path.join(clients, folder, file), 'utf8'));
    writeFileSync(target, text.replaceAll(/((?:from|import) ?\(?)'(\.{1,2}\/[^']+)\.ts'/g, "$1'$2.js'"));
  }
}
cpSync(path.join(clients, '../LICENSE'), path.join(dist, 'LICENSE'));
