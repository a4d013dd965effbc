// The seed of this run's property tests: printed, so that a failure can be run again with TEST_SEED=<seed>.
import { randomInt } from 'node:crypto';
import fc from 'fast-check';

const said = process.env.TEST_SEED;

const SEED = said === undefined ? randomInt(2 ** 31) : Number(said);

process.stderr.write(`property tests: TEST_SEED=${SEED}\n`);
fc.configureGlobal({ seed: SEED });
