// Makes dist/, the JavaScript of the published package: the command line and the TypeScript client. `npm pack` runs it
// and removes dist/ again.
import path from 'node:path';
import { buildJavaScript } from '../buildPackage.ts';

const FOLDERS = { 'cli/src': 'cli/src', 'typescript/src': 'typescript/src' };

buildJavaScript(FOLDERS, path.join(import.meta.dirname, 'dist'));
