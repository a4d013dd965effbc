// The current details of a hold in the Temporal UI.
import { nairaText } from '../../money.ts';
import { decisionForm } from '../operators/details.ts';
import { ACTIONS, HOLD_ATTENTION } from './decide.ts';
import type { HoldInput, HoldSnapshot } from './messages.ts';

export function describeHold({ walletId }: HoldInput, { amountHeld, releaseAt, refusal }: HoldSnapshot): string {
  const held = `${nairaText(amountHeld)} is held for ${walletId}`;
  return [
    ...(refusal === null
      ? [`**held**: ${held}, ${releaseAt === null ? 'until a request releases it' : `until ${releaseAt}`}.`]
      : [
          `**Needs attention: ${HOLD_ATTENTION}**`,
          '',
          `${held} and is due since ${releaseAt}. The wallet refused it: ${refusal}. It is tried again by itself; if the ` +
            'cause stays, cancel the hold.',
        ]),
    '',
    ...decisionForm('the update **decide**', ACTIONS, { action: 'release', reason: 'the goods have arrived' }),
  ].join('\n');
}
