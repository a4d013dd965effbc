// Wraps a rail with a time limit, the limit of calls a second, a breaker, a duration metric and (with traces on) a span
// per call. Adapters need none of these.
import { requireTimeLeft } from '../concurrency/attempt.ts';
import { RAIL_CALL_MAX_MS } from '../concurrency/timeLimits.ts';
import { parseId, type Uuid } from '../ids.ts';
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
import { Breaker, type CallEnd } from './breaker.ts';
import { withinLimit } from './callLimit.ts';
import type { Caller } from './callQueue.ts';
import type { TakeSlot } from './callSlots.ts';
import { RailBusyError, RailNotReadyError, RailRefusedError, RailUnavailableError } from './errors.ts';
import { FloatGate } from './float.ts';
import { countPendingCall } from './pendingCalls.ts';
import type { BankRail } from './port.ts';

/** A breaker for each operation: a provider's services fail one by one. The contracts with a provider share them. */
export type Breakers = Map<string, Breaker>;

/** `takeSlot`: waits until a call may start; undefined: the rail is not limited. */
export function instrumentedRail(rail: BankRail, takeSlot?: TakeSlot, breakers: Breakers = new Map()): BankRail {
  const { name } = rail;
  const breakerOf = (operation: string): Breaker => {
    const breaker = breakers.get(operation) ?? new Breaker();
    breakers.set(operation, breaker);
    return breaker;
  };
  const { transfers, calls } = rail.capabilities;
  const float = new FloatGate();
  const callLimitMs = Math.min(calls.limitMs, RAIL_CALL_MAX_MS);
  for (const outcome of ['accepted', 'invalid']) railCallbacks.inc({ rail: name, outcome }, 0);
  for (const notice of ['low_balance', 'payment_rejected', 'settled', 'ignored'])
    railNotices.inc({ rail: name, notice }, 0);
  for (const reason of ['limit', 'breaker']) railCallsNotMade.inc({ rail: name, reason }, 0);
  creditsRecovered.inc({ rail: name }, 0);

  async function measured<Result>(
    operation: string,
    caller: Caller,
    given: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    let started = performance.now();
    const breaker = breakerOf(operation);
    let outcome = 'ok';
    let end: CallEnd = 'answered';
    const admitted: ((end: CallEnd) => void)[] = [];
    try {
      breaker.throwIfOpen();
      return await inSpan(`rail ${operation}`, { kind: 'client', attributes: { 'manilla.rail': name } }, () =>
        countPendingCall(() =>
          withinLimit(callLimitMs, given, async (signal) => {
            await takeSlot?.(signal, caller);
            admitted.push(breaker.admit()); // it may have opened meanwhile
            started = performance.now();
            return await call(signal);
          }),
        ),
      );
    } catch (error) {
      outcome = outcomeOf(error);
      end = endOf(error);
      throw error;
    } finally {
      for (const report of admitted) report(end);
      railBreakerOpen.set({ rail: name, operation }, breaker.isOpen ? 1 : 0);
      if (admitted.length > 0) {
        railSeconds.observe({ rail: name, operation, outcome }, (performance.now() - started) / 1000);
      } else if (outcome === 'busy' || outcome === 'unavailable') {
        railCallsNotMade.inc({ rail: name, reason: outcome === 'busy' ? 'limit' : 'breaker' });
      }
    }
  }

  return {
    name,
    capabilities: {
      ...rail.capabilities,
      calls: { ...calls, limitMs: callLimitMs },
      transfers: {
        ...transfers,
        // At least the call limit: until then a call may be in flight, and the rail does not know its reference yet.
        unknownIsFinalAfterMs:
          transfers.unknownIsFinalAfterMs === null ? null : Math.max(transfers.unknownIsFinalAfterMs, callLimitMs),
      },
    },
    openVirtualAccount: (request, given) =>
      measured('open_virtual_account', interactive(request), given, (signal) =>
        rail.openVirtualAccount(request, signal),
      ),
    closeVirtualAccount: (request, given) =>
      measured('close_virtual_account', interactive(request), given, (signal) =>
        rail.closeVirtualAccount(request, signal),
      ),
    findInboundCredit: (request, given) =>
      measured('find_inbound_credit', interactive(request), given, (signal) => rail.findInboundCredit(request, signal)),
    listInboundCredits: (request, given) =>
      measured('list_inbound_credits', batch(request), given, (signal) => rail.listInboundCredits(request, signal)),
    // Outside of the slots: name enquiries read it all the time.
    banks: createBankList(() => measured('banks', SERVICE, undefined, (signal) => rail.banks(signal))).load,
    resolveAccount: (request, given) =>
      measured('resolve_account', interactive(request), given, (signal) => rail.resolveAccount(request, signal)),
    sendTransfer: async (instruction, given) => {
      if (transfers.balance) {
        const { amount, organisationId } = instruction;
        await float.admit(amount, () =>
          measured('balance', ofTransfer(instruction), given, (signal) => rail.balance({ organisationId }, signal)),
        );
      }
      // An aborted send may still have reached the bank, so a send starts only when its full time limit is available.
      requireTimeLeft(callLimitMs);
      return await measured('send_transfer', ofTransfer(instruction), given, (signal) =>
        rail.sendTransfer(instruction, signal),
      );
    },
    transferStatus: (request, given) =>
      measured('transfer_status', ofTransfer(request), given, (signal) => rail.transferStatus(request, signal)),
    balance: (request, given) =>
      measured('balance', interactive(request), given, (signal) => rail.balance(request, signal)),
    statement: (request, given) =>
      measured('statement', batch(request), given, (signal) => rail.statement(request, signal)),
    parseCallback: (request) => {
      let outcome = 'invalid';
      try {
        const callbacks = rail.parseCallback(request);
        outcome = 'accepted';
        return callbacks;
      } finally {
        railCallbacks.inc({ rail: name, outcome });
      }
    },
  };
}

type Asking = { organisationId: Uuid };
const interactive = ({ organisationId }: Asking): Caller => ({ organisationId, isBatch: false });
const batch = ({ organisationId }: Asking): Caller => ({ organisationId, isBatch: true });
/** Every item of a payout is one of many. */
const ofTransfer = ({ organisationId, reference }: Asking & { reference: string }): Caller => ({
  organisationId,
  isBatch: parseId('payoutItem', reference) !== null,
});
const SERVICE: Caller = { organisationId: null, isBatch: false };

/** What a failed call says about the rail. */
function endOf(error: unknown): CallEnd {
  if (error instanceof RailRefusedError || error instanceof RailNotReadyError) return 'answered';
  if (!(error instanceof RailUnavailableError)) return 'abandoned';
  return error.ofOneAccount ? 'answered' : 'failed';
}

function outcomeOf(error: unknown): string {
  if (error instanceof RailBusyError) return 'busy';
  if (error instanceof RailUnavailableError) return error.timedOut ? 'timed_out' : 'unavailable';
  if (error instanceof RailNotReadyError) return 'not_ready';
  return error instanceof RailRefusedError ? 'refused' : 'error';
}
