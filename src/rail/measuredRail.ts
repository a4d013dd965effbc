// A rail that is watched: the same rail, with the time and outcome of every call counted, and a span
// for each where traces are on. Adapters need not do it.
import { railCallbacks, railSeconds } from '../metrics.ts';
import { inSpan } from '../tracing.ts';
import { waitForRail } from '../waiting.ts';
import { type BankRail, RailRefused, RailUnavailable } from './port.ts';

export function measuredRail(rail: BankRail): BankRail {
  const { name } = rail;
  for (const outcome of ['accepted', 'invalid']) railCallbacks.inc({ rail: name, outcome }, 0);

  async function measured<Answer>(operation: string, call: () => Promise<Answer>): Promise<Answer> {
    const started = performance.now();
    let outcome = 'ok';
    try {
      return await inSpan(`rail ${operation}`, { kind: 'client', attributes: { 'manilla.rail': name } }, () =>
        waitForRail(call),
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
    unknownIsFinalAfterMs: rail.unknownIsFinalAfterMs,
    openVirtualAccount: (request) => measured('open_virtual_account', () => rail.openVirtualAccount(request)),
    closeVirtualAccount: (request) => measured('close_virtual_account', () => rail.closeVirtualAccount(request)),
    findInboundCredit: (request) => measured('find_inbound_credit', () => rail.findInboundCredit(request)),
    banks: () => measured('banks', () => rail.banks()),
    resolveAccount: (request) => measured('resolve_account', () => rail.resolveAccount(request)),
    sendTransfer: (instruction) => measured('send_transfer', () => rail.sendTransfer(instruction)),
    transferStatus: (request) => measured('transfer_status', () => rail.transferStatus(request)),
    statement: (request) => measured('statement', () => rail.statement(request)),
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
  if (error instanceof RailUnavailable) return error.timedOut ? 'timed_out' : 'unavailable';
  return error instanceof RailRefused ? 'refused' : 'error';
}
