// Ending a process in order: the first SIGTERM or SIGINT finishes what is under way, a second one ends it at once,
// with code 1 because work was cut off; what was accepted is safe in the database and goes on in another process.
import type { Log } from './log.ts';

export function onShutdown(log: Log, close: () => Promise<void>): void {
  let closing = false;
  const end = (signal: NodeJS.Signals): void => {
    if (closing) process.exit(1);
    closing = true;
    log.info({ signal }, 'shutting down');
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
