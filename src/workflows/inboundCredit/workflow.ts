// The flow of one credit that belongs to no payment.
//
//   1. Place it: the wallet whose deposit account it came to, or suspense and a review case.   Undo: none is needed.
//   2. Where the ledger refuses both: park.
import { proxyActivities, setCurrentDetails } from '@temporalio/workflow';
import type { InboundCreditActivities } from '../../activities/inboundCredits.ts';
import { type AttentionActivities, createAttention } from '../attention/park.ts';
import { MONEY_ACTIVITY } from '../options.ts';
import { showState } from '../state.ts';
import type { InboundCreditInput, InboundCreditResult } from './messages.ts';

const { placeCredit, recordAct } = proxyActivities<InboundCreditActivities & AttentionActivities>(MONEY_ACTIVITY);

export async function inboundCredit(input: InboundCreditInput): Promise<InboundCreditResult> {
  const attention = createAttention({ ...input, subject: input.inboundCreditId }, { recordAct });
  setCurrentDetails(`Waits until ${input.amount} kobo are confirmed by the rail and posted.`);
  const { status } = await attention.untilPosted(() => placeCredit(input));
  setCurrentDetails(`**${status}**: ${input.amount} kobo.`);
  if (status !== 'posted') showState(status);
  return { status };
}
