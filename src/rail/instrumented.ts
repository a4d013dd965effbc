// Wraps a rail with a time limit, a duration metric and (with traces on) a span per call. Adapters need none of these.
import { requireTimeLeft } from '../concurrency/attempt.ts';
import { RAIL_CALL_MAX_MS } from '../concurrency/timeLimits.ts';
import { creditsRecovered, railCallbacks, railSeconds } from '../telemetry/metrics.ts';
import { inSpan } from '../telemetry/tracing.ts';
import { withinLimit } from './callLimit.ts';
import { countPendingCall } from './pendingCalls.ts';
import { type BankRail, RailRefusedError, RailUnavailableError } from './port.ts';

export function instrumentedRail(rail: BankRail): BankRail {
  const { name } = rail;
  const callLimitMs = Math.min(rail.callLimitMs, RAIL_CALL_MAX_MS);
  for (const outcome of ['accepted', 'invalid']) railCallbacks.inc({ rail: name, outcome }, 0);
  creditsRecovered.inc({ rail: name }, 0);

  async function measured<Result>(
    operation: string,
    given: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
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
    // At least the call limit: until then a call may be in flight, and the rail does not know its reference yet.
    unknownIsFinalAfterMs: Math.max(rail.unknownIsFinalAfterMs, callLimitMs),
    openVirtualAccount: (request, given) =>
      measured('open_virtual_account', given, (signal) => rail.openVirtualAccount(request, signal)),
    closeVirtualAccount: (request, given) =>
      measured('close_virtual_account', given, (signal) => rail.closeVirtualAccount(request, signal)),
    findInboundCredit: (request, given) =>
      measured('find_inbound_credit', given, (signal) => rail.findInboundCredit(request, signal)),
    listInboundCredits: (request, given) =>
      measured('list_inbound_credits', given, (signal) => rail.listInboundCredits(request, signal)),
    banks: (given) => measured('banks', given, (signal) => rail.banks(signal)),
    resolveAccount: (request, given) =>
      measured('resolve_account', given, (signal) => rail.resolveAccount(request, signal)),
    sendTransfer: async (instruction, given) => {
      // An aborted send may still have reached the bank, so a send starts only when its full time limit is available.
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
