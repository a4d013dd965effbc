// HTML of the payment pages, from the templates beside this file. Eta escapes every value (docs/dependencies.md).
import { fileURLToPath } from 'node:url';
import { Eta } from 'eta';
import type { ApiError } from '../errors.ts';
import { script, style } from './assets.ts';
import type { PageContent } from './decide.ts';

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

interface Notice {
  headline: string;
  text: string;
}

const UNKNOWN: Notice = {
  headline: 'This payment link does not work',
  text: 'The link is incomplete, or the payment does not exist. Open it again from where you got it, or ask the sender for a new one.',
};
const TOO_MANY: Notice = {
  headline: 'Please wait a minute',
  text: 'This page was opened too often. Try again in a minute.',
};
const UNAVAILABLE: Notice = {
  headline: 'We cannot show this payment right now',
  text: 'Try again in a minute. If you have already sent money, it is not lost.',
};

/** The page that a person gets instead of an error envelope. */
export function renderNotice({ status }: Pick<ApiError, 'status'>, requestId: string): string {
  const notice = status === 429 ? TOO_MANY : status < 500 ? UNKNOWN : UNAVAILABLE;
  return eta.render('notice', { ...notice, title: notice.headline, requestId, script: null, style });
}
