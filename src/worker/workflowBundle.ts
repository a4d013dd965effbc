// Builds the workflow bundle for the SDK's sandbox. A build takes three CPU seconds and is deterministic for the same
// sources and packages, so it is cached on disk for restarts of a worker, replays and tests.
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type BundleOptions as SdkOptions } from '@temporalio/worker';
import { ENCODED_FAILURES } from '../temporal/dataConverter.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const WORKFLOWS = fileURLToPath(new URL('../workflows/index.ts', import.meta.url));
const SUMMARIES = fileURLToPath(new URL('../workflows/activitySummaries.ts', import.meta.url));

/** What workflows and their failure converter may import (test/tidy.test.ts). */
export const BUNDLED = 'src/{*,{concurrency,temporal,workflows}/**/*}.ts';

/** Bundles in the cache: enough for a developer who switches branches, with traces and without. */
const CACHED_MAX = 8;

/** `webpackConfigHook` must not change the bundle: the cache does not know of it. */
export interface BundleOptions extends Pick<SdkOptions, 'logger' | 'webpackConfigHook'> {
  /** Further workflow interceptor modules. */
  interceptors?: string[];
  /** For workers that encrypt payloads. */
  encodeFailures?: boolean;
  /** The cache folder. */
  folder?: string;
}

/**
 * Returns the bundle of src/workflows, from the cache if it was built from the same sources, packages and modules.
 * Where nothing can be cached (a read-only file system, packages not installed by npm), each process builds its own.
 */
export async function bundleWorkflows({
  interceptors = [],
  encodeFailures = false,
  folder = path.join(PROJECT, 'node_modules/.cache/manilla'),
  ...options
}: BundleOptions = {}): Promise<{ code: string }> {
  const converters = encodeFailures ? [ENCODED_FAILURES] : [];
  const key = await fingerprint([...interceptors, ...converters]).catch(() => null);
  const file = key === null ? null : path.join(folder, `workflows-${key}.js`);
  const cached = file === null ? null : await readFile(file, 'utf8').catch(() => null);
  if (cached !== null) return { code: cached };
  const { code } = await bundleWorkflowCode({
    workflowsPath: WORKFLOWS,
    workflowInterceptorModules: [SUMMARIES, ...interceptors],
    ...(encodeFailures && { failureConverterPath: ENCODED_FAILURES }),
    ...options,
  });
  if (file !== null) await store(file, code).catch(() => {});
  return { code };
}

/**
 * The cache key: a hash over every source file that may be in a bundle, the installed packages and the modules bundled
 * beside the workflows, with their content. Rejects when npm left no list of the installed packages.
 */
export async function fingerprint(modules: readonly string[], project = PROJECT): Promise<string> {
  const sources = globSync(BUNDLED, { cwd: project }).toSorted();
  // Modules may lie outside of src, as that of the replay command does.
  const files = ['node_modules/.package-lock.json', ...sources, ...modules];
  const hash = createHash('sha256').update(JSON.stringify([modules, files]));
  for (const text of await Promise.all(files.map((file) => readFile(path.resolve(project, file))))) {
    hash.update(`${text.length}:`).update(text);
  }
  return hash.digest('hex').slice(0, 32);
}

/** Writes a bundle atomically (temporary file, then rename), also with concurrent writers, and removes the oldest. */
async function store(file: string, code: string): Promise<void> {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true });
  const temporary = `${file}.${process.pid}`;
  await writeFile(temporary, code);
  await rename(temporary, file);
  const bundles = (await readdir(folder))
    .filter((name) => name.startsWith('workflows-'))
    .map((name) => path.join(folder, name));
  const aged = await Promise.all(bundles.map(async (name) => ({ name, modifiedAt: (await stat(name)).mtimeMs })));
  const old = aged.toSorted((one, other) => other.modifiedAt - one.modifiedAt).slice(CACHED_MAX);
  await Promise.all(old.map(({ name }) => rm(name, { force: true })));
}
