// News of the balance that a contract pays from: transfers that wait because it was too low are tried again.
import { publicId } from '../../ids.ts';
import type { Book } from '../../money.ts';
import type { RailNotice } from '../../rail/port.ts';
import { type FlowOutboxMessage, toOutbox } from '../../workflows/flows.ts';
import type { RailResumeInput } from '../../workflows/railResume/messages.ts';

/** A provider may send a notice for each transaction that it has settled: flows are signalled once in this time. */
const GATHERED_FOR_MS = 10_000;

export const isOfBalance = (notice: RailNotice): boolean => notice === 'settled' || notice === 'low_balance';

/**
 * The message that signals the transfers of a book: once for all notices of some seconds, and after the last. `now`: by
 * the clock of the database, as the relay counts the time until then.
 */
export function wakeTransfers(book: Book, now: Date): FlowOutboxMessage {
  const until = (Math.floor(now.getTime() / GATHERED_FOR_MS) + 1) * GATHERED_FOR_MS;
  const input: RailResumeInput = book;
  return toOutbox({
    workflow: 'railResume',
    id: `rail-resume/${publicId('organisation', book.organisationId)}/${book.environment}/${until}`,
    summary: 'Signals the transfers in progress: the balance of the contract has changed',
    state: 'processing',
    input,
    idleUntil: new Date(until).toISOString(),
  });
}
