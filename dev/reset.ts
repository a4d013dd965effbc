// `npm run reset`: forgets everything the quick start keeps (wallets, flows, keys), so that the next start begins anew.
import { existsSync, rmSync } from 'node:fs';
import { stateFolderPath } from '../src/cli/settings.ts';
import { removePostgresFolder } from './postgres.ts';
import { StateFolder } from './stateFolder.ts';

const home = new StateFolder(stateFolderPath());
const occupant = home.lockHolder();
if (occupant !== undefined) {
  console.error(
    `Manilla runs here (process ${occupant.pid}). Stop it first: Ctrl-C in its terminal, or \`kill ${occupant.pid}\`.`,
  );
  process.exitCode = 1;
} else if (existsSync(home.folder)) {
  removePostgresFolder(home.path('postgres'));
  rmSync(home.folder, { recursive: true, force: true });
  console.log(`Forgot everything in ${home.folder}. The next \`npm start\` begins anew.`);
} else {
  console.log(`There is nothing to forget: ${home.folder} does not exist.`);
}
