// The update by which operators decide about one resource: its decisions are carried out one at a time.
import { ApplicationFailure, HandlerUnfinishedPolicy, type UpdateDefinition } from '@temporalio/common';
import { condition, setHandler } from '@temporalio/workflow';
import type { AppliedDecision, DecisionAnswer } from './messages.ts';

/** What the handler reads and changes while the flow waits. */
export interface DecisionState<Snapshot> {
  /** The state of the resource in the database. Null: not read yet. */
  snapshot: Snapshot | null;
  deciding: boolean;
}

export function handleDecisions<Message, Snapshot>(
  update: UpdateDefinition<DecisionAnswer, [Message]>,
  state: DecisionState<Snapshot>,
  {
    refuse,
    decide,
  }: {
    /** Why a decision is refused before its operator is known; null if it may be tried. */
    refuse: (message: Message) => string | null;
    decide: (message: Message, snapshot: Snapshot) => Promise<AppliedDecision>;
  },
): void {
  setHandler(
    update,
    async (message) => {
      // After a reset those of several operators may arrive together. A condition may become true for several.
      while (state.snapshot === null || state.deciding) {
        await condition(() => state.snapshot !== null && !state.deciding);
      }
      const { snapshot } = state;
      const refusal = refuse(message); // again: the validator may have run before the resource was read or decided
      if (refusal !== null) throw ApplicationFailure.nonRetryable(refusal);
      state.deciding = true;
      try {
        const { outcome, message: text, status } = await decide(message, snapshot);
        if (outcome === 'denied') throw ApplicationFailure.nonRetryable(text);
        return { outcome, message: text, status };
      } finally {
        state.deciding = false;
      }
    },
    {
      validator: (message) => {
        const refusal = refuse(message);
        if (refusal !== null) throw new Error(refusal);
      },
      // A flow whose resource is decided needs no further decision.
      unfinishedPolicy: HandlerUnfinishedPolicy.ABANDON,
    },
  );
}
