// `npm run reset`: deletes the data of `npm start` (wallets, flows, keys), so that the next start begins empty.
import { existsSync, rmSync } from 'node:fs';
import { stateFolderPath } from '../src/cli/settings.ts';
import { answerVersion } from '../src/release.ts';
import { removePostgresFolder } from './postgresFiles.ts';
import { StateFolder } from './stateFolder.ts';

answerVersion();
const [argument] = process.argv.slice(2);
const stateFolder = new StateFolder(stateFolderPath());
const lockHolder = stateFolder.lockHolder();
if (argument !== undefined) {
  console.error(`Nothing was deleted: \`npm run reset\` has no arguments, and ${argument} was given.`);
  process.exitCode = 1;
} else if (lockHolder !== undefined) {
  console.error(
    `Manilla is running here (process ${lockHolder.pid}). Stop it first: Ctrl-C in its terminal, or \`kill ${lockHolder.pid}\`.`,
  );
  process.exitCode = 1;
} else if (existsSync(stateFolder.folder)) {
  removePostgresFolder(stateFolder.path('postgres'));
  rmSync(stateFolder.folder, { recursive: true, force: true });
  console.log(`Deleted ${stateFolder.folder}. The next \`npm start\` begins with empty data.`);
} else {
  console.log(`Nothing to delete: ${stateFolder.folder} does not exist.`);
}
