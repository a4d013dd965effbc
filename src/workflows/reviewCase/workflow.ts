// The flow of one review case.
//
//   1. Wait for an operator's decision (update `decide`).   Nothing about the money changes until then.
//   2. Credit or keep: posted at once, and the case ends.   Undo: none; a wrong one is corrected by a transfer.
//   3. Send back: drive the bank transfer to its end.       Undo: back to suspense when it failed, and the case is open again.
import {
  condition,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
} from '@temporalio/workflow';
import type { ReviewCaseActivities } from '../../activities/reviewCases.ts';
import type { AttentionActivities } from '../attention/park.ts';
import { driveBankTransfer } from '../bankTransfer/drive.ts';
import { railReported } from '../bankTransfer/messages.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import { ATTENTION, ATTENTION_SINCE } from '../searchAttributes.ts';
import { showState } from '../state.ts';
import { refuseDecision } from './decide.ts';
import { decide, type ReviewCaseInput, type ReviewCaseResult } from './messages.ts';

const { readReviewCase, applyDecision, sendReturn, checkReturn, giveUpReturn, decideReturn, recordAct } =
  proxyActivities<ReviewCaseActivities & AttentionActivities>(MONEY_ACTIVITY);

export async function reviewCase(input: ReviewCaseInput): Promise<ReviewCaseResult> {
  let status = 'open';
  let deciding = false;
  let news = false;
  setHandler(railReported, () => {
    news = true;
  });
  setHandler(
    decide,
    async (decision) => {
      deciding = true;
      try {
        const answer = await applyDecision(input, decision);
        status = answer.status;
        return answer;
      } finally {
        deciding = false;
      }
    },
    {
      validator: (decision) => {
        const refusal = refuseDecision(status === 'open' && !deciding, decision);
        if (refusal !== null) throw new Error(refusal);
      },
    },
  );

  status = await readReviewCase(input); // a flow that was started anew goes on where the books stand
  for (;;) {
    if (status === 'open') {
      upsertSearchAttributes([
        { key: ATTENTION, value: 'review' },
        { key: ATTENTION_SINCE, value: new Date() },
      ]);
      setCurrentDetails(details(input));
      await condition(() => status !== 'open' && !deciding);
      upsertSearchAttributes([
        { key: ATTENTION, value: null },
        { key: ATTENTION_SINCE, value: null },
      ]);
    }
    if (status !== 'sending' && !(status === 'sent_back' && news)) break;
    news = false; // from here on the bank transfer hears it
    const steps = { send: sendReturn, check: checkReturn, give_up: giveUpReturn, decide: decideReturn };
    status = (await driveBankTransfer(input, steps, { recordAct })) === 'completed' ? 'sent_back' : 'open';
  }
  showState(status);
  setCurrentDetails(`**${status}**: ${input.amount} kobo.`);
  return { status };
}

function details({ amount, reason, walletId }: ReviewCaseInput): string {
  return [
    `**Needs attention: review** (${reason})`,
    '',
    `${amount} kobo wait in suspense${walletId === undefined ? '' : `; they came for ${walletId}`}. Nothing about them changes until somebody decides.`,
    '',
    'Send the update **decide** with one of these actions:',
    '',
    '| action | what it does |',
    '|---|---|',
    '| credit | into the wallet that it came for, or into `walletId` |',
    '| send_back | to the bank account that it came from |',
    '| keep | as unclaimed money, when nobody can say whose it is |',
    '',
    '```json',
    '{"action": "credit", "reason": "the customer called", "operator": "you"}',
    '```',
  ].join('\n');
}
