// Runs after every `npm ci`: makes `npx manilla` in this repository run the command line in clients/cli. Without it npx
// would look for a package of that name in the registry.
import { mkdirSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * Links the program into node_modules/.bin, as npm links those of packages.
 * @param {string} root
 */
export function linkCommand(root) {
  const folder = path.join(root, 'node_modules', '.bin');
  const link = path.join(folder, 'manilla');
  mkdirSync(folder, { recursive: true });
  rmSync(link, { force: true });
  symlinkSync(path.join('..', '..', 'clients', 'cli', 'manilla.mjs'), link);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  linkCommand(fileURLToPath(new URL('..', import.meta.url)));
}
