// The configuration of `npm test`, `npm run test:slow` and `npm run test:deploy`: modules as Node loads them, and one
// Postgres and one Temporal server for all test files.

const NODE_MODULES = '/node_modules/';
const SLOW_TESTS = '\\.slow\\.test\\.ts$';
// `npm test -- test/e2e/slowBank.slow.test.ts`
const namesSlowTests = process.argv.slice(2).some((argument) => argument.includes('.slow'));
/** Whether more runs than the usual tests, which take little space. */
export const runsOthers = process.env.TESTS !== undefined || namesSlowTests;

/** What runs, by TESTS. The tests in test/citus have a configuration of their own: they need a cluster. */
const GROUPS = {
  usual: {
    testMatch: ['**/*.test.ts'],
    testPathIgnorePatterns: [
      NODE_MODULES,
      '<rootDir>/test/deploy/',
      '<rootDir>/test/citus/',
      ...(namesSlowTests ? [] : [SLOW_TESTS]),
    ],
  },
  // `npm run test:slow` (docs/decisions/0027-slow-tests.md)
  slow: { testMatch: ['**/*.slow.test.ts'] },
  // `npm run test:deploy`: they need Go, for Helm, and packages, which they install.
  deploy: { testMatch: ['<rootDir>/test/deploy/*.test.ts'], testTimeout: 1_200_000 },
};

export default {
  testEnvironment: '<rootDir>/test/support/runner/environment.ts',
  runtime: '<rootDir>/test/support/runner/runtime.ts',
  roots: ['<rootDir>/test'],
  transform: {},
  testSequencer: '<rootDir>/test/support/longestFirst.ts',
  reporters: ['default', '<rootDir>/test/support/slowestFiles.ts'],
  globalSetup: '<rootDir>/test/support/globalSetup.ts',
  globalTeardown: '<rootDir>/test/support/globalTeardown.ts',
  // More than twice the cores of a small machine: while some files wait for timers and servers, others run.
  maxWorkers: 5,
  // `test.concurrent` tests of one file mostly wait for timers and servers.
  maxConcurrency: 12,
  // Jest warns about a test worker that has not exited after this time. Its default of 500 ms is too short on a busy
  // machine.
  workerGracefulExitTimeout: 10_000,
  // Far longer than any test takes, to allow for a busy machine; tests that need more set their own timeout.
  testTimeout: 240_000,
  testPathIgnorePatterns: [NODE_MODULES],
  ...GROUPS[/** @type {keyof typeof GROUPS} */ (process.env.TESTS ?? 'usual')],
};
