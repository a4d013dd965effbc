// The configuration of `npm run test:slow`: that of `npm test`, with the tests that it leaves out.
import config from './jest.config.js';

export default {
  ...config,
  testMatch: ['**/*.slow.test.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
