// The configuration of `npm test`: native ES modules, type stripping as in Node, and one Postgres and one Temporal
// server for all test files.

// `npm run test:slow`, and `npm test` when a path on its command line names them (docs/decisions/0027-slow-tests.md).
const namesSlowTests = process.argv.slice(2).some((argument) => argument.includes('.slow'));
const SLOW_TESTS = '\\.slow\\.test\\.ts$';

export default {
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: ['**/*.test.ts'],
  // `npm run test:deploy`: they need Go, for Helm, and packages. `npm run test:citus`: they need a cluster.
  testPathIgnorePatterns: [
    '/node_modules/',
    '<rootDir>/test/deploy/',
    '<rootDir>/test/citus/',
    ...(namesSlowTests ? [] : [SLOW_TESTS]),
  ],
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/test/support/stripTypes.js' },
  testSequencer: '<rootDir>/test/support/longestFirst.ts',
  globalSetup: '<rootDir>/test/support/globalSetup.ts',
  globalTeardown: '<rootDir>/test/support/globalTeardown.ts',
  // More than twice the cores of a small machine: test files mostly wait for timers and the Temporal server.
  maxWorkers: 4,
  // `test.concurrent` tests of one file mostly wait for timers and servers.
  maxConcurrency: 12,
  // Jest warns about a test worker that has not exited after this time. Its default of 500 ms is too short on a busy
  // machine.
  workerGracefulExitTimeout: 10_000,
  // Far longer than any test takes, to allow for a busy machine; tests that need more set their own timeout.
  testTimeout: 240_000,
};
