// The logger of the Temporal SDK: its lines go to the log of the process.
import { DefaultLogger, type Logger } from '@temporalio/worker';
import type { Log } from '../telemetry/log.ts';

const LEVELS = { TRACE: 'trace', DEBUG: 'debug', INFO: 'info', WARN: 'warn', ERROR: 'error' } as const;

export const temporalLog = (log: Log): Logger =>
  new DefaultLogger('TRACE', ({ level, message, meta }) => log[LEVELS[level]](meta ?? {}, message));
