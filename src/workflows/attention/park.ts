// Parking: a flow that cannot continue shows why in the Temporal UI and requests an operator's decision (`raise`),
// while it continues with its other work or checks whether the cause is gone. Only a refused posting blocks it
// (`postOrPark`).
import { ActivityFailure, ApplicationFailure, HandlerUnfinishedPolicy } from '@temporalio/common';
import { condition, log, proxyActivities, setCurrentDetails, setHandler } from '@temporalio/workflow';
import { type Environment, nairaText } from '../../money.ts';
import { auditEntries, type Decided, decideApproval } from '../operators/decide.ts';
import { decisionForm, proposalText } from '../operators/details.ts';
import { identify } from '../operators/identify.ts';
import type { AuditEntry, OperatorActivities } from '../operators/messages.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import { showAttention } from '../state.ts';
import { CHOICES, type Choices, needsTwo, refuseResolution, scopeOf } from './decide.ts';
import {
  type AttentionCause,
  POSTING_REFUSED,
  type PostingRefusal,
  type ResolveAction,
  type ResolveAnswer,
  resolve,
  retry,
} from './messages.ts';

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

export interface AttentionActivities extends OperatorActivities {
  /** Writes an operator's action, which moves no money itself, to the audit trail. */
  recordOperatorAction: (
    entry: AuditEntry & { organisationId: string; environment: Environment; subject: string },
  ) => Promise<void>;
}

const { recordOperatorAction } = proxyActivities<AttentionActivities>(MONEY_ACTIVITY);

/** What operators have decided. */
export interface Decision {
  action: ResolveAction;
  reason: string;
  /** Written already, except for an action that moves money: the movement writes them. */
  audit: AuditEntry[];
}

export type Attention = ReturnType<typeof createAttention>;

/** What a flow has raised. The search attributes are carried over by Temporal. */
export interface CarriedAttention {
  cause: AttentionCause;
  /** What one operator has proposed, if it needs a second one. */
  proposal: Decided | null;
}

/** A flow that ends while a message is being identified needs no decision: the sender gets an error. */
const unfinishedPolicy = HandlerUnfinishedPolicy.ABANDON;

/**
 * Installs the handlers of `resolve` and `retry`. Call it before the first await, so that a flow that is not parked
 * refuses `resolve` with a message.
 */
export function createAttention(
  { organisationId, environment, subject }: { organisationId: string; environment: Environment; subject: string },
  carried: CarriedAttention | null = null,
) {
  let cause: AttentionCause | null = carried?.cause ?? null;
  let view: ParkedView | null = null;
  let proposal: Decided | null = carried?.proposal ?? null;
  let decided: Decision | null = null;

  const decide = (action: ResolveAction, reason: string, latest: Decided, before: Decided | null): void => {
    decided = { action, reason, audit: auditEntries(`resolve:${action}`, latest, before) };
  };

  setHandler(
    resolve,
    async ({ action, reason, evidence, code }): Promise<ResolveAnswer> => {
      const decision = `${action} of ${cause}`;
      const asked = cause;
      const operator = await identify({ code, scope: scopeOf(action), decision });
      if (decided !== null || cause !== asked) {
        throw ApplicationFailure.nonRetryable('Meanwhile the flow has continued. Read what it waits for now.');
      }
      const why = evidence === undefined ? reason : `${reason} (${evidence})`;
      const latest = { operator, decision, reason: `${cause}: ${why}` };
      if (decideApproval(proposal, latest, needsTwo(action)) === 'proposed') {
        proposal = latest;
        show();
        return {
          outcome: 'proposed',
          message: `A second operator must send the same action, ${action}, to confirm it.`,
        };
      }
      decide(action, reason, latest, needsTwo(action) ? proposal : null);
      return { outcome: 'accepted', message: `The action ${action} is accepted.` };
    },
    {
      validator: (resolution) => {
        const refusal = refuseResolution(decided === null ? cause : null, resolution, view?.choices);
        if (refusal !== null) throw new Error(refusal);
      },
      unfinishedPolicy,
    },
  );
  setHandler(
    retry,
    async ({ code, reason, batch }) => {
      if (cause === null || decided !== null) return;
      // A batch may find flows with several causes, and its code is valid for one decision.
      const decision = batch === undefined ? `retry of ${cause}` : 'retry';
      const of = batch === undefined ? {} : { batch };
      try {
        const operator = await identify({ code, scope: scopeOf('retry'), decision, ...of });
        if (cause !== null && decided === null) {
          decide('retry', reason, { operator, decision, reason: `${cause}: ${reason}` }, null);
        }
      } catch (error) {
        // A signal has no answer; an error would fail the flow.
        if (!(error instanceof ApplicationFailure)) throw error;
        log.warn('a retry was refused', { refusal: error.message });
      }
    },
    { unfinishedPolicy },
  );

  function show(): void {
    if (cause === null || view === null) return;
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
    cause = newCause;
    view = newView;
    proposal = null;
    decided = null;
    showAttention(newCause);
    show();
  }

  function leave(): void {
    cause = null;
    decided = null;
    showAttention(null);
  }

  /** Parks the flow until an operator decides. */
  async function park(newCause: AttentionCause, newView: ParkedView): Promise<void> {
    // A decision on a raised cause that was not taken yet must survive a step that parks the flow in between.
    const raised = decided === null ? null : { cause, view, proposal, decided };
    enter(newCause, newView);
    await condition(() => decided !== null);
    await takeDecision();
    if (raised !== null) ({ cause, view, proposal, decided } = raised);
  }

  /** Ends the parking. Returns the decision, audited, if there is one. */
  async function takeDecision(): Promise<Decision | null> {
    const decision = decided;
    if (decision !== null) {
      const written = needsTwo(decision.action) ? [] : decision.audit; // the movement writes the others
      for (const entry of written) {
        await recordOperatorAction({ organisationId, environment, subject, ...entry });
      }
    }
    leave();
    return decision;
  }

  return {
    /**
     * Requests a decision while the flow continues. A further call updates what is shown; null withdraws the request. A
     * cause that needs no decision has no view: the flow shows its own details.
     */
    raise(request: { cause: AttentionCause; view: ParkedView | null } | null): void {
      if (decided !== null) return; // takeDecision comes first
      if (request === null) {
        if (cause !== null) leave();
      } else if (cause === request.cause) {
        view = request.view;
        show();
      } else {
        enter(request.cause, request.view);
      }
    },
    /** Whether an operator has decided on what is raised, and the decision is not taken yet. */
    isDecided: (): boolean => decided !== null,
    /**
     * Returns the decision once, writes it to the audit trail and withdraws the request; null if there is no decision.
     */
    takeDecision: async (): Promise<Decision | null> => (decided === null ? null : await takeDecision()),
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
    carried: (): { attention: CarriedAttention } | null => (cause === null ? null : { attention: { cause, proposal } }),
  };
}

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
