// A Jest runtime that imports modules as Node does. Jest's own loads and compiles every module again for each test
// file, which is half of the work of a run. Here the modules of the service and its libraries are loaded once for each
// process of Jest, and so are those of `test/support` that do not use Jest; other modules in `test` once for each test
// file, as they register hooks and keep state. With `--watch` all but the libraries are loaded for each test file, as
// they change.
import { readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import type NativeEnvironment from './environment.ts';

type Globals = Omit<typeof import('@jest/globals'), 'jest'>;

const JEST = '@jest/globals';
const require = createRequire(import.meta.url);
const RUNNER = new URL('.', import.meta.url).href;
const GLOBALS = new URL('./globals.ts', import.meta.url).href;
const TESTS = new URL('../../', import.meta.url).href;
const PROJECT = new URL('../../../', import.meta.url).href;
const LIBRARIES = new URL('../../../node_modules/', import.meta.url).href;
const SUPPORT = new URL('..', import.meta.url).href;

/** What jest-circus keeps as globals from one test file to the next. */
const EVENT_HANDLERS = Symbol.for('EVENT_HANDLERS');
const TEST_TIMEOUT = Symbol.for('TEST_TIMEOUT_SYMBOL');

let current: ReturnType<typeof globalsOf> | null = null;
let filesLoaded = 0;
let isWatching = false;

/** The globals of the test file that runs. */
export function currentGlobals() {
  if (current === null) throw new Error('@jest/globals can only be imported in tests: run them with `npm test`.');
  return current;
}

/** `jest` has what the tests use of it. */
function globalsOf(globals: Globals, { fakeTimersModern: timers, moduleMocker: mocker }: NativeEnvironment) {
  const jest = {
    fn: mocker.fn.bind(mocker),
    spyOn: mocker.spyOn.bind(mocker),
    setTimeout: (ms: number) => void Reflect.set(globalThis, TEST_TIMEOUT, ms),
    useFakeTimers: timers.useFakeTimers.bind(timers),
    useRealTimers: timers.useRealTimers.bind(timers),
    advanceTimersByTime: timers.advanceTimersByTime.bind(timers),
    advanceTimersByTimeAsync: timers.advanceTimersByTimeAsync.bind(timers),
    getTimerCount: timers.getTimerCount.bind(timers),
  };
  return { ...globals, jest };
}

/** The query that marks the modules of one test file; empty for those of no test file. */
const markOf = (url = ''): string => /\?file=\d+$/.exec(url)?.[0] ?? '';

registerHooks({
  resolve(specifier, context, next) {
    const mark = markOf(context.parentURL);
    if (specifier === JEST && mark === '') {
      throw new Error(`${context.parentURL} uses Jest, but a module that is loaded once for all tests imports it.`);
    }
    if (specifier === JEST) return { url: GLOBALS + mark, format: 'module-typescript', shortCircuit: true };
    const resolved = next(specifier, context);
    return isShared(resolved.url) ? resolved : { ...resolved, url: resolved.url + mark };
  },
});

/** Whether a module is loaded once for all test files. */
function isShared(url: string): boolean {
  if (url.startsWith(RUNNER) || url.startsWith(LIBRARIES)) return true;
  if (isWatching) return !url.startsWith(PROJECT);
  return url.startsWith(SUPPORT) ? !usesJest(url) : !url.startsWith(TESTS);
}

const usingJest = new Map<string, boolean>();

/** Whether a module registers hooks or tests, or asserts: by its imports. */
function usesJest(url: string): boolean {
  const known = usingJest.get(url) ?? readFileSync(new URL(url), 'utf8').includes(`from '${JEST}'`);
  usingJest.set(url, known);
  return known;
}

/** What Jest calls of a runtime. Files are paths. */
export default class NativeRuntime {
  readonly #environment: NativeEnvironment;

  constructor(_config: unknown, environment: NativeEnvironment) {
    this.#environment = environment;
    isWatching = environment.isWatching;
  }

  unstable_shouldLoadAsEsm(): boolean {
    return true;
  }

  async unstable_importModule(file: string): Promise<void> {
    filesLoaded += 1;
    await import(`${pathToFileURL(file).href}?file=${filesLoaded}`);
  }

  requireModule(file: string): unknown {
    return require(file);
  }

  /** Loads jest-circus, which keeps the tests of one file. */
  requireInternalModule(file: string): unknown {
    delete require.cache[file];
    for (const kept of [EVENT_HANDLERS, TEST_TIMEOUT]) Reflect.deleteProperty(globalThis, kept);
    return require(file);
  }

  setGlobalsForRuntime(globals: Globals): void {
    current = globalsOf(globals, this.#environment);
  }

  enterTestCode(): void {}

  leaveTestCode(): void {}

  getSourceMaps(): null {
    return null;
  }

  getAllCoverageInfoCopy(): undefined {
    return undefined;
  }

  teardown(): void {
    current = null;
  }
}
