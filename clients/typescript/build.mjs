// Makes dist/, the JavaScript and the types of the published package, with the compiler: it runs on every version of Node
// that the package supports. `npm pack` runs it and removes dist/ again; `node build.mjs FOLDER` makes it elsewhere.
import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = path.dirname(fileURLToPath(import.meta.url));
const dist = path.resolve(process.argv[2] ?? path.join(folder, 'dist'));
const compiler = path.join(path.dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
const project = path.join(folder, 'tsconfig.build.json');
execFileSync(process.execPath, [compiler, '--project', project, '--outDir', dist], { stdio: 'inherit' });
rmSync(path.join(dist, 'schema.js')); // it has types only
for (const name of readdirSync(dist)) {
  const file = path.join(dist, name);
  // The compiler leaves the imports of declarations as they are.
  if (name.endsWith('.d.ts')) {
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(from '\.\/[^']+)\.ts'/g, "$1.js'"));
  }
}
cpSync(path.join(folder, '../../LICENSE'), path.join(dist, 'LICENSE'));
