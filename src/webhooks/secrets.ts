// The secrets of a webhook endpoint, which are stored sealed.
import type { Uuid } from '../ids.ts';
import type { Keyring } from '../keyring.ts';

export interface SealedSecrets {
  endpointId: Uuid;
  sealedSecret: string;
  /** During a rotation. */
  sealedPreviousSecret: string | null;
}

/** The secrets that sign now, the newest first. Throws when a key of the keyring is missing. */
export const openSecrets = (
  keyring: Keyring,
  { endpointId, sealedSecret, sealedPreviousSecret }: SealedSecrets,
): string[] =>
  [sealedSecret, sealedPreviousSecret]
    .filter((sealed) => sealed !== null)
    .map((sealed) => keyring.open('webhook-secret', endpointId, sealed));
