// Whether the checks of a soak have checked: an attempt that failed or took too long, without a fault that is a reason
// for it, is an alarm, and so is a check that has not ended for ten minutes. Pure, of times since the plan began.
import type { Fault, Timed } from '../chaos/plan.ts';

export const CHECKS = ['verification', 'reconciliation', 'whole reconciliation'] as const;

export interface Attempt {
  check: (typeof CHECKS)[number];
  fromMs: number;
  toMs: number;
  /** Why it did not end; null: it did. */
  failure: string | null;
}

interface Span {
  fromMs: number;
  toMs: number;
}

/** A fault is a reason for so long after it has healed: what it ended is started again, and what piled up is done. */
const AFTER_FAULT_MS = 30_000;
/** Each check ends within this time, in which no worker stands still. */
const ENDS_WITHIN_MS = 600_000;

const stillMs = (what: Fault): number => (what.kind === 'freeze' && what.part.startsWith('worker-') ? what.forMs : 0);

/** For how long a fault is a reason for a check to fail. Workers need as long again as they stood still. */
function disturbsMs(check: Attempt['check'], what: Fault): number {
  if (what.kind === 'fillDisk') return what.forMs + AFTER_FAULT_MS;
  // Nothing but the database answers a verification, and workers reconcile.
  if (check === 'verification' || !('part' in what) || !what.part.startsWith('worker-')) return 0;
  return 2 * stillMs(what) + AFTER_FAULT_MS;
}

/** When faults had an effect, without those that had none. */
const spansOf = (faults: readonly Timed<Fault>[], lastsMs: (what: Fault) => number): Span[] =>
  faults.flatMap(({ atMs, what }) => (lastsMs(what) > 0 ? [{ fromMs: atMs, toMs: atMs + lastsMs(what) }] : []));

/** How much of a time none of these spans covers. */
function outside({ fromMs, toMs }: Span, spans: readonly Span[]): number {
  let [sum, doneMs] = [0, fromMs];
  for (const span of spans.toSorted((a, b) => a.fromMs - b.fromMs)) {
    sum += Math.max(0, Math.min(span.fromMs, toMs) - doneMs);
    doneMs = Math.max(doneMs, Math.min(span.toMs, toMs));
  }
  return sum + Math.max(0, toMs - doneMs);
}

/** What the attempts of a run until `endMs` raise an alarm for. */
export function listUnchecked(attempts: readonly Attempt[], faults: readonly Timed<Fault>[], endMs: number): string[] {
  const still = spansOf(faults, stillMs);
  return CHECKS.flatMap((check) => {
    const own = attempts.filter((attempt) => attempt.check === check);
    const ends = own.filter(({ failure }) => failure === null).map(({ toMs }) => toMs);
    const disturbed = spansOf(faults, (what) => disturbsMs(check, what));
    const failed = own.filter(
      ({ failure, fromMs, toMs }) =>
        failure !== null && !disturbed.some((span) => span.fromMs <= toMs && fromMs <= span.toMs),
    );
    const times = [0, ...ends, endMs];
    const isMissing = times.some((toMs, index) => {
      return outside({ fromMs: times[index - 1] ?? 0, toMs }, still) > ENDS_WITHIN_MS;
    });
    return [
      ...failed.map(({ failure, fromMs }) => `a ${check} failed after ${Math.round(fromMs / 1000)} s: ${failure}`),
      ...(ends.length === 0 ? [`no ${check} has ended`] : []),
      ...(ends.length > 0 && isMissing ? [`for ten minutes no ${check} has ended`] : []),
    ];
  });
}
