// A valid request for every route of the service, for measuring its statements.
import { randomUUID } from 'node:crypto';
import { KYC } from '../../dev/chaos/requests.ts';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import { SIGNATURE_HEADER, signCallback } from '../../src/rail/sandbox/callbacks.ts';
import type { Answer, TestApi, TestOrganisation } from '../support/api.ts';
import { addCredits } from '../support/credits.ts';
import { moneyRoutes } from '../support/moneyRequests.ts';
import { openCase } from '../support/reviewCases.ts';
import { waitFor } from '../support/waitFor.ts';

/** Sends the request, whose prerequisites have been created. */
export type Send = () => Promise<Answer>;

/** The number of rows that lists are measured with. */
export const ROWS = 100;

/** Those of an organisation; others are of a resource. */
const LISTS = [
  '/wallets',
  '/transfers',
  '/holds',
  '/withdrawals',
  '/payments',
  '/refunds',
  '/split-templates',
  '/payouts',
  '/webhook-endpoints',
  '/review-cases',
  '/events',
  '/api-keys',
  '/request-logs',
];

const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };

/** By route name. Each call prepares a new request. */
export function goodRequests(
  api: TestApi,
  organisation: TestOrganisation = api.organisation,
): Record<string, () => Promise<Send>> {
  const { organisationId, test: client } = organisation;
  const get = (path: string) => () => client.get(path);
  const money = (path: string, body: unknown) => () => client.money(path, body);
  const patch = (path: string) => client.call('PATCH', path, { body: { metadata: { order: '17' } } });
  const wallet = (balance?: number) => api.createWallet(client, balance === undefined ? {} : { balance });
  const idOf = async (answer: Promise<Answer>): Promise<string> => (await answer).data.id;

  const templateBody = { name: 'commission', splits: [{ walletId: organisation.settlementWalletId, amount: 1 }] };

  const payment = async (method: 'bank_transfer' | 'virtual_wallet', baseAmount = 1_000): Promise<string> =>
    idOf(client.money('/payments', { method, baseAmount, targetWalletId: await wallet() }));
  const paid = async (): Promise<string> => {
    const paymentId = await payment('virtual_wallet');
    await client.money(`/wallets/${await wallet(1_000)}/pay`, { paymentId });
    return paymentId;
  };
  const refund = async (paymentId: string): Promise<string> =>
    idOf(client.money(`/payments/${paymentId}/refund`, { amount: 10 }));
  const transfer = async (): Promise<string> =>
    idOf(client.money(`/wallets/${await wallet(1_000)}/transfer`, { amount: 10, destinationWalletId: await wallet() }));
  const hold = async (): Promise<string> => {
    const body = { amount: 10, destinationWalletId: await wallet(), hold: { release: 'manual' } };
    return String((await client.money(`/wallets/${await wallet(1_000)}/transfer`, body)).data.holdId);
  };
  const withdrawal = async (): Promise<string> =>
    idOf(client.money(`/wallets/${await wallet(10_000)}/withdraw`, { amount: 10, ...BANK_ACCOUNT }));
  const payoutBody = async (count: number) => ({
    sourceWalletId: await wallet(10_000_000),
    items: Array.from({ length: count }, () => ({ amount: 10, bankAccount: BANK_ACCOUNT })),
  });
  const payout = async (count = 1): Promise<string> => idOf(client.money('/payouts', await payoutBody(count)));
  const endpoint = (): Promise<string> =>
    idOf(client.post('/webhook-endpoints', { url: `http://127.0.0.1:9000/${randomUUID()}` }));
  const reviewCase = async (): Promise<string> => openCase(api, { organisationId }, await wallet());
  const apiKey = (): Promise<string> => idOf(client.post('/api-keys', { scopes: ['wallet:read'] }));
  const event = async (): Promise<string> => {
    await transfer();
    const { items } = await client.get('/events?limit=1');
    return items[0]?.id ?? '';
  };
  const sent = async (): Promise<string> => {
    const reference = `reference_${newUuid().replaceAll('-', '')}`.slice(0, 40);
    const instruction = { organisationId, reference, amount: 10, ...BANK_ACCOUNT, accountName: null, narration: null };
    await api.dependencies.sandboxBank.transfers.send(instruction);
    return reference;
  };
  const callback = (body: object) => {
    const raw = JSON.stringify(body);
    const signature = signCallback(api.dependencies.config.keyring, raw, new Date());
    return () =>
      api.client(null).call('POST', `/rails/sandbox/callbacks/${publicId('organisation', organisationId)}`, {
        body: raw,
        headers: { [SIGNATURE_HEADER]: signature },
      });
  };

  /** Makes what the request is about first. */
  const onNew =
    <Made>(make: () => Promise<Made>, request: (made: Made) => Promise<Answer>) =>
    async (): Promise<Send> => {
      const made = await make();
      return () => request(made);
    };

  const moneyRequests = Object.entries(moneyRoutes(api, organisation)).map(([name, { good }]) => [
    name,
    onNew(good, ({ path, body }) => client.money(path, body)),
  ]);

  return {
    ...Object.fromEntries(moneyRequests),
    ...Object.fromEntries(LISTS.map((list) => [`GET ${list}`, async () => get(`${list}?limit=${ROWS}`)])),
    'GET /health': async () => () => api.client(null).get('/health'),
    'POST /wallets': async () => () => client.post('/wallets', { email: 'ada@test.example' }),
    'GET /wallets/:id': async () => get(`/wallets/${await wallet()}`),
    'PATCH /wallets/:id': onNew(wallet, (walletId) =>
      client.call('PATCH', `/wallets/${walletId}`, { body: { phone: '+2348012345678' } }),
    ),
    'PATCH /payments/:id': onNew(
      () => payment('virtual_wallet'),
      (id) => patch(`/payments/${id}`),
    ),
    'PATCH /transfers/:id': onNew(transfer, (id) => patch(`/transfers/${id}`)),
    'PATCH /withdrawals/:id': onNew(withdrawal, (id) => patch(`/withdrawals/${id}`)),
    'PATCH /refunds/:id': onNew(
      async () => refund(await paid()),
      (id) => patch(`/refunds/${id}`),
    ),
    'PATCH /payouts/:id': onNew(payout, (id) => patch(`/payouts/${id}`)),
    'GET /transactions/:id': async () => {
      const { items } = await client.get(`/wallets/${await wallet(10)}/transactions`);
      return get(`/transactions/${String(items[0]?.transactionId)}`);
    },
    'POST /wallets/:id/kyc': onNew(
      () => api.createWallet(client, { tier1: false }),
      (walletId) => client.post(`/wallets/${walletId}/kyc`, KYC),
    ),
    'GET /wallets/:id/balance': async () => get(`/wallets/${await wallet()}/balance`),
    'GET /wallets/:id/limits': async () => get(`/wallets/${await wallet()}/limits`),
    'GET /wallets/:id/statements/:month': async () => get(`/wallets/${await wallet(10)}/statements/2026-01`),
    'GET /wallets/:id/deposit-account': async () => get(`/wallets/${await wallet()}/deposit-account`),
    'GET /wallets/:id/transactions': async () => get(`/wallets/${await wallet(10)}/transactions?limit=${ROWS}`),
    'GET /transfers/:id': async () => get(`/transfers/${await transfer()}`),
    'GET /holds/:id': async () => get(`/holds/${await hold()}`),
    'GET /withdrawals/:id': async () => get(`/withdrawals/${await withdrawal()}`),
    'GET /payments/:id': async () => get(`/payments/${await payment('bank_transfer')}`),
    'POST /split-templates': async () => () => client.post('/split-templates', templateBody),
    'GET /split-templates/:id': async () =>
      get(`/split-templates/${await idOf(client.post('/split-templates', templateBody))}`),
    'GET /refunds/:id': async () => get(`/refunds/${await refund(await paid())}`),
    'GET /payments/:id/refunds': async () => get(`/payments/${await paid()}/refunds?limit=${ROWS}`),
    'GET /payments/:id/credits': async () => get(`/payments/${await payment('bank_transfer')}/credits?limit=${ROWS}`),
    'GET /wallets/:id/deposits': async () => get(`/wallets/${await wallet()}/deposits?limit=${ROWS}`),
    'POST /payouts/validate': onNew(
      () => payoutBody(ROWS),
      (body) => client.post('/payouts/validate', body),
    ),
    'POST /payouts': async () => money('/payouts', await payoutBody(ROWS)),
    'GET /payouts/:id': async () => get(`/payouts/${await payout(ROWS)}`),
    'GET /payouts/:id/items': async () => get(`/payouts/${await payout()}/items?limit=${ROWS}`),
    'POST /webhook-endpoints': async () => () =>
      client.post('/webhook-endpoints', { url: `http://127.0.0.1:9000/${randomUUID()}` }),
    'GET /webhook-endpoints/:id': async () => get(`/webhook-endpoints/${await endpoint()}`),
    'PATCH /webhook-endpoints/:id': onNew(endpoint, (id) =>
      client.call('PATCH', `/webhook-endpoints/${id}`, { body: { description: 'another' } }),
    ),
    'DELETE /webhook-endpoints/:id': onNew(endpoint, (id) => client.call('DELETE', `/webhook-endpoints/${id}`)),
    'POST /webhook-endpoints/:id/rotate-secret': onNew(endpoint, (id) =>
      client.post(`/webhook-endpoints/${id}/rotate-secret`),
    ),
    'POST /webhook-endpoints/:id/test': onNew(endpoint, (id) => client.post(`/webhook-endpoints/${id}/test`)),
    'GET /webhook-endpoints/:id/failed-deliveries': async () =>
      get(`/webhook-endpoints/${await endpoint()}/failed-deliveries?limit=${ROWS}`),
    'POST /webhook-endpoints/:id/redeliver': onNew(endpoint, (id) =>
      client.post(`/webhook-endpoints/${id}/redeliver`, { since: new Date().toISOString() }),
    ),
    'GET /review-cases/:id': async () => get(`/review-cases/${await reviewCase()}`),
    'GET /events/:id': async () => get(`/events/${await event()}`),
    'GET /events/:id/deliveries': async () => get(`/events/${await event()}/deliveries?limit=${ROWS}`),
    'POST /events/:id/redeliver': onNew(event, (id) => client.post(`/events/${id}/redeliver`)),
    'POST /api-keys': async () => () => client.post('/api-keys', { scopes: ['wallet:read'] }),
    'GET /api-keys/:id': async () => get(`/api-keys/${await apiKey()}`),
    'POST /api-keys/:id/rotate': onNew(apiKey, (id) => client.post(`/api-keys/${id}/rotate`)),
    'DELETE /api-keys/:id': onNew(apiKey, (id) => client.call('DELETE', `/api-keys/${id}`)),
    'GET /search': async () => {
      await wallet();
      return get('/search?query=ada@test.example&limit=1');
    },
    'GET /banks': async () => get('/banks'),
    'GET /bank-accounts/resolve': async () => get('/bank-accounts/resolve?accountNumber=0123456789&bankCode=058'),
    'GET /fees/quote': async () => get('/fees/quote?type=withdrawal&amount=1000'),
    'POST /rails/:rail/callbacks/:contract': async () => {
      const answer = await client.money('/payments', {
        method: 'bank_transfer',
        baseAmount: 1_000,
        targetWalletId: await wallet(),
      });
      const { accountNumber } = answer.data.virtualAccount as { accountNumber: string };
      return callback({
        type: 'inbound_credit',
        contract: organisationId,
        sessionId: randomUUID(),
        accountNumber,
        accountReference: null,
        amount: 1_500,
        senderName: null,
        senderAccountNumber: null,
        senderBankCode: null,
        receivedAt: new Date().toISOString(),
      });
    },
    'POST /simulations/inbound-credits': async () => () =>
      client.post('/simulations/inbound-credits', { accountNumber: '0000000000', amount: 10 }),
    'POST /simulations/statement-lines': async () => () =>
      client.post('/simulations/statement-lines', { kind: 'charge', amount: 10 }),
    'POST /simulations/inbound-credits/:sessionId/recall': async () => {
      await client.post('/simulations/inbound-credits', {
        accountNumber: '0000000000',
        amount: 10,
        sessionId: 'recalled',
      });
      return () => client.post('/simulations/inbound-credits/recalled/recall');
    },
    'PUT /simulations/bank-accounts/:accountNumber': async () => () =>
      client.call('PUT', '/simulations/bank-accounts/0123456780', { body: { behaviour: 'complete' } }),
    'GET /simulations/bank-transfers/:reference': async () => get(`/simulations/bank-transfers/${await sent()}`),
    'POST /payments/:id/cancel': onNew(
      () => payment('bank_transfer'),
      (id) => client.post(`/payments/${id}/cancel`),
    ),
    'POST /simulations/payments/:id/expire': onNew(
      () => payment('bank_transfer'),
      (id) => client.post(`/simulations/payments/${id}/expire`),
    ),
    'POST /simulations/bank-transfers/:reference/resolve': onNew(sent, (reference) =>
      client.post(`/simulations/bank-transfers/${reference}/resolve`, { outcome: 'complete' }),
    ),
  };
}

/** Fills every list of an organisation. Returns, by route name, a request for the first `ROWS` rows. */
export async function fillLists(
  api: TestApi,
  { test: client }: TestOrganisation = api.organisation,
): Promise<Record<string, Send>> {
  const many = async (send: (position: number) => Promise<unknown>): Promise<void> => {
    await Promise.all(Array.from({ length: ROWS }, (_, position) => send(position)));
  };
  await many(() => client.post('/api-keys', { scopes: ['wallet:read'] }));
  const source = await api.createWallet(client, { balance: 10_000_000 });
  const target = await api.createWallet(client);
  await many(() => client.post('/wallets', { email: 'ada@test.example' }));
  const saved = { name: 'all', splits: [{ walletId: target, amount: 1 }] };
  await many(() => client.post('/split-templates', saved));
  await many(() => client.money(`/wallets/${source}/transfer`, { amount: 1, destinationWalletId: target }));
  const held = { amount: 1, destinationWalletId: target, hold: { release: 'manual' } };
  await many(() => client.money(`/wallets/${source}/transfer`, held));
  await many(() => client.money('/payments', { method: 'bank_transfer', baseAmount: 1_000, targetWalletId: target }));
  await many(() => client.money(`/wallets/${source}/withdraw`, { amount: 10, ...BANK_ACCOUNT }));
  await many(() =>
    client.money('/payouts', { sourceWalletId: source, items: [{ amount: 10, bankAccount: BANK_ACCOUNT }] }),
  );
  const bankItem = { amount: 10, bankAccount: BANK_ACCOUNT };
  const batch = { sourceWalletId: source, items: Array.from({ length: ROWS }, () => bankItem) };
  const payoutId = (await client.money('/payouts', batch)).data.id;
  const bill = { method: 'virtual_wallet', baseAmount: 1_000, targetWalletId: target };
  const paymentId = (await client.money('/payments', bill)).data.id;
  await client.money(`/wallets/${source}/pay`, { paymentId });
  // Sequential, because they all change the same payment.
  for (let count = 0; count < ROWS; count += 1) await client.money(`/payments/${paymentId}/refund`, { amount: 1 });
  const eventId = (await client.get('/events?limit=1')).items[0]?.id ?? '';
  // The API allows twenty endpoints at a time; deleted ones keep their deliveries.
  await api.sql`
    INSERT INTO webhook_deliveries (organisation_id, environment, event_id, endpoint_id, status, next_attempt_at)
    SELECT organisation_id, environment, id, gen_random_uuid(), 'pending', now()
    FROM events, generate_series(1, ${ROWS}) WHERE id = ${requireUuid('event', eventId)}`;
  const lost = (await client.post('/webhook-endpoints', { url: 'http://127.0.0.1:9000/lost' })).data.id;
  await api.sql`
    INSERT INTO webhook_endpoints (organisation_id, environment, id, url, sealed_secret, created_at)
    SELECT organisation_id, environment, gen_random_uuid(), 'http://127.0.0.1:9000/', 'sealed', now()
    FROM events, generate_series(1, ${ROWS}) WHERE id = ${requireUuid('event', eventId)}`;
  await api.sql`
    INSERT INTO webhook_deliveries (organisation_id, environment, event_id, endpoint_id, status, failure_reason)
    SELECT organisation_id, environment, gen_random_uuid(), ${requireUuid('webhookEndpoint', lost)}, 'failed', 'retries_exhausted'
    FROM events, generate_series(1, ${ROWS}) WHERE id = ${requireUuid('event', eventId)}`;
  await addCredits(api, 'payment', paymentId, ROWS);
  await addCredits(api, 'wallet', target, ROWS);
  const page = (path: string) => () => client.get(`${path}?limit=${ROWS}`);
  // Answers are logged about a second after they were sent.
  const logged = page('/request-logs');
  await waitFor('a full page of the request log', async () => (await logged()).items.length === ROWS);
  return {
    ...Object.fromEntries(LISTS.map((list) => [`GET ${list}`, page(list)])),
    'GET /search': () => client.get(`/search?query=ada@test.example&limit=${ROWS}`),
    'GET /wallets/:id/transactions': page(`/wallets/${source}/transactions`),
    'GET /payments/:id/refunds': page(`/payments/${paymentId}/refunds`),
    'GET /payments/:id/credits': page(`/payments/${paymentId}/credits`),
    'GET /wallets/:id/deposits': page(`/wallets/${target}/deposits`),
    'GET /payouts/:id/items': page(`/payouts/${payoutId}/items`),
    'GET /webhook-endpoints/:id/failed-deliveries': page(`/webhook-endpoints/${lost}/failed-deliveries`),
    'GET /events/:id/deliveries': page(`/events/${eventId}/deliveries`),
  };
}
