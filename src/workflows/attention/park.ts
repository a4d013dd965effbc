// Parking: a flow that cannot go on by itself says so in the Temporal UI and waits for an operator. While it is parked
// nothing about its money changes.
import { condition, setCurrentDetails, setHandler, upsertSearchAttributes } from '@temporalio/workflow';
import { ATTENTION, ATTENTION_SINCE } from '../searchAttributes.ts';
import { CHOICES, decideResolution, refuseResolution } from './decide.ts';
import {
  type AttentionCause,
  type Resolution,
  type ResolveAction,
  type ResolveAnswer,
  resolve,
  retry,
} from './messages.ts';

/** What an operator reads about a parked flow. */
export interface ParkedView {
  /** What happened, one sentence. */
  happened: string;
  /** The rail's last words, or that there were none. */
  railSays: string;
  /** The money at stake and the account that it stands in. */
  money: string;
}

export interface AttentionActivities {
  /** Writes an operator's act to the audit trail. */
  recordAct: (act: {
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
  park: (cause: AttentionCause, view: ParkedView) => Promise<Resolution>;
}

const MEANING: Record<ResolveAction, string> = {
  retry: 'ask the rail again and go on',
  complete: 'post it as paid out, without the rail’s word; needs two operators',
  fail: 'put the money back into the wallet, without the rail’s word; needs two operators',
  keep: 'leave the books as they are; the difference is settled with the bank by hand',
};

/** Installs the handlers. Call it before the first await, so that a flow that is not parked can say so. */
export function createAttention(
  { organisationId, environment, subject }: { organisationId: string; environment: string; subject: string },
  { recordAct }: AttentionActivities,
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
        const refusal = refuseResolution(decided === null ? cause : null, asked);
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
        view.happened,
        '',
        `The rail’s last words: ${view.railSays}`,
        '',
        `Money at stake: ${view.money}. Nothing about it changes while this flow is parked.`,
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
        ...CHOICES[cause].map((action) => `| ${action} | ${MEANING[action]} |`),
        '',
        '```json',
        '{"action": "retry", "reason": "the bank is back", "operator": "you"}',
        '```',
      ].join('\n'),
    );
  }

  return {
    async park(why, about) {
      cause = why;
      view = about;
      proposal = null;
      decided = null;
      upsertSearchAttributes([
        { key: ATTENTION, value: why },
        { key: ATTENTION_SINCE, value: new Date() },
      ]);
      show();
      await condition(() => decided !== null);
      const { action, operator, reason, evidence } = decided as unknown as Resolution;
      const backing =
        proposal === null
          ? ''
          : ` [proposed by ${(proposal as Resolution).operator}: ${(proposal as Resolution).reason}]`;
      await recordAct({
        organisationId,
        environment,
        subject,
        action: `resolve:${action}`,
        operator,
        reason: `${why}: ${reason}${evidence === undefined ? '' : ` (${evidence})`}${backing}`,
      });
      cause = null;
      upsertSearchAttributes([
        { key: ATTENTION, value: null },
        { key: ATTENTION_SINCE, value: null },
      ]);
      return decided as unknown as Resolution;
    },
  };
}
