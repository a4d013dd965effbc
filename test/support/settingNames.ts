// The settings of the service, as docs/configuration.md lists them.
import { readFileSync } from 'node:fs';

const PAGE = new URL('../../docs/configuration.md', import.meta.url);

/** The names in the tables of the page, in its order. */
export function settingNames(): string[] {
  return [...readFileSync(PAGE, 'utf8').matchAll(/^\| `([A-Z][A-Z0-9_]+)` \|/gm)].map(([, name = '']) => name);
}
