// Parking: a flow that cannot go on by itself says so in the Temporal UI and waits for an operator. `park` waits until the
// operator has decided; `raise` asks for one while the flow goes on with its other work.
import { ActivityFailure, ApplicationFailure } from '@temporalio/common';
import { condition, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { showAttention } from '../state.ts';
import { CHOICES, type Choices, decideResolution, refuseResolution } from './decide.ts';
import {
  type AttentionCause,
  POSTING_REFUSED,
  type PostingRefusal,
  type Resolution,
  type ResolveAnswer,
  resolve,
  retry,
} from './messages.ts';

/** What an operator reads about a parked flow. */
export interface ParkedView {
  /** What happened, one sentence. */
  summary: string;
  /** Whose answer was the last, for example `rail`, and what it was. */
  lastResponse: { of: string; words: string };
  /** What is at stake, and where it stands. */
  fundsAtRisk: string;
  /** What can be asked of the flow, where that is not the same for every flow with this cause. */
  choices?: Choices;
}

export interface AttentionActivities {
  /** Writes an operator's act to the audit trail. */
  recordOperatorAction: (act: {
    organisationId: string;
    environment: string;
    subject: string;
    action: string;
    operator: string;
    reason: string;
  }) => Promise<void>;
}

export interface Attention {
  /** Waits for an operator, and resolves with what was decided. */
  park(cause: AttentionCause, view: ParkedView): Promise<Resolution>;
  /** The same; resolves with null when `overtaken` comes true first. */
  park(cause: AttentionCause, view: ParkedView, overtaken: () => boolean): Promise<Resolution | null>;
  /** Asks for an operator while the flow goes on. A repeat changes what is shown; null takes the request back. */
  raise: (request: { cause: AttentionCause; view: ParkedView } | null) => void;
  /** Whether an operator has decided about what is raised. */
  isDecided: () => boolean;
  /** What the operator decided, once, written to the audit trail; null while nothing is decided. Nothing is raised any more. */
  takeDecision: () => Promise<Resolution | null>;
  /** Does a step that posts. Where the ledger refuses, the flow is parked, and `retry` does the step again. */
  postOrPark: <Answer>(step: () => Promise<Answer>) => Promise<Answer>;
  /** Shows the cause while `work` goes on. It ends by itself: there is nothing to resolve. */
  showAttentionWhile: <Answer>(cause: 'rail_paused', work: () => Promise<Answer>) => Promise<Answer>;
}

/** Installs the handlers. Call it before the first await, so that a flow that is not parked can say so. */
export function createAttention(
  { organisationId, environment, subject }: { organisationId: string; environment: string; subject: string },
  { recordOperatorAction }: AttentionActivities,
): Attention {
  let cause: AttentionCause | null = null;
  let view: ParkedView | null = null;
  let proposal: Resolution | null = null;
  let decided: Resolution | null = null;

  setHandler(
    resolve,
    (asked): ResolveAnswer => {
      if (decideResolution(proposal, asked) === 'proposed') {
        proposal = asked;
        show();
        return {
          outcome: 'proposed',
          message: `A second operator must now send the same action, ${asked.action}, to confirm it.`,
        };
      }
      decided = asked;
      return { outcome: 'accepted', message: `${asked.action}: it is being done.` };
    },
    {
      validator: (asked) => {
        const refusal = refuseResolution(decided === null ? cause : null, asked, view?.choices);
        if (refusal !== null) throw new Error(refusal);
      },
    },
  );
  setHandler(retry, ({ operator, reason }) => {
    if (cause !== null) decided ??= { action: 'retry', operator, reason };
  });

  function show(): void {
    if (cause === null || view === null) return;
    setCurrentDetails(
      [
        `**Needs attention: ${cause}**`,
        '',
        view.summary,
        '',
        `The ${view.lastResponse.of}’s last words: ${view.lastResponse.words}`,
        '',
        `At stake: ${view.fundsAtRisk}. Nothing about it changes while this flow is parked.`,
        ...(proposal === null
          ? []
          : [
              '',
              `**Proposed by ${proposal.operator}: ${proposal.action}** (${proposal.reason}). Waits for a second operator.`,
            ]),
        '',
        'Send the update **resolve** with one of these actions (or the signal **retry**):',
        '',
        '| action | what it does |',
        '|---|---|',
        ...Object.entries(view.choices ?? CHOICES[cause]).map(([action, meaning]) => `| ${action} | ${meaning} |`),
        '',
        '```json',
        '{"action": "retry", "reason": "what was wrong is put right", "operator": "you"}',
        '```',
      ].join('\n'),
    );
  }

  function enter(why: AttentionCause, about: ParkedView | null): void {
    cause = why;
    view = about;
    proposal = null;
    decided = null;
    showAttention(why);
    show();
  }

  function leave(): void {
    cause = null;
    decided = null;
    showAttention(null);
  }

  async function park(why: AttentionCause, about: ParkedView): Promise<Resolution>;
  async function park(why: AttentionCause, about: ParkedView, overtaken?: () => boolean): Promise<Resolution | null>;
  async function park(why: AttentionCause, about: ParkedView, overtaken = () => false): Promise<Resolution | null> {
    // What an operator decided about a raised cause, and nobody has taken yet, outlasts a step that parks the flow meanwhile.
    const raised = decided === null ? null : { cause, view, proposal, decided };
    enter(why, about);
    await condition(() => decided !== null || overtaken());
    const decision = await takeDecision();
    if (raised !== null) ({ cause, view, proposal, decided } = raised);
    return decision;
  }

  /** Ends the parking, with the decision that was taken if there is one. */
  async function takeDecision(): Promise<Resolution | null> {
    const decision = decided;
    if (decision !== null) {
      const { action, operator, reason, evidence } = decision;
      const backing = proposal === null ? '' : ` [proposed by ${proposal.operator}: ${proposal.reason}]`;
      await recordOperatorAction({
        organisationId,
        environment,
        subject,
        action: `resolve:${action}`,
        operator,
        reason: `${cause}: ${reason}${evidence === undefined ? '' : ` (${evidence})`}${backing}`,
      });
    }
    leave();
    return decision;
  }

  return {
    park,
    raise(request) {
      if (decided !== null) return; // it is taken first
      if (request === null) {
        if (cause !== null) leave();
      } else if (cause === request.cause) {
        view = request.view;
        show();
      } else {
        enter(request.cause, request.view);
      }
    },
    isDecided: () => decided !== null,
    takeDecision: async () => (decided === null ? null : await takeDecision()),
    async postOrPark(step) {
      for (;;) {
        try {
          return await step();
        } catch (error) {
          const refusal = refusalIn(error);
          if (refusal === null) throw error;
          await park('posting_refused', refusedView(refusal));
          setCurrentDetails('**retrying** the posting that the ledger refused.');
        }
      }
    },
    async showAttentionWhile(why, work) {
      enter(why, null);
      try {
        return await work();
      } finally {
        leave();
      }
    },
  };
}

/** What the ledger refused, if that is why a step failed. */
function refusalIn(error: unknown): PostingRefusal | null {
  const cause = error instanceof ActivityFailure ? error.cause : null;
  if (!(cause instanceof ApplicationFailure) || cause.type !== POSTING_REFUSED) return null;
  return cause.details?.[0] as PostingRefusal;
}

function refusedView({ code, account, transaction, postings }: PostingRefusal): ParkedView {
  const what = transaction === null ? 'a change of its rows' : `the transaction ${transaction}`;
  const stands = postings.map(({ debit, credit, amount }) => `${amount} kobo in ${debit}, on the way to ${credit}`);
  return {
    summary: `The ledger refused ${what}, which it has no reason to refuse: a bug, or something was changed by hand.`,
    lastResponse: { of: 'ledger', words: account === null ? code : `${code}, at ${account}` },
    fundsAtRisk: stands.length === 0 ? 'no money was to move' : stands.join('; '),
  };
}
