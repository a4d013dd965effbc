// Waiting for the rail beside the other work of a flow, by the rules of decide.ts.
import type { Attention } from '../attention/park.ts';
import { afterDecision, type IncompleteWork, type RailWait, requestOf, waitAfter } from './decide.ts';
import { requestView } from './details.ts';

export interface RailWaits {
  /** What the rail was asked for in vain. */
  waits: () => readonly RailWait[];
  /** Public ids of the credits among them. */
  credits: () => string[];
  /** A step about the thing with this id is done, but for what the rail left undone. */
  note: (id: string, undone: IncompleteWork | undefined) => void;
  /** Asks for an operator, or takes the request back, by what waits now. Answers whether one is asked for. */
  askForOperator: () => boolean;
  /** Does what an operator decided, if one has. */
  hearOperator: () => Promise<void>;
  /** Whether an operator has decided that this credit be set aside. */
  isToBeSetAside: (id: string) => boolean;
}

export function createRailWaits(attention: Attention): RailWaits {
  let waits: RailWait[] = [];
  let asked: RailWait[] = [];
  const setAside = new Set<string>();

  return {
    waits: () => waits,
    credits: () => waits.filter(({ last }) => last.what === 'credit').map(({ last }) => last.id),
    note(id, undone) {
      const before = waits.find(({ last }) => last.id === undone?.id) ?? null;
      waits = waits.filter((wait) => wait !== before && wait.last.id !== id);
      setAside.delete(id);
      if (undone !== undefined) waits.push(waitAfter(before, undone, Date.now()));
    },
    askForOperator() {
      const request = requestOf(waits, Date.now());
      asked = request?.parked ?? [];
      attention.raise(request && { cause: request.cause, view: requestView(request) });
      return request !== null;
    },
    async hearOperator() {
      const decision = await attention.takeDecision();
      if (decision === null) return;
      const after = afterDecision(waits, { parked: asked }, decision.action, Date.now());
      waits = after.waits;
      for (const id of after.setAside) setAside.add(id);
    },
    isToBeSetAside: (id) => setAside.has(id),
  };
}
