// What waits for the rail beside the other work of a flow: a credit to be confirmed, an account to be closed. The rules as pure
// functions: when the rail is asked again, when an operator is asked for, and what the operator's decision means.
import type { Kobo } from '../../money.ts';
import { type AttentionLimits, CHOICES, type Choices } from '../attention/decide.ts';
import type { AttentionCause, ResolveAction } from '../attention/messages.ts';

/** What a step left undone because of the rail. */
export interface IncompleteWork {
  /** Public id of the credit, or of the payment whose account is to be closed. */
  id: string;
  what: 'credit' | 'account';
  /** `unconfirmed`: the rail answers, and does not say what its callback said. `unreachable`: it does not answer. */
  rail: 'unconfirmed' | 'unreachable';
  /** Why it is not confirmed: the rail knows no such credit, tells another amount or account, or is not configured any more. */
  why?: 'not_known' | 'differs' | 'not_configured';
  /** The money in question. */
  amount: Kobo;
  /** Settings that the flow goes by; they come with each answer, because a workflow reads no configuration. */
  limits: Pick<AttentionLimits, 'railUnreachableMs' | 'creditUnconfirmedMs'>;
}

/** Something that waits for the rail. Times are milliseconds since 1970. */
export interface RailWait {
  last: IncompleteWork;
  /** The rail answered at least once that it does not confirm the credit. */
  denied: boolean;
  /** Since when it has been asked for in vain; an operator's `retry` begins anew. */
  since: number;
  /** Since when the rail has not answered, without a break; null when it answered the last time. */
  unreachableSince: number | null;
  /** How often it was asked for in vain. */
  asks: number;
  nextAt: number;
}

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
/**
 * The pauses between two questions. Most late confirmations come within seconds, and each question costs some ten events of the
 * history: from the second hour on there is one an hour, so that a credit may wait for months.
 */
const PAUSES_MS = [2_000, 5_000, 15_000, MINUTE_MS, 5 * MINUTE_MS, QUARTER_MS, QUARTER_MS, QUARTER_MS, QUARTER_MS];
const PAUSE_MAX_MS = 60 * MINUTE_MS;

/** Which operator's attention it needs by now; null while it waits by itself. */
export function causeOf(
  { last, denied, since, unreachableSince }: Omit<RailWait, 'nextAt'>,
  now: number,
): 'credit_unconfirmed' | 'rail_unreachable' | null {
  if (denied && now - since >= last.limits.creditUnconfirmedMs) return 'credit_unconfirmed';
  const isAway = unreachableSince !== null && now - unreachableSince >= last.limits.railUnreachableMs;
  return isAway ? 'rail_unreachable' : null;
}

/** What is known after the rail was asked in vain once more. `before` null: for the first time. */
export function waitAfter(before: RailWait | null, last: IncompleteWork, now: number): RailWait {
  const asked = {
    last,
    denied: (before?.denied ?? false) || last.rail === 'unconfirmed',
    since: before?.since ?? now,
    unreachableSince: last.rail === 'unreachable' ? (before?.unreachableSince ?? now) : null,
    asks: (before?.asks ?? 0) + 1,
  };
  return { ...asked, nextAt: now + pauseOf(asked, now) };
}

/** Until the next question; it comes no later than the limit, because that is when an operator must be asked for. */
function pauseOf(asked: Omit<RailWait, 'nextAt'>, now: number): number {
  const pause = PAUSES_MS[asked.asks - 1] ?? PAUSE_MAX_MS;
  if (causeOf(asked, now) !== null) return pause;
  const { railUnreachableMs, creditUnconfirmedMs } = asked.last.limits;
  const limits = [
    ...(asked.denied ? [asked.since + creditUnconfirmedMs] : []),
    ...(asked.unreachableSince === null ? [] : [asked.unreachableSince + railUnreachableMs]),
  ];
  return Math.max(1, Math.min(pause, ...limits.map((at) => at - now)));
}

/** An operator has it asked for at once, and the limits count anew. */
export function retried(wait: RailWait, now: number): RailWait {
  return { ...wait, since: now, unreachableSince: wait.unreachableSince === null ? null : now, asks: 0, nextAt: now };
}

/** What an operator is asked for on account of all that waits: one cause, and what waits because of it. */
export interface RailRequest {
  cause: 'credit_unconfirmed' | 'rail_unreachable';
  parked: RailWait[];
  choices: Choices;
}

const ASK_AGAIN = 'ask the rail again now';
const LEAVE_OPEN = 'leave the account open: money that comes to it goes to review';

/** A credit that the rail denies goes before a rail that is away: it has more choices. Null: nothing needs an operator. */
export function requestOf(waits: readonly RailWait[], now: number): RailRequest | null {
  const because = (cause: AttentionCause) => waits.filter((wait) => causeOf(wait, now) === cause);
  const unconfirmed = because('credit_unconfirmed');
  if (unconfirmed.length > 0) {
    return { cause: 'credit_unconfirmed', parked: unconfirmed, choices: CHOICES.credit_unconfirmed };
  }
  const unreachable = because('rail_unreachable');
  if (unreachable.length === 0) return null;
  const isAccount = unreachable.some(({ last }) => last.what === 'account');
  const choices = { retry: ASK_AGAIN, ...(isAccount && { dismiss: LEAVE_OPEN }) };
  return { cause: 'rail_unreachable', parked: unreachable, choices };
}

/**
 * What waits after an operator decided about everything that was parked, and which credits are to be set aside. The rest goes on
 * as it was.
 */
export function afterDecision(
  waits: readonly RailWait[],
  { parked }: Pick<RailRequest, 'parked'>,
  action: ResolveAction,
  now: number,
): { waits: RailWait[]; setAside: string[] } {
  const isParked = ({ last }: RailWait): boolean => parked.some((one) => one.last.id === last.id);
  const isKept = (wait: RailWait): boolean => action === 'dismiss' && wait.last.what === 'account' && isParked(wait);
  return {
    waits: waits.filter((wait) => !isKept(wait)).map((wait) => (isParked(wait) ? retried(wait, now) : wait)),
    setAside: action === 'set_aside' ? parked.map(({ last }) => last.id) : [],
  };
}
