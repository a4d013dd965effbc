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
  unreachableSince: null,
  pausedChecks: 0,
  knowsReference: false,
  hasNews: false,
});

/** After an operator's decision: the limits count from now. */
export function restartLimits(flow: TransferFlowState, now: number): void {
  flow.openSince = now;
  flow.unreachableSince = null;
  if (flow.notReady !== undefined) flow.notReady = { since: now, attempts: 0 };
}

/** Takes the result of a step into account. */
export function noteStep(flow: TransferFlowState, { rail, sends }: TransferProgress, now: number): void {
  if (sends?.isKnown || rail === 'known' || rail === 'contradiction') flow.knowsReference = true;
  flow.unreachableSince = rail === 'unreachable' ? (flow.unreachableSince ?? now) : null;
  flow.pausedChecks = rail === 'paused' ? flow.pausedChecks + 1 : 0;
  if (rail === 'paused') return;
  if (rail === 'not_ready') {
    const { since, attempts } = flow.notReady ?? { since: now, attempts: 0 };
    flow.notReady = { since, attempts: attempts + 1 };
    return;
  }
  flow.notReady = undefined;
  flow.checks += 1;
  if (sends === undefined) return;
  if (sends.count > flow.sends) flow.checks = 0;
  if (flow.sends === 0 && sends.count > 0) flow.openSince = now;
  flow.sends = sends.count;
  flow.isRefused = sends.isRefused;
  flow.sentAt = now - sends.sinceMs;
}

export const knowledgeOf = (
  { sentAt, openSince, unreachableSince, notReady: refused, ...flow }: TransferFlowState,
  { rail, notReady }: TransferProgress,
  now: number,
): TransferKnowledge => ({
  ...flow,
  rail,
  sinceSendMs: now - sentAt,
  openForMs: now - openSince,
  unreachableForMs: now - (unreachableSince ?? now),
  notReadyForMs: now - (refused?.since ?? now),
  notReadyAttempts: refused?.attempts ?? 0,
  retryAfterMs: notReady?.retryAfterMs ?? 0,
});
