// A valid request for each POST route that creates something and moves no money: an Idempotency-Key is optional there.
import { KYC } from '../../dev/chaos/requests.ts';
import type { TestApi, TestOrganisation } from './api.ts';
import type { MoneyRequest, MoneyRoute } from './moneyRequests.ts';

/** As for a money route; no state refuses these requests and lets them succeed later. */
export type CreatingRoute = Omit<MoneyRoute, 'refused'>;

export function creatingRoutes(
  api: TestApi,
  organisation: TestOrganisation = api.organisation,
): Record<string, CreatingRoute> {
  const client = organisation.test;
  /** An organisation may have only twenty. */
  const removeEndpoints = () => api.sql`
    UPDATE webhook_endpoints SET deleted_at = now() WHERE organisation_id = ${organisation.organisationId}`;
  const createEndpoint = async (): Promise<string> => {
    await removeEndpoints();
    return (await client.post('/webhook-endpoints', { url: 'https://example.com/hooks' })).data.id;
  };
  const createKey = async (): Promise<string> => (await client.post('/api-keys', { scopes: ['wallet'] })).data.id;
  const createCredit = async (): Promise<string> =>
    String(
      (await client.post('/simulations/inbound-credits', { accountNumber: '0000000001', amount: 10 })).data.sessionId,
    );
  const createPayment = async (): Promise<string> => {
    const body = { method: 'virtual_wallet', baseAmount: 100, targetWalletId: await api.createWallet(client) };
    return (await client.money('/payments', body)).data.id;
  };
  const request = (path: string, body: Record<string, unknown> = {}): MoneyRequest => ({ path, body });
  const number = (): string => String(10 ** 9 + Math.trunc(Math.random() * 10 ** 9));

  return {
    'POST /wallets': {
      status: 201,
      good: async () => request('/wallets', { email: 'ada@test.example', fullName: `Ada ${number()}` }),
      invalid: { email: 'nobody' },
      change: { fullName: 'Bola' },
    },
    'POST /wallets/:id/kyc': {
      status: 200,
      good: async () => request(`/wallets/${await api.createWallet(client, { tier1: false })}/kyc`, KYC),
      invalid: { bvn: 'short' },
      change: { city: 'Ibadan' },
    },
    'POST /split-templates': {
      status: 201,
      good: async () => {
        const splits = [{ walletId: organisation.settlementWalletId, basisPoints: 1_000 }];
        return request('/split-templates', { name: `commission ${number()}`, splits });
      },
      invalid: { splits: [] },
      change: { name: 'another' },
    },
    'POST /webhook-endpoints': {
      status: 201,
      good: async () => {
        await removeEndpoints();
        return request('/webhook-endpoints', { url: `https://example.com/${number()}`, description: 'mine' });
      },
      invalid: { url: 'nowhere' },
      change: { description: 'another' },
    },
    'POST /webhook-endpoints/:id/rotate-secret': {
      status: 200,
      good: async () => request(`/webhook-endpoints/${await createEndpoint()}/rotate-secret`),
      invalid: { secret: 'my own' },
      change: {},
    },
    'POST /webhook-endpoints/:id/test': {
      status: 202,
      good: async () => request(`/webhook-endpoints/${await createEndpoint()}/test`),
      invalid: { type: 'payment.settled' },
      change: {},
    },
    'POST /api-keys': {
      status: 201,
      good: async () => request('/api-keys', { scopes: ['wallet'], name: `key ${number()}` }),
      invalid: { scopes: [] },
      change: { name: 'another' },
    },
    'POST /api-keys/:id/rotate': {
      status: 201,
      good: async () => request(`/api-keys/${await createKey()}/rotate`, { overlapHours: 1 }),
      invalid: { overlapHours: -1 },
      change: { overlapHours: 2 },
    },
    'POST /simulations/inbound-credits': {
      status: 201,
      good: async () => request('/simulations/inbound-credits', { accountNumber: number(), amount: 10 }),
      invalid: { amount: 0 },
      change: { amount: 11 },
    },
    'POST /simulations/statement-lines': {
      status: 201,
      good: async () => request('/simulations/statement-lines', { kind: 'charge', amount: 1_000 + Number(number()) }),
      invalid: { amount: 0 },
      change: { amount: 11 },
    },
    'POST /simulations/inbound-credits/:sessionId/recall': {
      status: 200,
      good: async () => request(`/simulations/inbound-credits/${await createCredit()}/recall`),
      invalid: {},
      change: {},
    },
    'POST /payments/:id/cancel': {
      status: 200,
      good: async () => request(`/payments/${await createPayment()}/cancel`),
      invalid: { amount: 10 },
      change: {},
    },
    'POST /simulations/payments/:id/expire': {
      status: 200,
      good: async () => request(`/simulations/payments/${await createPayment()}/expire`),
      invalid: {},
      change: {},
    },
  };
}
