// The release of this code: the version in package.json, which `--version` of every process prints.
import { readFileSync } from 'node:fs';

export const { version: VERSION } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

/** For a process without other options, before it reads its settings. */
export function answerVersion(): void {
  if (!process.argv.includes('--version')) return;
  console.log(VERSION);
  process.exit();
}
