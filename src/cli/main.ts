// Runs the command line: `npm run cli -- …`.
import { enableCompileCache } from 'node:module';

// What one command has compiled, the next one takes from Node's cache. It covers what is loaded from here on.
enableCompileCache();
const { createProgram } = await import('./program.ts');
const { reportFailure } = await import('./failure.ts');

try {
  const program = await createProgram(process.argv[2]);
  await program.parseAsync();
} catch (fault) {
  process.exitCode = reportFailure(fault);
  // Nobody waits any more for what may still be under way, such as other calls of a server that is away.
  process.exit();
}
