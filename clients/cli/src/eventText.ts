// An event as a line for people.
import type { Event } from '../../typescript/src/index.ts';
import { nairaText } from './arguments.ts';
import { clockText, paint } from './output.ts';

/** `12:03:04 payment.settled svc_…_evt svc_…_pay partial ₦1,010.00`. */
export function eventText(event: Event): string {
  const { status, amount, amountReceived } = event.data as {
    status?: string;
    amount?: number;
    amountReceived?: number;
  };
  const money = amountReceived ?? amount;
  return [
    paint('dim', clockText(event.createdAt)),
    paint('cyan', event.type),
    event.id,
    event.resourceId,
    ...(status === undefined ? [] : [status]),
    ...(money === undefined ? [] : [nairaText(money)]),
  ].join(' ');
}
