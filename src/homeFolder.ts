// The folder in which `npm start` keeps its data and tells how to reach it: one rule for what starts and what joins in.
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('..', import.meta.url));

/** `.manilla` in the project unless MANILLA_HOME names another; a relative one is taken from the project too. */
export function homeFolder(environment: NodeJS.ProcessEnv = process.env): string {
  return path.resolve(PROJECT, environment.MANILLA_HOME || '.manilla');
}
