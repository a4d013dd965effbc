// Runs a command line: what was asked for on standard output, everything else on standard error, and an exit code.
// Ctrl-C lets a command end by itself; a second one ends the process.
import { EXIT, reportFailure } from './failure.ts';
import { createProgram } from './program.ts';

// The reader of the output has what it wants (`manilla listen | head`).
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(EXIT.ok);
});

const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());

try {
  await createProgram(interrupt.signal).parseAsync();
} catch (fault) {
  process.exitCode = interrupt.signal.aborted ? EXIT.interrupted : reportFailure(fault, process.argv);
}
