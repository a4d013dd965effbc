// `npm run demo`: runs the money flows against the running service and prints each step: in the sandbox, or with
// `--rail monnify-fake` on live, with a fake of Monnify as the provider. Exits 1 when a step fails.
import { parseArgs } from 'node:util';
import { findRunning } from './demo/integrator.ts';
import { runRailDemo } from './demo/rail.ts';
import { runSandboxDemo } from './demo/sandbox.ts';

const RAIL = 'monnify-fake';

try {
  const { rail } = parseArgs({ options: { rail: { type: 'string' } } }).values;
  if (rail !== undefined && rail !== RAIL) throw new Error(`--rail must be ${RAIL}`);
  const quickstart = findRunning();
  await (rail === undefined ? runSandboxDemo(quickstart) : runRailDemo(quickstart));
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
