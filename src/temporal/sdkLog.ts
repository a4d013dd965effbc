// Adapts the logger of the Temporal SDK: its lines go to the log of the process.
import type { Logger, LogLevel, LogMetadata } from '@temporalio/worker';
import type { Log } from '../telemetry/log.ts';

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

export function temporalLog(log: Log): Logger {
  const write = (level: LogLevel, message: string, meta: LogMetadata = {}): void => log[LEVELS[level]](meta, message);
  return {
    log: write,
    trace: (message, meta) => write('TRACE', message, meta),
    debug: (message, meta) => write('DEBUG', message, meta),
    info: (message, meta) => write('INFO', message, meta),
    warn: (message, meta) => write('WARN', message, meta),
    error: (message, meta) => write('ERROR', message, meta),
  };
}
