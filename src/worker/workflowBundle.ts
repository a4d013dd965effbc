// The code of the workflows in one file, as the SDK's sandbox takes it. Making it costs three seconds of a processor and gives the
// same for the same sources and packages, so it is kept: a worker that is started again, a replay and the tests find it.
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type Logger } from '@temporalio/worker';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const WORKFLOWS = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));

/** As many as a developer goes back and forth between, with traces and without. */
const KEPT_MAX = 8;

export interface BundleOptions {
  /** Modules that stand around every workflow. */
  interceptors?: string[];
  logger?: Logger;
  /** Where bundles are kept. */
  folder?: string;
}

/**
 * The bundle of src/workflows. One that was made of the same sources, packages and interceptors is read from where it is kept;
 * where nothing can be kept (a file system that is read only, packages that npm did not install), each process makes its own.
 */
export async function bundleWorkflows({
  interceptors = [],
  logger,
  folder = path.join(PROJECT, 'node_modules/.cache/manilla'),
}: BundleOptions = {}): Promise<{ code: string }> {
  const known = await fingerprint(interceptors).catch(() => null);
  const file = known === null ? null : path.join(folder, `workflows-${known}.js`);
  const kept = file === null ? null : await readFile(file, 'utf8').catch(() => null);
  if (kept !== null) return { code: kept };
  const { code } = await bundleWorkflowCode({
    workflowsPath: WORKFLOWS,
    workflowInterceptorModules: interceptors,
    ...(logger !== undefined && { logger }),
  });
  if (file !== null) await keep(file, code).catch(() => {});
  return { code };
}

/**
 * Tells one bundle from another: every source file, the packages that are installed, and what stands around the workflows. Rejects
 * where npm left no list of the packages.
 */
export async function fingerprint(interceptors: readonly string[], project = PROJECT): Promise<string> {
  const sources = globSync('src/**/*.ts', { cwd: project }).toSorted();
  const files = ['node_modules/.package-lock.json', ...sources];
  const hash = createHash('sha256').update(JSON.stringify([interceptors, files]));
  for (const text of await Promise.all(files.map((file) => readFile(path.join(project, file))))) {
    hash.update(`${text.length}:`).update(text);
  }
  return hash.digest('hex').slice(0, 32);
}

/** Puts it there whole or not at all, whoever else does the same, and removes those that were made longest ago. */
async function keep(file: string, code: string): Promise<void> {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true });
  const unfinished = `${file}.${process.pid}`;
  await writeFile(unfinished, code);
  await rename(unfinished, file);
  const bundles = (await readdir(folder))
    .filter((name) => name.startsWith('workflows-'))
    .map((name) => path.join(folder, name));
  const aged = await Promise.all(bundles.map(async (name) => ({ name, made: (await stat(name)).mtimeMs })));
  const old = aged.toSorted((one, other) => other.made - one.made).slice(KEPT_MAX);
  await Promise.all(old.map(({ name }) => rm(name, { force: true })));
}
