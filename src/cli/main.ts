// Entry point of the command line: `npm run cli -- …`.
import { enableCompileCache } from 'node:module';

// Caches compiled modules on disk between commands. It applies only to modules that are imported after this call.
enableCompileCache();
const { createProgram } = await import('./program.ts');
const { reportFailure } = await import('./failure.ts');

try {
  const program = await createProgram(process.argv[2]);
  await program.parseAsync();
} catch (fault) {
  process.exitCode = reportFailure(fault);
  // Do not wait for pending work, such as other calls to an unreachable server.
  process.exit();
}
