// What waits for the rail while the other work of a flow continues: a credit to confirm, an account number to close.
// The rules as pure functions: when the rail is queried again, when an operator is requested, and what the decision
// changes.
import type { Kobo } from '../../money.ts';
import { type AttentionLimits, CHOICES, type Choices } from '../attention/decide.ts';
import type { AttentionCause, ResolveAction } from '../attention/messages.ts';

/** What a step could not do because of the rail. */
export interface IncompleteWork {
  /** Public id of the credit, or of the payment whose account number is to be closed. */
  id: string;
  what: 'credit' | 'account';
  /** `unconfirmed`: the rail responds, and does not confirm its callback. `unreachable`: it does not respond. */
  rail: 'unconfirmed' | 'unreachable';
  /**
   * Why it is not confirmed: the rail does not know the credit, has not finished it, says that it never arrived, has
   * taken it back, or has not taken it back (of a recall), or is no longer configured.
   */
  why?: 'not_known' | 'pending' | 'failed' | 'recalled' | 'not_recalled' | 'not_configured';
  /** The amount in question. */
  amount: Kobo;
  /** Settings that the flow needs. Each result carries them, because a workflow reads no configuration. */
  limits: Pick<AttentionLimits, 'railUnreachableMs' | 'creditUnconfirmedMs'>;
}

/** Something that waits for the rail. Times are milliseconds since 1970. */
export interface RailWait {
  last: IncompleteWork;
  /** The rail has responded at least once without confirming the credit. */
  denied: boolean;
  /** Time of the first unsuccessful query; an operator's `retry` resets it. */
  since: number;
  /** Since when the rail has been unreachable without interruption; null if it responded to the last query. */
  unreachableSince: number | null;
  /** Number of unsuccessful queries since the last `retry`. */
  queries: number;
  nextAt: number;
}

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
/**
 * Delays between two queries. Most late confirmations arrive within seconds, and each query adds about ten events to
 * the history: from the second hour on there is one query per hour, so that a credit can wait for months.
 */
const PAUSES_MS = [2_000, 5_000, 15_000, MINUTE_MS, 5 * MINUTE_MS, QUARTER_MS, QUARTER_MS, QUARTER_MS, QUARTER_MS];
const PAUSE_MAX_MS = 60 * MINUTE_MS;

/** The cause for which it needs an operator now; null while it needs none. */
export function causeOf(
  { last, denied, since, unreachableSince }: Omit<RailWait, 'nextAt'>,
  now: number,
): 'credit_unconfirmed' | 'rail_unreachable' | null {
  if (denied && now - since >= last.limits.creditUnconfirmedMs) return 'credit_unconfirmed';
  const isAway = unreachableSince !== null && now - unreachableSince >= last.limits.railUnreachableMs;
  return isAway ? 'rail_unreachable' : null;
}

/** The wait after a further unsuccessful query. `before` is null for the first one. */
export function waitAfter(before: RailWait | null, last: IncompleteWork, now: number): RailWait {
  const wait = {
    last,
    denied: (before?.denied ?? false) || last.rail === 'unconfirmed',
    since: before?.since ?? now,
    unreachableSince: last.rail === 'unreachable' ? (before?.unreachableSince ?? now) : null,
    queries: (before?.queries ?? 0) + 1,
  };
  return { ...wait, nextAt: now + pauseOf(wait, now) };
}

/** Delay until the next query. It is no later than a limit, because an operator must be requested then. */
function pauseOf(wait: Omit<RailWait, 'nextAt'>, now: number): number {
  const pause = PAUSES_MS[wait.queries - 1] ?? PAUSE_MAX_MS;
  if (causeOf(wait, now) !== null) return pause;
  const { railUnreachableMs, creditUnconfirmedMs } = wait.last.limits;
  const limits = [
    ...(wait.denied ? [wait.since + creditUnconfirmedMs] : []),
    ...(wait.unreachableSince === null ? [] : [wait.unreachableSince + railUnreachableMs]),
  ];
  return Math.max(1, Math.min(pause, ...limits.map((at) => at - now)));
}

/** An operator's decision: query at once, and start the limits again. */
export function retried(wait: RailWait, now: number): RailWait {
  return {
    ...wait,
    since: now,
    unreachableSince: wait.unreachableSince === null ? null : now,
    queries: 0,
    nextAt: now,
  };
}

/** A request for an operator about what waits: one cause, and everything that waits for that cause. */
export interface RailRequest {
  cause: 'credit_unconfirmed' | 'rail_unreachable';
  parked: RailWait[];
  choices: Choices;
}

const QUERY_AGAIN = 'query the rail again now';
const LEAVE_OPEN = 'leave the account number open: money sent to it goes to review';

/** An unconfirmed credit goes before an unreachable rail: it has more choices. Null: nothing needs an operator. */
export function requestOf(waits: readonly RailWait[], now: number): RailRequest | null {
  const withCause = (cause: AttentionCause) => waits.filter((wait) => causeOf(wait, now) === cause);
  const unconfirmed = withCause('credit_unconfirmed');
  if (unconfirmed.length > 0) {
    return { cause: 'credit_unconfirmed', parked: unconfirmed, choices: CHOICES.credit_unconfirmed };
  }
  const unreachable = withCause('rail_unreachable');
  if (unreachable.length === 0) return null;
  const isAccount = unreachable.some(({ last }) => last.what === 'account');
  const choices = { retry: QUERY_AGAIN, ...(isAccount && { dismiss: LEAVE_OPEN }) };
  return { cause: 'rail_unreachable', parked: unreachable, choices };
}

/** What waits after an operator's decision about everything parked, and which credits to set aside. */
export function afterDecision(
  waits: readonly RailWait[],
  { parked }: Pick<RailRequest, 'parked'>,
  action: ResolveAction,
  now: number,
): { waits: RailWait[]; setAside: string[] } {
  const isParked = ({ last }: RailWait): boolean => parked.some((one) => one.last.id === last.id);
  const isDismissed = (wait: RailWait): boolean =>
    action === 'dismiss' && wait.last.what === 'account' && isParked(wait);
  return {
    waits: waits.filter((wait) => !isDismissed(wait)).map((wait) => (isParked(wait) ? retried(wait, now) : wait)),
    setAside: action === 'set_aside' ? parked.map(({ last }) => last.id) : [],
  };
}
