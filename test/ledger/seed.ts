// The seed of the property tests of this run: printed, so that a failure can be reproduced with TEST_SEED=<seed>.
import { randomInt } from 'node:crypto';
import fc from 'fast-check';

const seedSetting = process.env.TEST_SEED;

const SEED = seedSetting === undefined ? randomInt(2 ** 31) : Number(seedSetting);

process.stderr.write(`property tests: TEST_SEED=${SEED}\n`);
fc.configureGlobal({ seed: SEED });
