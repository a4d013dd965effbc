// The address of a payment's page.
import type { PaymentWithAccount } from '../../resources/payments/queries.ts';
import type { Call } from '../route.ts';
import { checkoutToken } from './token.ts';

/** Path of the pages; a token follows. */
export const CHECKOUT_PATH = '/checkout';

/** Whose payment it is, and the keys that sign its address. */
export type LinkedCall = Pick<Call<unknown, unknown>, 'dependencies' | 'caller'>;

/** The address of the page on which a payment is made; null where there is no account number to pay to. */
export function checkoutUrl({ dependencies, caller }: LinkedCall, { id, account }: PaymentWithAccount): string | null {
  if (account === null) return null;
  const { book } = caller;
  const token = checkoutToken(dependencies.keyring, { book, paymentId: id });
  return `${dependencies.config.checkout.origins[book.environment]}${CHECKOUT_PATH}/${token}`;
}
