// How a request says that the money of a transfer, a payment or a split is held.
import { z } from 'zod';
import { DAY_MS } from '../times.ts';
import { invalidField } from './errors.ts';
import { optional, timestamp } from './schemas.ts';

/** The longest time until a hold is released, in days. */
const RELEASE_DAYS_MAX = 366;

/** Until a time, or until it is released by hand. */
export const holdField = z
  .strictObject({ releaseAt: optional(timestamp), release: optional(z.literal('manual')) })
  .refine(({ releaseAt, release }) => (releaseAt === undefined) !== (release === undefined), {
    message: 'must have either releaseAt or release: "manual"',
    params: { code: 'invalid_value' },
  })
  .transform(({ releaseAt = null }) => ({ releaseAt }));

/** When it is released; null: by hand. Throws VALIDATION_FAILED for a time that has passed, or is too far away. */
export function releaseTimeOf({ releaseAt }: z.output<typeof holdField>, now: Date, field = 'hold.releaseAt') {
  if (releaseAt === null) return null;
  const latest = new Date(now.getTime() + RELEASE_DAYS_MAX * DAY_MS);
  if (releaseAt <= now)
    throw invalidField({ field, code: 'too_small', message: 'must be in the future', constraint: { minimum: now } });
  if (releaseAt > latest) {
    const message = `must be at most ${RELEASE_DAYS_MAX} days away`;
    throw invalidField({ field, code: 'too_big', message, constraint: { maximum: latest } });
  }
  return releaseAt;
}
