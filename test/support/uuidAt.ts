// Ids of chosen times.
import type { Uuid } from '../../src/ids.ts';

/** The UUIDv7 that a process would have made at this time, in milliseconds, with random bits that are zero. */
export function uuidAt(ms: number): Uuid {
  const hex = Math.round(ms).toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}
