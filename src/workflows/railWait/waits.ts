// Waits for the rail while the other work of a flow continues, or until it confirms, by the rules of decide.ts.
import { condition, continueAsNew, setCurrentDetails } from '@temporalio/workflow';
import { type Attention, createAttention } from '../attention/park.ts';
import { mustContinueAsNew } from '../continuation.ts';
import type { SentDecision } from '../operators/messages.ts';
import { afterDecision, type IncompleteWork, type RailWait, requestOf, waitAfter } from './decide.ts';
import { describeWaits, requestView } from './details.ts';
import type { CarriedRailWaits, CreditActivity, CreditInput } from './messages.ts';

/** Waits that are carried over: an input must stay small. The flow reads the credits of the others again. */
const CARRIED_MAX = 100;

export function createRailWaits(attention: Attention, carried?: CarriedRailWaits) {
  let waits: RailWait[] = carried?.waits ?? [];
  let parked: RailWait[] = [];
  const setAside = new Set(carried?.setAside);
  let setAsideBy = carried?.setAsideBy ?? null;

  /** Requests an operator, or withdraws the request, by what waits now. Returns whether one is requested. */
  function requestOperator(): boolean {
    const request = requestOf(waits, Date.now());
    parked = request?.parked ?? [];
    attention.raise(request && { cause: request.cause, view: requestView(request) });
    return request !== null;
  }

  if (carried !== undefined) requestOperator(); // before a decision can arrive
  return {
    requestOperator,
    waits: (): readonly RailWait[] => waits,
    /** Public ids of the credits that wait. */
    credits: (): string[] => waits.filter(({ last }) => last.what === 'credit').map(({ last }) => last.id),
    /** Records that a step for this id has run, and what it could not do because of the rail. */
    note(id: string, incomplete: IncompleteWork | undefined): void {
      const before = waits.find(({ last }) => last.id === incomplete?.id) ?? null;
      waits = waits.filter((wait) => wait !== before && wait.last.id !== id);
      setAside.delete(id);
      if (incomplete !== undefined) waits.push(waitAfter(before, incomplete, Date.now()));
    },
    /** Applies an operator's decision, if there is one. */
    applyDecision(): void {
      const decision = attention.takeDecision();
      if (decision === null) return;
      const after = afterDecision(waits, { parked }, decision.action, Date.now());
      waits = after.waits;
      for (const id of after.setAside) setAside.add(id);
      if (after.setAside.length > 0) setAsideBy = decision.sent;
    },
    /** The decision to set this credit aside; null: there is none. */
    setAsideBy: (id: string): SentDecision | null => (setAside.has(id) ? setAsideBy : null),
    /** For the next run of a flow that continues as new: an account's wait always, of the credits' as many as fit. */
    carried: (): CarriedRailWaits => ({
      waits: waits.toSorted((a, b) => a.last.what.localeCompare(b.last.what)).slice(0, CARRIED_MAX),
      setAside: [...setAside].slice(0, CARRIED_MAX),
      setAsideBy,
    }),
  };
}

/**
 * The loop of a flow with one inbound credit, or with its recall: it runs a step again, with growing delays, until the
 * rail confirms it. After the limit it requests an operator, who may have it set aside. Returns the status that the
 * last step has reached.
 */
export async function untilConfirmed({ continued, ...input }: CreditInput, apply: CreditActivity): Promise<string> {
  const { inboundCreditId } = input;
  const attention = createAttention(input, continued?.attention);
  const rail = createRailWaits(attention, continued?.rail);
  for (;;) {
    const setAside = rail.setAsideBy(inboundCreditId);
    const { status, incomplete } = await attention.postOrPark(() => apply(input, { setAside }));
    rail.note(inboundCreditId, incomplete);
    const isRaised = rail.requestOperator();
    const [wait] = rail.waits();
    if (wait === undefined) return status;
    if (!isRaised) setCurrentDetails(describeWaits(rail.waits()).join('\n'));
    await condition(attention.isDecided, Math.max(1, wait.nextAt - Date.now()), {
      summary: 'until the rail is queried again',
    });
    if (await mustContinueAsNew(attention)) {
      await continueAsNew({ ...input, continued: { rail: rail.carried(), ...attention.carried() } });
    }
    rail.applyDecision();
  }
}
