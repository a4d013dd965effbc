// What stands before every adapter, in this order: the balance that transfers are paid from (sends only), the breaker
// of the operation, the span and the duration metric, and the time limit. Adapters need none of these. How many calls
// are in progress is bounded by who makes them: requests by their admission, activities by the slots of their worker.
import { currentAttempt, requireTimeLeft } from '../concurrency/attempt.ts';
import { RAIL_CALL_MAX_MS } from '../concurrency/timeLimits.ts';
import {
  creditsRecovered,
  railBreakerOpen,
  railCallbacks,
  railCallsNotMade,
  railNotices,
  railSeconds,
} from '../telemetry/metrics.ts';
import { inSpan } from '../telemetry/tracing.ts';
import { createBankList } from './bankList.ts';
import { type Breaker, type CallEnd, createBreaker } from './breaker.ts';
import { RailNotReadyError, RailRefusedError, RailUnavailableError } from './errors.ts';
import { floatGate } from './float.ts';
import { countPendingCall } from './pendingCalls.ts';
import type { BankRail, RailCallback } from './port.ts';

/** A breaker for each rail and operation: a provider's services fail one by one. Its contracts share them. */
export type Breakers = Map<string, Breaker>;

export function guardedRail(rail: BankRail, breakers: Breakers = new Map()): BankRail {
  const { name } = rail;
  const { transfers, calls } = rail.capabilities;
  const float = floatGate();
  const callLimitMs = Math.min(calls.limitMs, RAIL_CALL_MAX_MS);
  startMetricsAtZero(name);

  /** Throws when the call must not be made. */
  function admit(operation: string): (end: CallEnd) => void {
    const key = `${name} ${operation}`;
    const breaker = breakers.get(key) ?? createBreaker();
    breakers.set(key, breaker);
    try {
      const report = breaker.admit();
      return (end) => {
        report(end);
        railBreakerOpen.set({ rail: name, operation }, breaker.isOpen() ? 1 : 0);
      };
    } catch (error) {
      railCallsNotMade.inc({ rail: name });
      throw error;
    }
  }

  async function guarded<Result>(
    operation: string,
    given: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const report = admit(operation);
    const startedAt = performance.now();
    let [outcome, end]: [string, CallEnd] = ['ok', 'answered'];
    let isMade = false; // not, if the caller has no time left
    const make = (signal: AbortSignal): Promise<Result> => {
      isMade = true;
      return call(signal);
    };
    try {
      return await inSpan(`rail ${operation}`, { kind: 'client', attributes: { 'manilla.rail': name } }, () =>
        countPendingCall(() => withinLimit(callLimitMs, given, make)),
      );
    } catch (error) {
      [outcome, end] = [outcomeOf(error), isMade ? endOf(error) : 'abandoned'];
      throw error;
    } finally {
      report(end);
      railSeconds.observe({ rail: name, operation, outcome }, (performance.now() - startedAt) / 1000);
    }
  }

  const through =
    <Request, Result>(operation: string, call: (request: Request, signal: AbortSignal) => Promise<Result>) =>
    (request: Request, given?: AbortSignal): Promise<Result> =>
      guarded(operation, given, (signal) => call(request, signal));

  const balance: BankRail['balance'] = through('balance', (request, signal) => rail.balance(request, signal));

  return {
    name,
    failures: rail.failures,
    capabilities: {
      ...rail.capabilities,
      calls: { limitMs: callLimitMs },
      transfers: {
        ...transfers,
        // At least the call limit: until then a call may be in flight, and the rail does not know its reference yet.
        notVisibleForMs: Math.max(transfers.notVisibleForMs, callLimitMs),
      },
    },
    openVirtualAccount: through('open_virtual_account', (request, signal) => rail.openVirtualAccount(request, signal)),
    closeVirtualAccount: through('close_virtual_account', (request, signal) =>
      rail.closeVirtualAccount(request, signal),
    ),
    findInboundCredit: through('find_inbound_credit', (request, signal) => rail.findInboundCredit(request, signal)),
    listInboundCredits: through('list_inbound_credits', (request, signal) => rail.listInboundCredits(request, signal)),
    banks: createBankList(() => guarded('banks', undefined, (signal) => rail.banks(signal))).load,
    resolveAccount: through('resolve_account', (request, signal) => rail.resolveAccount(request, signal)),
    sendTransfer: async (instruction, given) => {
      const { amount, organisationId } = instruction;
      if (transfers.balance) await float(amount, () => balance({ organisationId }, given));
      // An aborted send may still have reached the bank, so a send starts only when its full time limit is available.
      requireTimeLeft(callLimitMs);
      return await guarded('send_transfer', given, (signal) => rail.sendTransfer(instruction, signal));
    },
    transferStatus: through('transfer_status', (request, signal) => rail.transferStatus(request, signal)),
    balance,
    statement: through('statement', (request, signal) => rail.statement(request, signal)),
    parseCallback: (request) => {
      let outcome = 'invalid';
      try {
        const callbacks = rail.parseCallback(request);
        outcome = 'accepted';
        return rail.capabilities.callbacks.signed === 'body' ? callbacks : callbacks.map(withoutUnsigned);
      } finally {
        railCallbacks.inc({ rail: name, outcome });
      }
    },
  };
}

/** A signature of some fields covers no sender. */
const withoutUnsigned = (callback: RailCallback): RailCallback =>
  callback.kind === 'inbound_credit' ? { ...callback, sender: null } : callback;

/** So that an alert sees the first of each. */
function startMetricsAtZero(rail: string): void {
  for (const outcome of ['accepted', 'invalid']) railCallbacks.inc({ rail, outcome }, 0);
  for (const notice of ['low_balance', 'payment_rejected', 'settled', 'ignored']) railNotices.inc({ rail, notice }, 0);
  railCallsNotMade.inc({ rail }, 0);
  creditsRecovered.inc({ rail }, 0);
}

/** What a failed call says about the rail. */
function endOf(error: unknown): CallEnd {
  if (error instanceof RailRefusedError || error instanceof RailNotReadyError) return 'answered';
  if (!(error instanceof RailUnavailableError)) return 'abandoned';
  return error.ofOneAccount ? 'answered' : 'failed';
}

function outcomeOf(error: unknown): string {
  if (error instanceof RailUnavailableError) return error.timedOut ? 'timed_out' : 'unavailable';
  if (error instanceof RailNotReadyError) return 'not_ready';
  return error instanceof RailRefusedError ? 'refused' : 'error';
}

/**
 * Makes the call and aborts it after the limit, at the end of the current attempt, or when `given` is aborted. Whether
 * the rail acted is then unknown.
 */
async function withinLimit<Result>(
  limitMs: number,
  given: AbortSignal | undefined,
  call: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const attempt = currentAttempt();
  const allowedMs = Math.min(limitMs, (attempt?.endsAt ?? Number.POSITIVE_INFINITY) - performance.now());
  const timeOut = (): RailUnavailableError =>
    new RailUnavailableError(`the rail did not respond within ${Math.round(allowedMs)} ms`, { timedOut: true });
  if (allowedMs <= 0) throw timeOut();
  const timeout = AbortSignal.timeout(Math.ceil(allowedMs));
  const signal = AbortSignal.any([timeout, given, attempt?.signal].filter((one) => one !== undefined));
  try {
    signal.throwIfAborted();
    return await Promise.race([call(signal), abortOf(signal)]);
  } catch (error) {
    if (!signal.aborted) throw error;
    // Adapters wrap an aborted request in errors of their own.
    throw signal.reason === timeout.reason ? timeOut() : signal.reason;
  }
}

const abortOf = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason));
  });
