// Makes dist/, the JavaScript and the types of the published package. `npm pack` runs it and removes dist/ again;
// `node build.ts FOLDER` makes it elsewhere.
import { execFileSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { buildJavaScript, withBuiltImports } from '../buildPackage.ts';

const dist = path.resolve(process.argv[2] ?? path.join(import.meta.dirname, 'dist'));

buildJavaScript({ 'typescript/src': '' }, dist);

const compiler = path.join(path.dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin/tsc');
const project = path.join(import.meta.dirname, 'tsconfig.build.json');
execFileSync(process.execPath, [compiler, '--project', project, '--outDir', dist], { stdio: 'inherit' });
for (const file of globSync(path.join(dist, '*.d.ts'))) {
  writeFileSync(file, withBuiltImports(readFileSync(file, 'utf8')));
}
