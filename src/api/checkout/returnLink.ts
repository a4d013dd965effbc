// The address to which a payment page leads back (docs/decisions/0025-payment-page.md): the caller's own, with
// what became of the payment, signed in the form of a webhook.
import type { Environment } from '../../money.ts';
import type { signatureHeaders } from '../../webhooks/signature.ts';
import { invalidField } from '../errors.ts';

/**
 * Adds `result`, and the three values of a Standard Webhooks signature of it by the names of their headers. The rest of
 * the query stays as the caller wrote it.
 */
export function returnLink(
  returnUrl: string,
  result: string,
  signature: ReturnType<typeof signatureHeaders> | null,
): string {
  const url = new URL(returnUrl);
  const added = new URLSearchParams({ result, ...signature });
  const isOwn = (pair: string): boolean =>
    pair !== '' && ![...new URLSearchParams(pair).keys()].some((name) => added.has(name));
  url.search = [...url.search.slice(1).split('&').filter(isOwn), added.toString()].join('&');
  return url.href;
}

/** RFC 6761, and the addresses of the same machine. */
const LOCAL_HOST = /^((.+\.)?localhost|127\.0\.0\.1|\[::1\])$/;

/**
 * Throws VALIDATION_FAILED unless a payer may be sent to this address: https, without a user name; in the sandbox also
 * http on the developer's own machine.
 */
export function requireReturnUrl(environment: Environment, returnUrl: string): void {
  const url = new URL(returnUrl);
  const isSecure = url.protocol === 'https:' || (environment === 'test' && LOCAL_HOST.test(url.hostname));
  if (isSecure && url.username === '' && url.password === '') return;
  throw invalidField({
    field: 'returnUrl',
    code: 'invalid_string',
    message: isSecure ? 'must not have a user name' : 'must be an https URL',
    constraint: { format: 'url' },
  });
}
