// A model of a bank, and of the flow of a transfer to it, in virtual time. The bank accepts a send or not, whatever it
// answers; what it has accepted is listed after a while; its queries fail at times, and a worker dies in the middle of
// a step. The flow decides with the functions of the service.
import fc from 'fast-check';
import {
  decideStep,
  decideTransfer,
  decideUnknown,
  type Sends,
  type TransferLimits,
  type UnknownLimits,
  waitMs,
} from '../../src/workflows/bankTransfer/decide.ts';
import type { TransferProgress } from '../../src/workflows/bankTransfer/messages.ts';
import { initialState, knowledgeOf, noteStep } from '../../src/workflows/bankTransfer/state.ts';

const CALL_MAX_MS = 7_000;
const ATTEMPT_MAX_MS = 30_000;
const DAY_MS = 86_400_000;

/** What happens to one send. */
export interface SendScript {
  /** Whether the bank accepts it, unless it has accepted one before. */
  accepts: boolean;
  /** `duplicate`: of a repetition only; the first is then lost. */
  answer: 'accepted' | 'refused' | 'not_ready' | 'lost' | 'duplicate';
  callMs: number;
  /** The worker dies before the request, or after it. */
  dies: 'before' | 'after' | null;
}

export interface Schedule {
  /** The last one repeats. */
  sends: SendScript[];
  /** As a share of `notVisibleForMs`, less the time of a call: until it is listed after it was accepted. */
  hiddenFor: number;
  /** From being listed to the receiving bank's answer. */
  paidAfterMs: number;
  /** The query is down from the start, or from some time after it, for so long. */
  outage: { fromMs: number; forMs: number };
  /** When the bank sends callbacks, by chance before it lists the transfer. */
  callbacksAt: number[];
}

export const schedules: fc.Arbitrary<Schedule> = fc.record({
  sends: fc.array(
    fc.record({
      accepts: fc.boolean(),
      answer: fc.constantFrom('accepted', 'refused', 'not_ready', 'lost', 'duplicate'),
      callMs: fc.integer({ min: 0, max: CALL_MAX_MS }),
      dies: fc.constantFrom('before', 'after', null, null, null),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  hiddenFor: fc.double({ min: 0, max: 0.999, noNaN: true }),
  paidAfterMs: fc.integer({ min: 0, max: 3_600_000 }),
  outage: fc.record({
    fromMs: fc.constantFrom(0, 1_000, 60_000, 400_000),
    forMs: fc.constantFrom(0, 10_000, 60_000, 3_600_000),
  }),
  callbacksAt: fc.array(fc.integer({ min: 0, max: 2_000_000 }), { maxLength: 3 }),
});

export interface End {
  state: 'processing' | 'completed' | 'failed' | 'returned';
  /** Whether the bank has accepted it, and so pays it. */
  isPaid: boolean;
  sends: number;
  atMs: number;
}

class Bank {
  readonly #schedule: Schedule;
  readonly #lagMs: number;
  acceptedAt: number | null = null;
  requests = 0;

  constructor(schedule: Schedule, notVisibleForMs: number) {
    this.#schedule = schedule;
    this.#lagMs = schedule.hiddenFor * Math.max(0, notVisibleForMs - CALL_MAX_MS);
  }

  isDown(now: number): boolean {
    const { fromMs, forMs } = this.#schedule.outage;
    return now >= fromMs && now < fromMs + forMs;
  }

  status(now: number): 'unreachable' | 'unknown' | 'processing' | 'completed' {
    if (this.isDown(now)) return 'unreachable';
    if (this.acceptedAt === null || now < this.acceptedAt + this.#lagMs) return 'unknown';
    return now < this.acceptedAt + this.#lagMs + this.#schedule.paidAfterMs ? 'processing' : 'completed';
  }

  nextScript(): SendScript {
    const { sends } = this.#schedule;
    const script = sends[Math.min(this.requests, sends.length - 1)] as SendScript;
    this.requests += 1;
    if (this.requests <= sends.length) return script;
    // After the script, a bank works: what it is sent it accepts, unless it refuses everything.
    const answer = script.answer === 'refused' ? 'refused' : 'accepted';
    return { accepts: answer === 'accepted', answer, callMs: 100, dies: null };
  }

  /** A send of the reference arrives. */
  receive({ accepts, answer }: SendScript, now: number): SendScript['answer'] {
    if (this.acceptedAt !== null) return answer === 'accepted' || answer === 'not_ready' ? 'duplicate' : answer;
    // A duplicate is only of something; and what it is not ready for it has not accepted.
    const isAccepted = answer === 'accepted' || (accepts && answer !== 'not_ready');
    if (isAccepted) this.acceptedAt = now;
    return answer === 'duplicate' ? 'lost' : answer;
  }
}

/** Runs a transfer to its end, or for two days. */
export function runTransfer(schedule: Schedule, limits: TransferLimits, bankHidesForMs = limits.notVisibleForMs): End {
  const bank = new Bank(schedule, bankHidesForMs);
  const db = { count: 0, sentAt: 0, isKnown: false, isRefused: false };
  const sendsAt = (now: number): Sends => ({ ...db, sinceMs: now - db.sentAt });
  let now = 0;
  let state: End['state'] = 'processing';

  /** The send step, with what it writes before and after. Null: the worker has died. */
  function send(): TransferProgress['rail'] | null {
    const script = bank.nextScript();
    db.count += 1;
    db.sentAt = now;
    db.isRefused = false;
    if (script.dies === 'before') return null;
    const arrivesAt = now + script.callMs;
    const answer = bank.receive(script, arrivesAt);
    now = arrivesAt;
    if (script.dies === 'after') return null;
    if (answer === 'not_ready') db.count -= 1;
    if (answer === 'refused') db.isRefused = true;
    if (answer === 'accepted' || answer === 'duplicate') db.isKnown = true;
    if (answer === 'refused') return 'unknown';
    if (answer === 'not_ready') return 'not_ready';
    return answer === 'accepted' ? 'known' : 'unreachable';
  }

  function takeStep(step: 'send' | 'check' | 'mark_unsent'): TransferProgress | null {
    const before = sendsAt(now);
    const status = bank.status(now);
    const result = (rail: TransferProgress['rail']): TransferProgress => ({
      status: state,
      rail,
      sends: sendsAt(now),
      limits,
      ...(rail === 'not_ready' && { notReady: { why: 'rate_limited', retryAfterMs: null } }),
    });
    if (status === 'unreachable') return result('unreachable');
    if (status === 'processing') db.isKnown = true;
    if (status === 'unknown' && step === 'send' && decideUnknown(before, limits) === 'send') {
      const rail = send();
      return rail && result(rail);
    }
    const unsent = status === 'unknown' && step === 'mark_unsent' ? decideUnknown(before, limits) : null;
    const decision = decideTransfer(state, unsent === 'refused' || unsent === 'never_received' ? 'failed' : status);
    if (decision === 'complete') state = 'completed';
    if (decision === 'fail') state = 'failed';
    return result(status === 'unknown' ? 'unknown' : 'known');
  }

  const flow = initialState(now);
  while (now < 2 * DAY_MS) {
    const progress = takeStep(flow.step);
    if (progress === null) {
      now += ATTEMPT_MAX_MS;
      continue;
    }
    noteStep(flow, progress, now);
    if (progress.status !== 'processing') break;
    const known = knowledgeOf(flow, progress, now);
    const taken = flow.step;
    flow.step = decideStep(taken, known, limits);
    if (known.rail === 'unknown' && flow.step !== 'check' && flow.step !== taken) continue;
    const wakesAt = now + waitMs(known, limits, false);
    const callbackAt = schedule.callbacksAt.filter((at) => at > now).toSorted((a, b) => a - b)[0];
    now = Math.min(wakesAt, callbackAt ?? wakesAt);
  }
  return { state, isPaid: bank.acceptedAt !== null, sends: bank.requests, atMs: now };
}

/** The limits of a rail with these capabilities, and the settings of the service. */
export const limitsOf = (unknown: UnknownLimits): TransferLimits => ({
  railUnreachableMs: 3_600_000,
  railNotReadyMs: 3_600_000,
  outcomeUnknownMs: DAY_MS,
  creditUnconfirmedMs: 3_600_000,
  probeMs: 900_000,
  pausedLookMs: 3_600_000,
  ...unknown,
});
