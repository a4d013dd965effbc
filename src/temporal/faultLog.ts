// Tells the operator once where the process connected or why Temporal cannot be used, however often it is tried.
import type { Log } from '../telemetry/log.ts';
import type { TemporalFault } from './faults.ts';
import { placeOf, type TemporalTarget } from './profile.ts';

export interface FaultLog {
  connected: (target: TemporalTarget) => void;
  failed: (fault: TemporalFault) => void;
}

const CONNECTED = 'connected to Temporal';

export function faultLog(log: Log): FaultLog {
  let last: string | null = null;
  const isNew = (state: string): boolean => {
    const before = last;
    last = state;
    return state !== before;
  };
  return {
    connected: (target) => {
      if (isNew(CONNECTED)) log.info({ temporal: placeOf(target) }, CONNECTED);
    },
    failed: ({ kind, message }) => {
      // An outage may end by itself; everything else waits for an operator. The words for an outage change with each
      // attempt: a deadline, a refused connection.
      const isOutage = kind === 'unreachable';
      if (isNew(isOutage ? kind : message)) log[isOutage ? 'warn' : 'error']({ temporal: kind }, message);
    },
  };
}
