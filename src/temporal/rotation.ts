// Rotated credentials: files that were replaced since the process read them take effect without a restart.
import { isDeepStrictEqual } from 'node:util';
import { repeated } from '../concurrency/shared.ts';
import type { Log } from '../telemetry/log.ts';
import type { Credentials, TemporalTarget } from './profile.ts';

/** How often the files are read. File watchers miss Kubernetes's replacements through symbolic links. */
const READ_EVERY_MS = 10_000;

interface RotationOptions {
  target: TemporalTarget;
  current: Credentials;
  /** Uses the new credentials from now on. When it throws, the current ones stay, and it is called again later. */
  use: (credentials: Credentials) => Promise<void>;
  log: Log;
  everyMs?: number | undefined;
}

/** Calls `use` when the credentials have changed. */
export function followCredentials({ target, use, log, everyMs = READ_EVERY_MS, ...options }: RotationOptions) {
  let { current } = options;
  let failure = '';

  const readAgain = async (): Promise<void> => {
    try {
      const credentials = target.credentials();
      if (isDeepStrictEqual(credentials, current)) return;
      await use(credentials);
      current = credentials;
      failure = '';
      log.info('the new credentials for Temporal are in use');
    } catch (error) {
      const { message } = error as Error;
      if (message !== failure) log.error(`The new credentials for Temporal are not used yet: ${message}`);
      failure = message;
    }
  };

  return repeated(readAgain, everyMs);
}
