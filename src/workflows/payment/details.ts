// What operators read about a payment in the Temporal UI while its flow waits.
import type { RailWait } from '../railWait/decide.ts';
import { describeWaits } from '../railWait/details.ts';
import type { PaymentInput, PaymentProgress } from './messages.ts';

export function describePayment(
  { amount, expiresAt }: PaymentInput,
  { status, amountReceived }: PaymentProgress,
  waits: readonly RailWait[],
): string {
  return [
    `**${status}**: waits for money until ${expiresAt}.`,
    '',
    '| | kobo |',
    '|---|---|',
    `| to be credited | ${amount} |`,
    `| received so far | ${amountReceived} |`,
    ...(waits.length === 0 ? [] : ['', 'Waits for the rail:', '', ...describeWaits(waits)]),
  ].join('\n');
}
