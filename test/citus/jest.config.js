// The configuration of `npm run test:citus`: on the cluster of CITUS_URL, the tests of the cluster and those tests of
// `npm test` that drive the API, the ledger and the flows.
import config from '../../jest.config.js';

export default {
  ...config,
  rootDir: '../..',
  testMatch: [
    '<rootDir>/test/citus/*.test.ts',
    '<rootDir>/test/{api,checkout,cli,e2e,ledger,outbox,reconciliation,resources,verification,webhooks}/**/*.test.ts',
  ],
  testPathIgnorePatterns: ['/node_modules/', '\\.slow\\.test\\.ts$'],
  globalSetup: '<rootDir>/test/citus/globalSetup.ts',
  // One file at a time: a test that stops a node stops it for all.
  maxWorkers: 1,
};
