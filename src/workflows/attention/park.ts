// Parking: a flow that cannot continue shows why in the Temporal UI and waits for an operator's decision. `park` blocks
// until the operator has decided; `raise` requests a decision while the flow continues with its other work.
import { ActivityFailure, ApplicationFailure, HandlerUnfinishedPolicy } from '@temporalio/common';
import { condition, log, setCurrentDetails, setHandler } from '@temporalio/workflow';
import type { Environment } from '../../money.ts';
import { auditEntries, CODE_TEXT, type Decided, decideApproval, proposalText } from '../operators/decide.ts';
import { identify } from '../operators/identify.ts';
import type { AuditEntry, OperatorActivities } from '../operators/messages.ts';
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
  lastResponse: { of: string; words: string };
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

/** What operators have decided. */
export interface Decision {
  action: ResolveAction;
  reason: string;
  /** Written already, except for an action that moves money: the movement writes them. */
  audit: AuditEntry[];
}

export interface Attention {
  /** Parks the flow until an operator decides; returns the decision. */
  park(cause: AttentionCause, view: ParkedView): Promise<Decision>;
  /** The same; returns null if `isSuperseded` becomes true first. */
  park(cause: AttentionCause, view: ParkedView, isSuperseded: () => boolean): Promise<Decision | null>;
  /** Requests a decision while the flow continues. A further call updates what is shown; null withdraws the request. */
  raise: (request: { cause: AttentionCause; view: ParkedView } | null) => void;
  /** Whether an operator has decided on what is raised, and the decision is not taken yet. */
  isDecided: () => boolean;
  /**
   * Returns the decision once, writes it to the audit trail and withdraws the request; null if there is no decision.
   */
  takeDecision: () => Promise<Decision | null>;
  /** Runs a step that posts. If the ledger refuses, the flow parks, and `retry` runs the step again. */
  postOrPark: <Result>(step: () => Promise<Result>) => Promise<Result>;
  /** Shows the cause while `work` runs. It needs no decision: `resolve` is refused. */
  showAttentionWhile: <Result>(cause: 'rail_paused', work: () => Promise<Result>) => Promise<Result>;
}

/** A flow that ends while a message is being identified needs no decision: the sender is told that it has ended. */
const unfinishedPolicy = HandlerUnfinishedPolicy.ABANDON;

/**
 * Installs the handlers of `resolve` and `retry`. Call it before the first await, so that a flow that is not parked
 * refuses `resolve` with a message.
 */
export function createAttention(
  { organisationId, environment, subject }: { organisationId: string; environment: Environment; subject: string },
  activities: AttentionActivities,
): Attention {
  let cause: AttentionCause | null = null;
  let view: ParkedView | null = null;
  let proposal: Decided | null = null;
  let decided: Decision | null = null;

  const decide = (action: ResolveAction, reason: string, latest: Decided, before: Decided | null): void => {
    decided = { action, reason, audit: auditEntries(`resolve:${action}`, latest, before) };
  };

  setHandler(
    resolve,
    async ({ action, reason, evidence, code }): Promise<ResolveAnswer> => {
      const decision = `${action} of ${cause}`;
      const asked = cause;
      const operator = await identify(activities, { code, scope: scopeOf(action), decision });
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
    async ({ code, reason }) => {
      if (cause === null || decided !== null) return;
      const decision = `retry of ${cause}`;
      try {
        const operator = await identify(activities, { code, scope: scopeOf('retry'), decision });
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
        `Last response of the ${view.lastResponse.of}: ${view.lastResponse.words}.`,
        ...(proposal === null ? [] : ['', proposalText(proposal)]),
        '',
        'Send the update **resolve** with one of these actions, or the signal **retry**:',
        '',
        '| action | effect |',
        '|---|---|',
        ...Object.entries(view.choices ?? CHOICES[cause]).map(([action, effect]) => `| ${action} | ${effect} |`),
        '',
        '```json',
        '{"action": "retry", "reason": "the cause is fixed", "code": "xxxx-xxxx-xxxx"}',
        '```',
        '',
        CODE_TEXT,
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

  async function park(newCause: AttentionCause, newView: ParkedView): Promise<Decision>;
  async function park(
    newCause: AttentionCause,
    newView: ParkedView,
    isSuperseded?: () => boolean,
  ): Promise<Decision | null>;
  async function park(
    newCause: AttentionCause,
    newView: ParkedView,
    isSuperseded = () => false,
  ): Promise<Decision | null> {
    // A decision on a raised cause that was not taken yet must survive a step that parks the flow in between.
    const raised = decided === null ? null : { cause, view, proposal, decided };
    enter(newCause, newView);
    await condition(() => decided !== null || isSuperseded());
    const decision = await takeDecision();
    if (raised !== null) ({ cause, view, proposal, decided } = raised);
    return decision;
  }

  /** Ends the parking. Returns the decision, audited, if there is one. */
  async function takeDecision(): Promise<Decision | null> {
    const decision = decided;
    if (decision !== null) {
      const written = needsTwo(decision.action) ? [] : decision.audit; // the movement writes the others
      for (const entry of written) {
        await activities.recordOperatorAction({ organisationId, environment, subject, ...entry });
      }
    }
    leave();
    return decision;
  }

  return {
    park,
    raise(request) {
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
          setCurrentDetails('**retrying** the refused posting.');
        }
      }
    },
    async showAttentionWhile(newCause, work) {
      enter(newCause, null);
      try {
        return await work();
      } finally {
        leave();
      }
    },
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
  const funds = postings.map(({ debit, credit, amount }) => `${amount} kobo in ${debit}, to be posted to ${credit}`);
  return {
    summary:
      `The ledger refused ${change}, which no rule expects: a bug, or data was changed by hand. ` +
      'Nothing is posted while this flow is parked.',
    lastResponse: { of: 'ledger', words: account === null ? code : `${code}, at ${account}` },
    fundsAtRisk: funds.length === 0 ? 'none, no money was to move' : funds.join('; '),
  };
}
