// An event as a line for people.
import type { Event } from '../../typescript/src/index.ts';
import { nairaText } from './arguments.ts';
import { clockText, paint } from './output.ts';

/** The resource of an event: its id, or that of the wallet in events of wallets. */
function resourceOf({ data }: Event): string {
  const { id, walletId } = data as { id?: string; walletId?: string };
  return id ?? walletId ?? '';
}

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
    resourceOf(event),
    ...(status === undefined ? [] : [status]),
    ...(money === undefined ? [] : [nairaText(money)]),
  ].join(' ');
}
