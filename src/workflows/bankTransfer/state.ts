// What a flow remembers of its transfer between two steps, as pure functions. What decides about money is in the
// database, and comes with the result of each step.
import type { TransferKnowledge } from './decide.ts';
import type { BankTransferInput, TransferFlowState, TransferProgress } from './messages.ts';

export const initialState = (now: number): NonNullable<BankTransferInput['continued']> => ({
  step: 'send',
  sends: 0,
  isRefused: false,
  sentAt: now,
  checks: 0,
  openSince: now,
  found: { rail: 'unknown', since: now, steps: 0 },
  knowsReference: false,
  hasNews: false,
});

/** After an operator's decision: the limits count from now. */
export function restartLimits(flow: TransferFlowState, now: number): void {
  flow.openSince = now;
  flow.found = { ...flow.found, since: now, steps: 0 };
}

/** Takes the result of a step into account. */
export function noteStep(flow: TransferFlowState, { rail, sends }: TransferProgress, now: number): void {
  if (sends?.isKnown || rail === 'known' || rail === 'contradiction') flow.knowsReference = true;
  const { since, steps } = flow.found.rail === rail ? flow.found : { since: now, steps: 0 };
  flow.found = { rail, since, steps: steps + 1 };
  if (rail === 'paused' || rail === 'not_ready') return;
  flow.checks += 1;
  if (sends === undefined) return;
  if (sends.count > flow.sends) flow.checks = 0;
  if (flow.sends === 0 && sends.count > 0) flow.openSince = now;
  flow.sends = sends.count;
  flow.isRefused = sends.isRefused;
  flow.sentAt = now - sends.sinceMs;
}

export const knowledgeOf = (
  { sentAt, openSince, found, ...flow }: TransferFlowState,
  { rail, notReady }: TransferProgress,
  now: number,
): TransferKnowledge => ({
  ...flow,
  rail,
  sinceSendMs: now - sentAt,
  openForMs: now - openSince,
  foundForMs: now - found.since,
  foundSteps: found.steps,
  retryAfterMs: notReady?.retryAfterMs ?? 0,
});
