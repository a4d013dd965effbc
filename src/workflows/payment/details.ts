// The current details of a payment in the Temporal UI while its flow waits.
import { nairaText } from '../../money.ts';
import type { RailWait } from '../railWait/decide.ts';
import { describeWaits } from '../railWait/details.ts';
import type { PaymentInput, PaymentProgress } from './messages.ts';

export function describePayment(
  { amount, expiresAt }: PaymentInput,
  { status, amountReceived }: PaymentProgress,
  waits: readonly RailWait[],
): string {
  return [
    `**${status}**: waiting for money until ${expiresAt}.`,
    '',
    '| | |',
    '|---|---|',
    `| to be credited | ${nairaText(amount)} |`,
    `| received so far | ${nairaText(amountReceived)} |`,
    ...(waits.length === 0 ? [] : ['', 'Waiting for the rail:', '', ...describeWaits(waits)]),
  ].join('\n');
}
