// `npm run demo`: runs the money flows against the running service and prints each step: in the sandbox, with
// `finance-day` a day of a payment firm, or with `--rail monnify-fake` or `nomba-fake` on live, with a fake provider.
// Exits 1 when a step fails.
import { parseArgs } from 'node:util';
import { answerVersion } from '../src/release.ts';
import { FAKES } from './chaos/fakeBank.ts';
import { runFinanceDay } from './demo/financeDay.ts';
import { findRunning } from './demo/integrator.ts';
import { runRailDemo } from './demo/rail.ts';
import { runSandboxDemo } from './demo/sandbox.ts';

answerVersion();
const FINANCE_DAY = 'finance-day';

try {
  const { values, positionals } = parseArgs({ options: { rail: { type: 'string' } }, allowPositionals: true });
  const { rail } = values;
  const [story] = positionals;
  if (story !== undefined && story !== FINANCE_DAY) throw new Error(`the demo is ${FINANCE_DAY}, or without a name`);
  const fake = FAKES.find((name) => rail === `${name}-fake`);
  if (rail !== undefined && fake === undefined) throw new Error('--rail must be monnify-fake or nomba-fake');
  const quickstart = findRunning();
  if (story !== undefined) await runFinanceDay(quickstart);
  else await (fake === undefined ? runSandboxDemo(quickstart) : runRailDemo(quickstart, fake));
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
