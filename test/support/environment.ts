// Jest's environment of test files that run in the realm of their Node process (runFile.ts), with `jest.spyOn` and fake
// timers for that realm.
import { ModernFakeTimers } from '@jest/fake-timers';
import { ModuleMocker } from 'jest-mock';

type FakeTimersOptions = ConstructorParameters<typeof ModernFakeTimers>[0];

export default class ProcessEnvironment {
  // Jest changes these: a console and functions of the process, which are those of a test file.
  readonly global = Object.assign(Object.create(globalThis) as typeof globalThis, {
    process: Object.create(process) as typeof process,
  });
  readonly fakeTimers = null;
  readonly fakeTimersModern: ModernFakeTimers;
  readonly moduleMocker = new ModuleMocker(globalThis);

  constructor({ projectConfig }: { projectConfig: FakeTimersOptions['config'] }) {
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: globalThis });
  }

  async setup(): Promise<void> {}

  async teardown(): Promise<void> {
    this.fakeTimersModern.dispose();
  }

  exportConditions(): string[] {
    return ['node', 'node-addons'];
  }

  getVmContext(): null {
    return null;
  }
}
