// Authorisation: the scope of every route (contract, sections 4.1 and 5), checked with every scope.
import { afterAll, expect, test } from '@jest/globals';
import { SCOPES, type Scope } from '../../src/resources/keys.ts';
import { startTestApi } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';
import { pathOf, routeCases } from '../support/routes.ts';

const api = await startTestApi();

afterAll(() => api.close());

/** The contract's table, and the rulings for what it leaves open. */
const CONTRACT: Readonly<Record<string, Scope | Scope[] | 'any' | 'none'>> = {
  'GET /health': 'none',
  'POST /wallets': 'wallet',
  'GET /wallets': 'wallet',
  'GET /wallets/:id': 'wallet',
  'PATCH /wallets/:id': 'wallet',
  'GET /transactions/:id': 'wallet',
  'POST /wallets/:id/kyc': 'wallet',
  'GET /wallets/:id/balance': 'wallet',
  'GET /wallets/:id/limits': 'wallet',
  'GET /wallets/:id/statements/:month': 'wallet',
  'POST /wallets/:id/transfer': 'transfer',
  'POST /wallets/:id/withdraw': 'wallet',
  'POST /wallets/:id/pay': 'payment',
  'POST /payments': 'payment',
  'GET /payments': 'payment',
  'GET /payments/:id': 'payment',
  'PATCH /payments/:id': 'payment',
  'POST /split-templates': 'payment',
  'GET /split-templates': 'payment',
  'GET /split-templates/:id': 'payment',
  'POST /payments/:id/refund': 'payment',
  'POST /payments/:id/cancel': 'payment',
  'POST /payouts': 'payout',
  'GET /payouts': 'payout',
  'POST /payouts/validate': 'payout',
  'GET /payouts/:id': 'payout',
  'PATCH /payouts/:id': 'payout',
  'GET /payouts/:id/items': 'payout',
  'GET /wallets/:id/deposit-account': 'wallet',
  'GET /wallets/:id/transactions': 'wallet',
  'GET /holds': 'transfer',
  'GET /holds/:id': 'transfer',
  'POST /holds/:id/release': 'transfer',
  'POST /holds/:id/cancel': 'transfer',
  'GET /transfers': 'transfer',
  'GET /transfers/:id': 'transfer',
  'PATCH /transfers/:id': 'transfer',
  'GET /withdrawals': 'wallet',
  'GET /withdrawals/:id': 'wallet',
  'PATCH /withdrawals/:id': 'wallet',
  'GET /refunds': 'payment',
  'GET /refunds/:id': 'payment',
  'PATCH /refunds/:id': 'payment',
  'GET /payments/:id/refunds': 'payment',
  'GET /payments/:id/credits': 'payment',
  'GET /wallets/:id/deposits': 'wallet',
  'POST /webhook-endpoints': 'webhook',
  'GET /webhook-endpoints': 'webhook',
  'GET /webhook-endpoints/:id': 'webhook',
  'PATCH /webhook-endpoints/:id': 'webhook',
  'DELETE /webhook-endpoints/:id': 'webhook',
  'POST /webhook-endpoints/:id/rotate-secret': 'webhook',
  'POST /webhook-endpoints/:id/test': 'webhook',
  'GET /webhook-endpoints/:id/failed-deliveries': 'webhook',
  'POST /webhook-endpoints/:id/redeliver': 'webhook',
  'GET /review-cases': 'review',
  'GET /review-cases/:id': 'review',
  'POST /review-cases/:id/resolve': 'review',
  'GET /events': 'webhook',
  'GET /events/:id': 'webhook',
  'GET /events/:id/deliveries': 'webhook',
  'POST /events/:id/redeliver': 'webhook',
  'POST /api-keys': 'keys',
  'GET /api-keys': 'keys',
  'GET /api-keys/:id': 'keys',
  'POST /api-keys/:id/rotate': 'keys',
  'DELETE /api-keys/:id': 'keys',
  'GET /request-logs': 'keys',
  'GET /search': ['wallet', 'payment', 'transfer', 'payout', 'review'],
  'GET /banks': 'any',
  'GET /bank-accounts/resolve': ['wallet', 'payout'],
  'GET /fees/quote': 'any',
  'POST /rails/:rail/callbacks/:contract': 'none',
  'POST /simulations/inbound-credits': 'any',
  'POST /simulations/inbound-credits/:sessionId/recall': 'any',
  'POST /simulations/statement-lines': 'any',
  'PUT /simulations/bank-accounts/:accountNumber': 'any',
  'GET /simulations/bank-transfers/:reference': 'any',
  'POST /simulations/bank-transfers/:reference/resolve': 'any',
  'POST /simulations/payments/:id/expire': 'any',
};

test('every route has the scope that the contract gives it, and no route is missing', () => {
  expect(Object.fromEntries(routeCases().map(({ name, route }) => [name, route.access]))).toEqual(CONTRACT);
});

test('exactly the nine POST routes that move money require an Idempotency-Key', () => {
  expect(
    routeCases(({ idempotencyKey }) => idempotencyKey === 'required')
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual([
    'POST /holds/:id/cancel',
    'POST /holds/:id/release',
    'POST /payments',
    'POST /payments/:id/refund',
    'POST /payouts',
    'POST /review-cases/:id/resolve',
    'POST /wallets/:id/pay',
    'POST /wallets/:id/transfer',
    'POST /wallets/:id/withdraw',
  ]);
});

const createClient = async (scopes: readonly Scope[]) =>
  api.client((await api.createKey(api.organisation.organisationId, { scopes })).key);

/** Each route with each set of scopes to try: every single scope, and all except the required one. */
const trials = routeCases(({ access }) => access !== 'none').flatMap(({ name, method, route }) => {
  const isEnough = (scope: Scope): boolean => route.access === 'any' || [route.access].flat().includes(scope);
  const others = SCOPES.filter((scope) => !isEnough(scope));
  const sets = [...SCOPES.map((scope) => [scope]), ...(others.length > 0 ? [others] : [])];
  return sets.map((scopes) => ({
    title: `${name} ${scopes.some(isEnough) ? 'accepts a key with the scopes' : 'rejects a key with the scopes'} ${scopes.join(', ')}`,
    passes: scopes.some(isEnough),
    scopes,
    method,
    route,
  }));
});

test.each(trials.filter(({ passes }) => passes))('$title', async ({ scopes, method, route }) => {
  const { status } = await (await createClient(scopes)).call(method, pathOf(route));
  expect([401, 403]).not.toContain(status);
});

test.each(trials.filter(({ passes }) => !passes))('$title', async ({ scopes, method, route }) => {
  expectError(await (await createClient(scopes)).call(method, pathOf(route)), 403, 'API_KEY_SCOPE_FORBIDDEN', {
    requiredScopes: [route.access].flat(),
    providedScopes: scopes,
  });
});
