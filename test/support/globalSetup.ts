// Runs once before all test files: starts a temporary Postgres and Temporal server on free ports, migrates the template
// database and bundles the workflows. Does not use `.manilla`, so tests can run while `npm start` does.
import { randomBytes } from 'node:crypto';
import { access, chmod, constants, mkdtemp, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DefaultLogger } from '@temporalio/worker';
import { OWNER, ownerUrl, startPostgres } from '../../dev/postgres.ts';
import { Supervisor } from '../../dev/supervisor.ts';
import { startTemporal } from '../../dev/temporal.ts';
import { findTemporal } from '../../dev/temporalInstall.mjs';
import { runsOthers } from '../../jest.config.js';
import { migrate } from '../../src/database/migrate.ts';
import { bundleWorkflows } from '../../src/worker/workflowBundle.ts';
import { keepForTeardown } from './globalTeardown.ts';
import { createTestOperators } from './operators.ts';
import { administer, STACK_VARIABLE, TEMPLATE, type TestStack } from './stack.ts';

const say = (line: string) => console.log(line);

const globalSetup = (): Promise<void> => startStack(startDatabase);
export default globalSetup;

/** The servers that `openDatabase` starts or finds, with the template database on each. */
export type OpenDatabase = (
  supervisor: Supervisor,
  folder: string,
) => Promise<Pick<TestStack, 'adminDatabaseUrl' | 'otherNodeUrls'>>;

/** Starts the stack for all test files. The supervisor stops what it started when the run ends. */
export async function startStack(openDatabase: OpenDatabase): Promise<void> {
  const folder = await mkdtemp(path.join(await folderOfStacks(), 'manilla-test-'));
  // Postgres may run as another account, which must be able to enter the folder.
  await chmod(folder, 0o711);
  // Without onGiveUp nothing is restarted: a server that crashes during the run must fail the tests.
  const supervisor = new Supervisor({ logFolder: path.join(folder, 'logs'), say });
  supervisor.removeAtEnd(folder);
  keepForTeardown(supervisor);
  tuneRuntimes(folder);

  const [database, temporalAddress, workflowBundlePath] = await Promise.all([
    openDatabase(supervisor, folder),
    startTemporalServer(supervisor),
    writeBundle(folder),
  ]);
  const stack: TestStack = { ...database, temporalAddress, workflowBundlePath };
  process.env[STACK_VARIABLE] = JSON.stringify(stack);
}

const MEMORY_FOLDER = '/dev/shm';
const GIGABYTE = 2 ** 30;

/**
 * In memory where there is plenty: each test database is 300 files, which a disk takes up to twenty times as long to
 * create. The tests take half a gigabyte. Slow ones take many, so theirs are on the disk.
 */
async function folderOfStacks(): Promise<string> {
  if (runsOthers || process.availableMemory() < 8 * GIGABYTE) return tmpdir();
  const space = await access(MEMORY_FOLDER, constants.W_OK)
    .then(() => statfs(MEMORY_FOLDER))
    .catch(() => null);
  return space === null || space.bavail * space.bsize < 4 * GIGABYTE ? tmpdir() : MEMORY_FOLDER;
}

/**
 * Environment variables of this process and its children that save a fifth of the Temporal server's CPU, half a second
 * per command, and a thread for each worker.
 */
function tuneRuntimes(folder: string): void {
  // Go: less frequent garbage collection, at the cost of memory.
  process.env.GOGC ??= '800';
  process.env.GOMEMLIMIT ??= '2GiB';
  // Node: a compile cache shared by all processes.
  process.env.NODE_COMPILE_CACHE ??= path.join(folder, 'compiled');
  // Temporal: workflows on the main thread. In threads, as in production and in the slow tests, each worker loads the
  // SDK and the workflows again, a fifth of the processor time of the flows.
  if (!runsOthers) process.env.TEMPORAL_DEBUG ??= '1';
}

const startDatabase: OpenDatabase = async (supervisor, folder) => {
  const { adminUrl } = await startPostgres(supervisor, {
    folder: path.join(folder, 'postgres'),
    password: randomBytes(12).toString('hex'),
    durability: 'throwAway',
  });
  await administer(adminUrl, `CREATE DATABASE ${TEMPLATE} OWNER ${OWNER}`);
  await grantToTests(adminUrl);
  await migrate(ownerUrl(adminUrl, TEMPLATE));
  await createTestOperators(ownerUrl(adminUrl, TEMPLATE));
  return { adminDatabaseUrl: adminUrl };
};

/** Tests await what the sessions of the service do, and end them. */
export const grantToTests = (adminUrl: string): Promise<void> =>
  administer(adminUrl, `GRANT pg_read_all_stats, pg_signal_backend TO ${OWNER}`);

async function startTemporalServer(supervisor: Supervisor): Promise<string> {
  const program = await findTemporal({ say });
  const { address } = await startTemporal(supervisor, { program });
  return address;
}

async function writeBundle(folder: string): Promise<string> {
  const { code } = await bundleWorkflows({ logger: new DefaultLogger('WARN') });
  const file = path.join(folder, 'workflows.js');
  await writeFile(file, code);
  return file;
}
