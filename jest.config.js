// How `npm test` runs the tests: native ES modules, TypeScript as Node strips it, one Postgres and one Temporal server for all.
export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/test/support/stripTypes.js' },
  testSequencer: '<rootDir>/test/support/longestFirst.ts',
  globalSetup: '<rootDir>/test/support/globalSetup.ts',
  globalTeardown: '<rootDir>/test/support/globalTeardown.ts',
  // Twice the cores of a small machine: most files wait, for timers and for the Temporal server, while others work.
  maxWorkers: 4,
  // Tests of one file that may run at the same time wait for timers and servers, and do little.
  maxConcurrency: 12,
  // A worker that keeps something open is told of after this. Half a second, Jest's own value, is too short on a busy machine.
  workerGracefulExitTimeout: 10_000,
  // Far longer than any takes, for a machine that is busy with something else; a test that needs more says so itself.
  testTimeout: 240_000,
};
