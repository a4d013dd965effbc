#!/usr/bin/env node
// The program `manilla`: the TypeScript source in the repository, what build.ts made of it in the published package.
// Node strips no types below node_modules, so the package has plain JavaScript.
import { existsSync } from 'node:fs';

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 18)) {
  console.error(`error: manilla needs Node.js 22.18 or newer; this is ${process.versions.node}.`);
  process.exit(2);
}
const source = new URL('./src/main.ts', import.meta.url);
await import(existsSync(source) ? source.href : new URL('./dist/cli/src/main.js', import.meta.url).href);
