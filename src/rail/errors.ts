// What a call of a rail may throw. Every adapter maps each failure of its provider to exactly one of these.

interface CallErrorOptions extends ErrorOptions {
  providerMessage?: string | null;
}

/** A call of the rail that has failed, or was not made. */
export class RailCallError extends Error {
  /** What the rail said, or why it said nothing, without secrets and personal data, for operators; null: not known. */
  readonly providerMessage: string | null;

  constructor(message: string, options: CallErrorOptions = {}) {
    super(message, options);
    this.providerMessage = options.providerMessage ?? null;
  }
}

interface UnavailableOptions extends CallErrorOptions {
  timedOut?: boolean;
  ofOneAccount?: boolean;
  knowsReference?: boolean;
  isNotSent?: boolean;
}

/** The rail did not respond, or not in time, or not legibly. Whether it acted is unknown. */
export class RailUnavailableError extends RailCallError {
  override readonly name = 'RailUnavailableError';
  readonly timedOut: boolean;
  /** The rail works: only the bank of this account did not respond to it. The breaker does not count it. */
  readonly ofOneAccount: boolean;
  /**
   * The rail has a transfer with this reference, whatever its status is: it says that the reference exists, or has paid
   * it. So it is never sent as if it were new, and never counts as one that was not received.
   */
  readonly knowsReference: boolean;
  /** The call was certainly not made: what precedes it has failed, or the breaker is open. */
  readonly isNotSent: boolean;

  constructor(message: string, options: UnavailableOptions = {}) {
    super(message, options);
    this.isNotSent = options.isNotSent ?? false;
    this.timedOut = options.timedOut ?? false;
    this.ofOneAccount = options.ofOneAccount ?? false;
    this.knowsReference = options.knowsReference ?? false;
  }
}

/** Whether the call was certainly not accepted, or not made at all: nothing has failed. */
export const isNotAccepted = (error: unknown): boolean =>
  error instanceof RailNotReadyError || (error instanceof RailUnavailableError && error.isNotSent);

/** The error of a response that reports nothing certain, for a reason of ours. */
export const unclear = (rail: string, providerMessage: string, options?: UnavailableOptions): RailUnavailableError =>
  new RailUnavailableError(`${rail}: ${providerMessage}`, { ...options, providerMessage });

/** Null where the rail works, and only what it has under this one reference cannot be read. */
export async function nullIfUnclear<Found>(call: Promise<Found>): Promise<Found | null> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof RailUnavailableError && error.ofOneAccount) return null;
    throw error;
  }
}

/**
 * Why a rail does not accept a request for now. `underfunded`: the balance that it pays from is too low.
 * `duplicate_guard`: it treats the request as a repetition of another one. `rate_limited`: too many requests.
 * `unauthorised`: it does not accept our credentials, or our address. `feature_off`: the contract lacks a feature.
 */
export type NotReadyCause = 'underfunded' | 'duplicate_guard' | 'rate_limited' | 'unauthorised' | 'feature_off';

/** Certainly not accepted, for a reason that is not the request's. Made again later with the same reference. */
export class RailNotReadyError extends RailCallError {
  override readonly name = 'RailNotReadyError';
  readonly why: NotReadyCause;
  /** When to try again at the earliest; null: the rail does not say. */
  readonly retryAfterMs: number | null;

  constructor(why: NotReadyCause, message: string, options: CallErrorOptions & { retryAfterMs?: number | null } = {}) {
    super(message, options);
    this.why = why;
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}

/**
 * The rail rejected the request: it says that it did not act and will not. Of a send this is believed only once its
 * query has not known the reference for `notVisibleForMs`: transfers were accepted and refused at once.
 */
export class RailRefusedError extends RailCallError {
  override readonly name = 'RailRefusedError';
}

/** A callback that is not signed by the rail, was signed too long ago, or is for another contract. */
export class RailCallbackInvalidError extends Error {
  override readonly name = 'RailCallbackInvalidError';
}
