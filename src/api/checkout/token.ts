// The address of a payment's page (docs/decisions/0025-payment-page.md). Its token has the ids of organisation and
// payment with a signature of 128 bits: the address of another payment cannot be guessed, and nothing of it is stored.
import type { Uuid } from '../../ids.ts';
import type { Keyring } from '../../keyring.ts';
import type { Environment } from '../../money.ts';
import type { PaymentWithAccount, SeenPayment } from '../../resources/payments/queries.ts';
import type { Call } from '../route.ts';

/** Path of the pages; a token follows. */
export const CHECKOUT_PATH = '/checkout';

/** The payment that a page is of. */
export type PaymentOfPage = Omit<SeenPayment, 'version'>;

const ID_BYTES = 16;
/** 128 bits of HMAC-SHA256 (RFC 2104, section 5, allows to cut it to half of its length). */
const SIGNATURE_BYTES = 16;
const TOKEN = /^[\w-]{64}$/;

/** The book of a payment, and the keys that sign its address. */
export type LinkedCall = Pick<Call, 'dependencies' | 'book'>;

/** The address of the page on which a payment is made; null where there is no account number to pay to. */
export function checkoutUrl({ dependencies, book }: LinkedCall, { id, account }: PaymentWithAccount): string | null {
  if (account === null) return null;
  const token = checkoutToken(dependencies.keyring, { book, paymentId: id });
  return `${dependencies.config.checkout.origins[book.environment]}${CHECKOUT_PATH}/${token}`;
}

/** The token of a payment, signed with the newest key: 64 characters of base64url. */
export function checkoutToken(keyring: Keyring, page: PaymentOfPage): string {
  const signature = keyring.sign('checkout', signedText(page)).subarray(0, SIGNATURE_BYTES);
  return Buffer.concat([bytesOf(page.book.organisationId), bytesOf(page.paymentId), signature]).toString('base64url');
}

/** The payment of a token that a key of this keyring signed for this environment; null for any other text. */
export function readCheckoutToken(keyring: Keyring, environment: Environment, token: string): PaymentOfPage | null {
  if (!TOKEN.test(token)) return null;
  const bytes = Buffer.from(token, 'base64url');
  const organisationId = uuidOf(bytes.subarray(0, ID_BYTES));
  const page = {
    book: { organisationId, environment },
    paymentId: uuidOf(bytes.subarray(ID_BYTES, 2 * ID_BYTES)),
  };
  const signature = bytes.subarray(2 * ID_BYTES);
  return keyring.verify('checkout', signedText(page), signature, SIGNATURE_BYTES) ? page : null;
}

const signedText = ({ book, paymentId }: PaymentOfPage): string =>
  `${book.environment} ${book.organisationId} ${paymentId}`;

const bytesOf = (uuid: Uuid): Buffer => Buffer.from(uuid.replaceAll('-', ''), 'hex');

const uuidOf = (bytes: Buffer): Uuid =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
