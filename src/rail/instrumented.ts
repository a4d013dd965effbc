// A rail that is watched and limited: the same rail, with a time limit for every call, the time and outcome of each counted,
// and a span for each where traces are on. Adapters need not do it.
import { requireTimeLeft } from '../concurrency/attempt.ts';
import { RAIL_CALL_MAX_MS } from '../concurrency/timeLimits.ts';
import { railCallbacks, railSeconds } from '../telemetry/metrics.ts';
import { inSpan } from '../telemetry/tracing.ts';
import { withinLimit } from './callLimit.ts';
import { countPendingCall } from './pendingCalls.ts';
import { type BankRail, RailRefusedError, RailUnavailableError } from './port.ts';

export function instrumentedRail(rail: BankRail): BankRail {
  const { name } = rail;
  const callLimitMs = Math.min(rail.callLimitMs, RAIL_CALL_MAX_MS);
  for (const outcome of ['accepted', 'invalid']) railCallbacks.inc({ rail: name, outcome }, 0);

  async function measured<Answer>(
    operation: string,
    given: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<Answer>,
  ): Promise<Answer> {
    const started = performance.now();
    let outcome = 'ok';
    try {
      return await inSpan(`rail ${operation}`, { kind: 'client', attributes: { 'manilla.rail': name } }, () =>
        countPendingCall(() => withinLimit(callLimitMs, given, call)),
      );
    } catch (error) {
      outcome = outcomeOf(error);
      throw error;
    } finally {
      railSeconds.observe({ rail: name, operation, outcome }, (performance.now() - started) / 1000);
    }
  }

  return {
    name,
    callLimitMs,
    // A call may be in flight until its limit, and a rail cannot know of what has not reached it yet.
    unknownIsFinalAfterMs: Math.max(rail.unknownIsFinalAfterMs, callLimitMs),
    openVirtualAccount: (request, given) =>
      measured('open_virtual_account', given, (signal) => rail.openVirtualAccount(request, signal)),
    closeVirtualAccount: (request, given) =>
      measured('close_virtual_account', given, (signal) => rail.closeVirtualAccount(request, signal)),
    findInboundCredit: (request, given) =>
      measured('find_inbound_credit', given, (signal) => rail.findInboundCredit(request, signal)),
    banks: (given) => measured('banks', given, (signal) => rail.banks(signal)),
    resolveAccount: (request, given) =>
      measured('resolve_account', given, (signal) => rail.resolveAccount(request, signal)),
    sendTransfer: async (instruction, given) => {
      // A send that is cut off may have been made all the same, so none begins that may not run its whole time.
      requireTimeLeft(callLimitMs);
      return await measured('send_transfer', given, (signal) => rail.sendTransfer(instruction, signal));
    },
    transferStatus: (request, given) =>
      measured('transfer_status', given, (signal) => rail.transferStatus(request, signal)),
    statement: (request, given) => measured('statement', given, (signal) => rail.statement(request, signal)),
    parseCallback: (headers, body) => {
      let outcome = 'invalid';
      try {
        const callback = rail.parseCallback(headers, body);
        outcome = 'accepted';
        return callback;
      } finally {
        railCallbacks.inc({ rail: name, outcome });
      }
    },
  };
}

function outcomeOf(error: unknown): string {
  if (error instanceof RailUnavailableError) return error.timedOut ? 'timed_out' : 'unavailable';
  return error instanceof RailRefusedError ? 'refused' : 'error';
}
