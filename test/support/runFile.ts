// Runs a test file with Jest's circus and with modules that Node loads. Jest would load every module again for every
// file, into a realm of its own, which takes half the processor time of a whole run. Here a worker of Jest loads the
// packages and src once, and their compiled code stays; what is in test is loaded for each file.
import { readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';

interface Runtime {
  setGlobalsForRuntime: (globals: object) => void;
  requireModuleOrMock: (from: string, name: string) => object;
}

interface Environment {
  global: typeof globalThis;
}

type RunFile<Loader> = (
  globalConfig: unknown,
  config: unknown,
  environment: Environment,
  loader: Loader,
  testPath: string,
  sendMessage: unknown,
) => Promise<unknown>;

const require = createRequire(import.meta.url);
const { default: circus } = require('jest-circus/runner') as { default: RunFile<object> };

const ROOT = new URL('../../', import.meta.url).href;
/** Files that get src anew too: those that count from the start of a process, by their folder; */
const COUNTS = '/test/metrics/';
/** and, by their text, those that add a provider to src or change the clock: ids never go back to an earlier time. */
const CHANGES_SRC = /\/(laterBank|payoutBank|providers)\.ts'|shiftClock|spyOn\(Date|useFakeTimers/;
const GLOBALS_URL = 'jest-globals:';
/** Where a module of `GLOBALS_URL` finds what `@jest/globals` exports to the present file. */
const GLOBALS = 'manilla jest globals';
const onWorker = globalThis as unknown as Record<string | symbol, object>;

/** Counts the files of this worker. */
let file = 0;
let loadedAnew = ['test'];

registerHooks({
  resolve(specifier, context, next) {
    if (specifier === '@jest/globals') return { url: `${GLOBALS_URL}${file}`, format: 'module', shortCircuit: true };
    const resolved = next(specifier, context);
    const isNew = resolved.url.endsWith('.ts') && loadedAnew.some((name) => resolved.url.startsWith(`${ROOT}${name}/`));
    return isNew ? { ...resolved, url: `${resolved.url}?file=${file}` } : resolved;
  },
  load(url, context, next) {
    if (!url.startsWith(GLOBALS_URL)) return next(url, context);
    const names = Object.keys(onWorker[GLOBALS] ?? {}).join();
    return { format: 'module', shortCircuit: true, source: `export const { ${names} } = globalThis['${GLOBALS}'];` };
  },
});

const runFile: RunFile<Runtime> = async (globalConfig, config, environment, runtime, testPath, sendMessage) => {
  file += 1;
  const isAlone = testPath.includes(COUNTS) || CHANGES_SRC.test(readFileSync(testPath, 'utf8'));
  loadedAnew = isAlone ? ['test', 'src'] : ['test'];
  // Circus keeps the tests and handlers of a file in its modules and in this global.
  delete onWorker[Symbol.for('EVENT_HANDLERS')];
  for (const path of Object.keys(require.cache)) if (path.endsWith('jestAdapterInit.js')) delete require.cache[path];
  const before = { console: globalThis.console, env: { ...process.env } };
  globalThis.console = environment.global.console;
  const nothing = (): void => {};
  const loader = {
    requireInternalModule: require,
    requireModule: require,
    setGlobalsForRuntime: (globals: object) => runtime.setGlobalsForRuntime(globals),
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: (path: string) => {
      onWorker[GLOBALS] = runtime.requireModuleOrMock(testPath, '@jest/globals');
      return import(pathToFileURL(path).href);
    },
    enterTestCode: nothing,
    leaveTestCode: nothing,
  };
  try {
    return await circus(globalConfig, config, environment, loader, testPath, sendMessage);
  } finally {
    globalThis.console = before.console;
    for (const name of Object.keys(process.env)) if (!(name in before.env)) delete process.env[name];
    Object.assign(process.env, before.env);
  }
};

export default runFile;
