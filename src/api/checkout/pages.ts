// The payment pages: routes without an API key, outside of `/v1`, for anyone who has the address of a payment. Rendered
// here, complete without JavaScript; a script of this host keeps an open page up to date.
import type { Router } from '@koa/router';
import type { Context } from 'koa';
import { LRUCache } from 'lru-cache';
import { publicId, type Uuid } from '../../ids.ts';
import type { Environment } from '../../money.ts';
import { findPaymentWithPayee } from '../../resources/payments/queries.ts';
import { listSigningSecrets } from '../../webhooks/endpoints.ts';
import { openSecrets, returnLinkSecret, signatureHeaders } from '../../webhooks/signature.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { ApiError } from '../errors.ts';
import { pageContent } from './decide.ts';
import type { OpenPages } from './openPages.ts';
import { assets, renderNotice, renderPayment } from './render.ts';
import { returnLink } from './returnLink.ts';
import { CHECKOUT_PATH, type PaymentOfPage, readCheckoutToken } from './token.ts';

/**
 * Requests for a payment's page a minute in this process. Not by address: thousands of phones share one with their
 * network, and a request without a token costs an HMAC.
 */
const REQUESTS_PER_MINUTE = 120;
const MINUTE_MS = 60_000;
/** Payments whose requests are counted at once. */
const COUNTED_PAYMENTS_MAX = 10_000;

/** Scripts, styles and requests of this host only, none inline. The icon is empty. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; " +
  "form-action 'none'; frame-ancestors 'none'";

/** Adds the payment pages of one environment's host. */
export function addCheckout(
  router: Router,
  dependencies: ApiDependencies,
  openPages: OpenPages,
  environment: Environment,
): void {
  const isAllowed = countRequests();

  /** The payment of the token. Throws PAYMENT_NOT_FOUND, and RATE_LIMIT_EXCEEDED. */
  const requirePage = (ctx: Context, route: string, isForPeople: boolean): PaymentOfPage => {
    ctx.state.route = `GET ${route}`;
    ctx.set('X-Content-Type-Options', 'nosniff');
    ctx.set('X-Robots-Tag', 'noindex');
    // The address is a secret of the payer and the payee.
    ctx.set('Referrer-Policy', 'no-referrer');
    if (isForPeople) {
      ctx.set('Content-Security-Policy', CONTENT_SECURITY_POLICY);
      ctx.state.errorPage = renderNotice;
    }
    const page = readCheckoutToken(dependencies.keyring, environment, tokenOf(ctx));
    if (page === null) throw new ApiError('PAYMENT_NOT_FOUND');
    if (!isAllowed(page.paymentId)) throw tooMany(ctx);
    return page;
  };

  const requirePayment = async ({ book, paymentId }: PaymentOfPage) => {
    const found = await findPaymentWithPayee(dependencies.sql, book, paymentId);
    const account = found?.payment.account ?? null;
    if (found === null || account === null) throw new ApiError('PAYMENT_NOT_FOUND');
    return { ...found, payment: { ...found.payment, account } };
  };

  for (const { path, type, body } of assets) {
    router.get(path, (ctx: Context) => {
      ctx.state.route = 'GET /checkout/assets/:file';
      ctx.body = body;
      ctx.type = type;
      ctx.set('X-Content-Type-Options', 'nosniff');
      ctx.set('Cache-Control', 'public, max-age=31536000, immutable');
    });
  }

  const route = `${CHECKOUT_PATH}/:token`;
  router.get(route, async (ctx: Context) => {
    const page = requirePage(ctx, route, true);
    const { payment, payee, now } = await requirePayment(page);
    ctx.type = 'html';
    ctx.body = renderPayment({
      content: pageContent(payment, payee, now),
      path: `${CHECKOUT_PATH}/${tokenOf(ctx)}`,
      isSandbox: environment === 'test',
      updatesItself: ctx.query.updates === 'on',
    });
  });

  router.get(`${route}/return`, async (ctx: Context) => {
    const page = requirePage(ctx, `${route}/return`, true);
    const [{ payment, now }, sealed] = await Promise.all([
      requirePayment(page),
      listSigningSecrets(dependencies.sql, page.book),
    ]);
    if (payment.returnUrl === null) throw new ApiError('PAYMENT_NOT_FOUND');
    const id = publicId('payment', page.paymentId);
    const result = JSON.stringify({ paymentId: id, status: payment.status, reference: payment.reference });
    const secrets = sealed.flatMap((each) => openSecrets(dependencies.keyring, each)).map(returnLinkSecret);
    const signature = secrets.length === 0 ? null : signatureHeaders(secrets, id, now, result);
    ctx.status = 303;
    ctx.redirect(returnLink(payment.returnUrl, result, signature));
  });

  router.get(`${route}/events`, (ctx: Context) => {
    const page = requirePage(ctx, `${route}/events`, false);
    if (openPages.isFull) throw new ApiError('SERVICE_UNAVAILABLE', { service: 'api' });
    if (!openPages.hasRoom(page.paymentId)) throw tooMany(ctx);
    // The connection ends with the stream, so that a process that stops has no idle ones left. `no-transform` and
    // X-Accel-Buffering: a proxy passes each event on at once.
    ctx.set('Content-Type', 'text/event-stream; charset=utf-8');
    ctx.set('Cache-Control', 'no-store, no-transform');
    ctx.set('X-Accel-Buffering', 'no');
    ctx.set('Connection', 'close');
    ctx.status = 200;
    if (ctx.method === 'HEAD') return;
    ctx.respond = false; // Koa would end the response
    ctx.res.writeHead(200);
    openPages.add(ctx.res, page, versionSeen(ctx));
  });
}

const tokenOf = (ctx: Context): string => (ctx as Context & { params: Record<string, string> }).params.token ?? '';

/** The version that the page shows, or, after a lost connection, that of the last event. 0: every event is new. */
function versionSeen(ctx: Context): number {
  const version = Number(ctx.get('Last-Event-ID') || ctx.query.version);
  return Number.isInteger(version) && version >= 0 && version <= INTEGER_MAX ? version : 0;
}

/** The largest `integer` of Postgres. */
const INTEGER_MAX = 2 ** 31 - 1;

function tooMany(ctx: Context): ApiError {
  const retryAfterSeconds = MINUTE_MS / 1000;
  ctx.set('Retry-After', String(retryAfterSeconds));
  return new ApiError('RATE_LIMIT_EXCEEDED', { retryAfterSeconds });
}

/** Counts a request of a payment; false when it has had too many in this minute. */
function countRequests(): (paymentId: Uuid) => boolean {
  const counts = new LRUCache<Uuid, { requests: number }>({ max: COUNTED_PAYMENTS_MAX, ttl: MINUTE_MS });
  return (paymentId) => {
    const count = counts.get(paymentId) ?? { requests: 0 };
    if (count.requests === 0) counts.set(paymentId, count);
    count.requests += 1;
    return count.requests <= REQUESTS_PER_MINUTE;
  };
}
