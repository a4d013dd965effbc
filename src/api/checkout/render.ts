// HTML of the payment pages, from the templates beside this file, with their script and style. Eta escapes every value
// (docs/dependencies.md).
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import type { ApiError } from '../errors.ts';
import type { PageContent } from './decide.ts';
import { CHECKOUT_PATH } from './token.ts';

const HASH_DIGITS = 16;

/** An asset, whose path contains a hash of its content: browsers keep it for as long as they like. */
function readAsset(name: string, type: 'js' | 'css') {
  const body = readFileSync(new URL(`static/${name}.${type}`, import.meta.url), 'utf8');
  const hash = createHash('sha256').update(body).digest('hex').slice(0, HASH_DIGITS);
  return { path: `${CHECKOUT_PATH}/assets/${name}-${hash}.${type}`, type, body };
}

const script = readAsset('page', 'js');
const style = readAsset('page', 'css');
export const assets = [script, style];

const eta = new Eta({ views: fileURLToPath(new URL('templates', import.meta.url)), cache: true });

interface PaymentPage {
  content: PageContent;
  /** Of this page. */
  path: string;
  isSandbox: boolean;
  /** Without JavaScript, the reader has chosen that the page loads itself again. */
  updatesItself: boolean;
}

export const renderPayment = (page: PaymentPage): string =>
  eta.render('payment', { ...page, title: page.content.title, script, style });

const UNKNOWN = {
  headline: 'This payment link does not work',
  text: 'The link is incomplete, or the payment does not exist. Open it again from where you got it, or ask the sender for a new one.',
};
const TOO_MANY = {
  headline: 'Please wait a minute',
  text: 'This page was opened too often. Try again in a minute.',
};
const UNAVAILABLE = {
  headline: 'We cannot show this payment right now',
  text: 'Try again in a minute. If you have already sent money, it is not lost.',
};

/** The page that a person gets instead of an error envelope. */
export function renderNotice({ status }: Pick<ApiError, 'status'>, requestId: string): string {
  const notice = status === 429 ? TOO_MANY : status < 500 ? UNKNOWN : UNAVAILABLE;
  return eta.render('notice', { ...notice, title: notice.headline, requestId, script: null, style });
}
