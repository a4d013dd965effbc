// Makes the JavaScript of the published packages: their sources with the types replaced by blanks, in folders as in the
// repository. Node strips no types below `node_modules`.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';

/** `schema.ts` has types only: nothing imports it at run time. */
const TYPES_ONLY = 'schema.ts';

/** The relative imports of a file, JavaScript or declarations, name the built files. */
export const withBuiltImports = (text: string): string =>
  text.replaceAll(/((?:from|import) ?\(?)'(\.{1,2}\/[^']+)\.ts'/g, "$1'$2.js'");

/** Writes the sources in these folders, below `clients/`, to `dist` as JavaScript, with the licence. */
export function buildJavaScript(folders: Readonly<Record<string, string>>, dist: string): void {
  rmSync(dist, { recursive: true, force: true });
  for (const [folder, place] of Object.entries(folders)) {
    const source = path.join(import.meta.dirname, folder);
    const files = readdirSync(source, { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => name.endsWith('.ts') && name !== TYPES_ONLY)) {
      const target = path.join(dist, place, file.replace(/\.ts$/, '.js'));
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, withBuiltImports(stripTypeScriptTypes(readFileSync(path.join(source, file), 'utf8'))));
    }
  }
  cpSync(path.join(import.meta.dirname, '..', 'LICENSE'), path.join(dist, 'LICENSE'));
}
