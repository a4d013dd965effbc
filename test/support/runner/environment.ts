// A Jest environment without a sandbox: tests run with the globals of Node (runtime.ts).
import type { JestEnvironmentConfig } from '@jest/environment';
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

/** Node's default. Jest sets 100, which each call of `expect` collects. */
const STACK_FRAMES = 10;

export default class NativeEnvironment {
  readonly global = globalThis;
  readonly moduleMocker = new ModuleMocker(globalThis);
  readonly fakeTimersModern: ModernFakeTimers;
  readonly isWatching: boolean;
  readonly #before = {
    console: globalThis.console,
    process: globalThis.process,
    exit: process.exit.bind(process),
    env: process.env,
    variables: { ...process.env },
  };

  constructor({ globalConfig, projectConfig }: JestEnvironmentConfig) {
    this.isWatching = globalConfig.watch || globalConfig.watchAll;
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  getVmContext(): null {
    return null;
  }

  async setup(): Promise<void> {
    Error.stackTraceLimit = STACK_FRAMES;
  }

  async teardown(): Promise<void> {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    // Jest replaces the console and `exit` for a test file, and some tests the process or its environment.
    const { console, process, exit, env, variables } = this.#before;
    Object.assign(globalThis, { console, process });
    Object.assign(process, { exit, env });
    for (const name of Object.keys(env)) if (!(name in variables)) delete env[name];
    Object.assign(env, variables);
  }
}
