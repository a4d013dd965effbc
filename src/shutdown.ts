// Ending a process in order: the first SIGTERM or SIGINT finishes what is under way, within a time limit; a second one ends it at
// once. Where work was cut off the exit code is 1; what was accepted is safe in the database and goes on in another process.
import type { Log } from './log.ts';
import { PROCESS_STOP_MAX_MS } from './timeLimits.ts';

export function onShutdown(log: Log, close: () => Promise<void>, limitMs: number = PROCESS_STOP_MAX_MS): void {
  let closing = false;
  const end = (signal: NodeJS.Signals): void => {
    if (closing) process.exit(1);
    closing = true;
    log.info({ signal }, 'shutting down');
    setTimeout(() => {
      log.error({ limitMs }, 'what was under way did not end in time; the process ends without it');
      log.flush();
      process.exit(1);
    }, limitMs).unref();
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error({ err: error }, 'the shutdown did not go in order');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
}
