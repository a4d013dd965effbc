// Runs the command line: `npm run cli -- …`.
import { reportFailure } from './failure.ts';
import { createProgram } from './program.ts';

try {
  await createProgram().parseAsync();
} catch (fault) {
  process.exitCode = reportFailure(fault);
}
