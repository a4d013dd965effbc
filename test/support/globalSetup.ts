// Runs once before all test files: starts a throw-away Postgres and Temporal server on free ports, migrates the template
// database and bundles the workflows. Nothing of it touches `.manilla`, so it works beside `npm start`.
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import { startPostgres } from '../../dev/postgres.ts';
import { Supervisor } from '../../dev/supervisor.ts';
import { startTemporal } from '../../dev/temporal.ts';
import { findTemporal } from '../../dev/temporalInstall.ts';
import { migrate } from '../../src/database/migrate.ts';
import { bundleWorkflows } from '../../src/worker/workflowBundle.ts';
import { keepForTeardown } from './globalTeardown.ts';
import { administer, databaseUrl, OWNER, STACK_VARIABLE, TEMPLATE, type TestStack } from './stack.ts';

const say = (line: string) => console.log(line);

export default async function globalSetup(): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'manilla-test-'));
  // Postgres may run as another account, which must get to its files below.
  await chmod(folder, 0o711);
  // Without onGiveUp nothing is started again: a server that dies in the middle must fail the tests, not be papered over.
  const parts = new Supervisor({ logFolder: path.join(folder, 'logs'), say });
  parts.removeAtEnd(folder);
  keepForTeardown(parts);
  tuneRuntimes(folder);

  const [adminDatabaseUrl, temporalAddress, workflowBundlePath] = await Promise.all([
    startDatabase(parts, folder),
    startTemporalServer(parts),
    writeBundle(folder),
  ]);
  const stack: TestStack = { adminDatabaseUrl, temporalAddress, workflowBundlePath };
  process.env[STACK_VARIABLE] = JSON.stringify(stack);
}

/** Settings of the programs below us that save a fifth of the Temporal server's work and half a second of each command's. */
function tuneRuntimes(folder: string): void {
  // Go's: collects garbage seldom, for which there is room.
  process.env.GOGC ??= '800';
  process.env.GOMEMLIMIT ??= '2GiB';
  // Node's: modules that one process has compiled are not compiled by the next.
  process.env.NODE_COMPILE_CACHE ??= path.join(folder, 'compiled');
}

async function startDatabase(parts: Supervisor, folder: string): Promise<string> {
  const { adminUrl } = await startPostgres(parts, {
    folder: path.join(folder, 'postgres'),
    password: randomBytes(12).toString('hex'),
    durability: 'throwAway',
  });
  await administer(adminUrl, `CREATE DATABASE ${TEMPLATE} OWNER ${OWNER}`);
  await migrate(databaseUrl(adminUrl, OWNER, TEMPLATE));
  return adminUrl;
}

async function startTemporalServer(parts: Supervisor): Promise<string> {
  const program = await findTemporal({ say });
  const { address } = await startTemporal(parts, { program });
  return address;
}

async function writeBundle(folder: string): Promise<string> {
  const { code } = await bundleWorkflows({ logger: new DefaultLogger('WARN') });
  const file = path.join(folder, 'workflows.js');
  await writeFile(file, code);
  return file;
}
