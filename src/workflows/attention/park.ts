// Parking: a flow that cannot continue shows why in the Temporal UI and requests an operator's decision (`raise`),
// while it continues with its other work or checks whether the cause is gone. Only a refused posting blocks it
// (`postOrPark`).
import { ActivityFailure, ApplicationFailure, HandlerUnfinishedPolicy } from '@temporalio/common';
import {
  CancellationScope,
  condition,
  log,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { nairaText } from '../../money.ts';
import type { FlowScope } from '../flows.ts';
import { decisionForm, type Proposal, proposalText } from '../operators/details.ts';
import type { DecisionOutcome, OperatorActivities, SentDecision } from '../operators/messages.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import { showAttention } from '../state.ts';
import { CHOICES, type Choices, refuseResolution } from './decide.ts';
import {
  type AttentionCause,
  POSTING_REFUSED,
  type PostingRefusal,
  type ResolveAction,
  type ResolveAnswer,
  resolve,
  retry,
} from './messages.ts';

const { recordDecision } = proxyActivities<OperatorActivities>(MONEY_ACTIVITY);

/** What an operator reads about a parked flow. */
export interface ParkedView {
  /** What happened, one sentence. */
  summary: string;
  /** The last response, and who gave it, for example `rail`. */
  lastResponse: { of: string; text: string };
  /** The amounts at stake, and where they are. */
  fundsAtRisk: string;
  /** The accepted actions, if they are not those of every flow with this cause (`CHOICES`). */
  choices?: Choices;
}

/** What operators have decided. */
export interface Decision {
  action: ResolveAction;
  reason: string;
  /** In the audit log already, unless it moves money: the movement proves it again. */
  sent: SentDecision;
}

export type Attention = ReturnType<typeof createAttention>;

/** What a flow has raised. The search attributes are carried over by Temporal. */
export interface CarriedAttention {
  cause: AttentionCause;
  /** ISO 8601. A decision is about this request: proposals about an earlier one do not count. */
  since: string;
  /** What one operator has proposed, if it needs a second one. */
  proposal: Proposal | null;
}

/** A flow that ends while a decision is being recorded needs none: the sender gets an error. */
const unfinishedPolicy = HandlerUnfinishedPolicy.ABANDON;

/** Installs `resolve` and `retry`. Call it before the first await, so that a flow that is not parked refuses. */
export function createAttention(scope: FlowScope, carried: CarriedAttention | null = null) {
  let raised: Omit<CarriedAttention, 'proposal'> | null = carried;
  let view: ParkedView | null = null;
  let proposal: Proposal | null = carried?.proposal ?? null;
  let decided: Decision | null = null;

  /** Records a decision about what is raised now. If accepted, it takes effect unless the flow has continued. */
  async function decide(
    action: ResolveAction,
    { code, reason, why = reason, batch }: { code: string; reason: string; why?: string; batch?: string | undefined },
  ): Promise<DecisionOutcome> {
    const asked = raised;
    if (asked === null) return { outcome: 'refused', message: CONTINUED };
    const sent: SentDecision = {
      code,
      subject: workflowInfo().workflowId,
      action: `resolve:${action}`,
      // A batch may find flows with several causes.
      about: batch === undefined ? `${asked.cause} since ${asked.since}` : `batch:${batch}`,
      reason: `${asked.cause}: ${why}`,
    };
    const { organisationId, environment } = scope;
    // Not cancelled with the flow: it then ends without this answer.
    const answer = await CancellationScope.nonCancellable(() => recordDecision({ organisationId, environment }, sent));
    if (answer.outcome === 'refused') return answer;
    if (decided !== null || raised !== asked) return { outcome: 'refused', message: CONTINUED };
    if (answer.outcome === 'proposed') {
      proposal = { operator: answer.operator, decision: `${action} of ${asked.cause}`, reason: sent.reason };
      show();
    } else {
      decided = { action, reason, sent };
    }
    return answer;
  }

  setHandler(
    resolve,
    async ({ action, reason, evidence, code }): Promise<ResolveAnswer> => {
      const why = evidence === undefined ? reason : `${reason} (${evidence})`;
      const answer = await decide(action, { code, reason, why });
      if (answer.outcome === 'refused') throw ApplicationFailure.nonRetryable(answer.message);
      const { outcome } = answer;
      const message =
        outcome === 'proposed'
          ? `A second operator must send the same action, ${action}, to confirm it.`
          : `The action ${action} is accepted.`;
      return { outcome, message };
    },
    {
      validator: (resolution) => {
        const cause = decided === null ? (raised?.cause ?? null) : null;
        const refusal = refuseResolution(cause, resolution, view?.choices);
        if (refusal !== null) throw new Error(refusal);
      },
      unfinishedPolicy,
    },
  );
  setHandler(
    retry,
    async ({ code, reason, batch }) => {
      if (raised === null || decided !== null) return;
      const answer = await decide('retry', { code, reason, batch });
      // A signal has no answer; an error would fail the flow.
      if (answer.outcome === 'refused') log.warn('a retry was refused', { refusal: answer.message });
    },
    { unfinishedPolicy },
  );

  function show(): void {
    if (raised === null || view === null) return;
    const { cause } = raised;
    setCurrentDetails(
      [
        `**Needs attention: ${cause}**`,
        '',
        view.summary,
        '',
        `Funds at risk: ${view.fundsAtRisk}.`,
        '',
        `Last response of the ${view.lastResponse.of}: ${view.lastResponse.text}.`,
        ...(proposal === null ? [] : ['', proposalText(proposal)]),
        '',
        ...decisionForm('the update **resolve** (or the signal **retry**)', view.choices ?? CHOICES[cause], {
          action: 'retry',
          reason: 'the cause is fixed',
        }),
      ].join('\n'),
    );
  }

  function enter(newCause: AttentionCause, newView: ParkedView | null): void {
    raised = { cause: newCause, since: new Date().toISOString() };
    view = newView;
    proposal = null;
    decided = null;
    showAttention(newCause);
    show();
  }

  function leave(): void {
    raised = null;
    decided = null;
    showAttention(null);
  }

  /** Parks the flow until an operator decides. */
  async function park(newCause: AttentionCause, newView: ParkedView): Promise<void> {
    // A decision on a raised cause that was not taken yet must survive a step that parks the flow in between.
    const before = decided === null ? null : { raised, view, proposal, decided };
    enter(newCause, newView);
    await condition(() => decided !== null);
    leave();
    if (before !== null) ({ raised, view, proposal, decided } = before);
  }

  return {
    /**
     * Requests a decision while the flow continues. A further call updates what is shown; null withdraws the request. A
     * cause that needs no decision has no view: the flow shows its own details.
     */
    raise(request: { cause: AttentionCause; view: ParkedView | null } | null): void {
      if (decided !== null) return; // takeDecision comes first
      if (request === null) {
        if (raised !== null) leave();
      } else if (raised?.cause === request.cause) {
        view = request.view;
        show();
      } else {
        enter(request.cause, request.view);
      }
    },
    /** Whether an operator has decided on what is raised, and the decision is not taken yet. */
    isDecided: (): boolean => decided !== null,
    /** Returns the decision once, and withdraws the request; null if there is no decision. */
    takeDecision(): Decision | null {
      const decision = decided;
      if (decision !== null) leave();
      return decision;
    },
    /** Runs a step that posts. If the ledger refuses, the flow parks, and `retry` runs the step again. */
    async postOrPark<Result>(step: () => Promise<Result>): Promise<Result> {
      for (;;) {
        try {
          return await step();
        } catch (error) {
          const refusal = refusalIn(error);
          if (refusal === null) throw error;
          await park('posting_refused', refusedView(refusal));
          setCurrentDetails('**retrying** the refused posting.');
        }
      }
    },
    /** What is raised, for the next run of a flow that continues as new. */
    carried: (): { attention: CarriedAttention } | null =>
      raised === null ? null : { attention: { ...raised, proposal } },
  };
}

const CONTINUED = 'Meanwhile the flow has continued. Read what it waits for now.';

/** The refusal of the ledger in a step's failure; null if the step failed for another reason. */
function refusalIn(error: unknown): PostingRefusal | null {
  const cause = error instanceof ActivityFailure ? error.cause : null;
  if (!(cause instanceof ApplicationFailure) || cause.type !== POSTING_REFUSED) return null;
  return cause.details?.[0] as PostingRefusal;
}

function refusedView({ code, account, transaction, postings }: PostingRefusal): ParkedView {
  const change = transaction === null ? 'a change of rows' : `the transaction ${transaction}`;
  const funds = postings.map(
    ({ debit, credit, amount }) => `${nairaText(amount)} in ${debit}, to be posted to ${credit}`,
  );
  return {
    summary:
      `The ledger refused ${change}, which no rule expects: a bug, or data was changed by hand. ` +
      'Nothing is posted while this flow is parked.',
    lastResponse: { of: 'ledger', text: account === null ? code : `${code}, at ${account}` },
    fundsAtRisk: funds.length === 0 ? 'none, no money was to move' : funds.join('; '),
  };
}
