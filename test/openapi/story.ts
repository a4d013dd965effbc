// The run whose answers are the examples of the OpenAPI document: a platform with two customers uses every operation,
// and the scenarios of the money flows cause every event.
import { KYC } from '../../dev/chaos/requests.ts';
import { publicId, requireUuid } from '../../src/ids.ts';
import { SIGNATURE_HEADER, signCallback } from '../../src/rail/sandbox/callbacks.ts';
import { EVENT_TYPES, TEST_EVENT_TYPE } from '../../src/resources/events.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import type { Examples } from '../../tools/openapi/examples.ts';
import type { Answer, Client, Resource } from '../support/api.ts';
import { operationOf } from '../support/documented.ts';
import type { TestFlows } from '../support/flows.ts';
import { openScenarios } from '../support/scenarioContext.ts';
import { SCENARIOS, type Scenario } from '../support/scenarios.ts';
import { waitFor } from '../support/waitFor.ts';
import { answerStatus, startReceiver } from '../webhooks/receiver.ts';

const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };

type Call = (method: string, path: string, body?: object, headers?: Record<string, string>) => Promise<Answer>;

/** A client that keeps the first answer of every operation, and of every error code. */
function recordingClient(client: Client, examples: Examples): Call {
  let requests = 0;
  return async (method, path, body, headers = {}) => {
    requests += 1;
    const answer = await client.call(method, path, {
      ...(body !== undefined && { body }),
      headers: { 'idempotency-key': `example-${requests}`, ...headers },
    });
    const response: unknown = JSON.parse(answer.text);
    const operation = operationOf({ method, path, environment: client.environment });
    if (answer.status >= 400) examples.errors[answer.error.code] ??= response;
    else if (operation !== undefined) {
      examples.operations[operation.operationId] ??= { ...(body !== undefined && { request: body }), response };
    }
    return answer;
  };
}

/** What a test compares of an event: its data, and what the API returns of the same thing at the same moment. */
export interface EventAndResource {
  data: Record<string, unknown>;
  resource: Record<string, unknown>;
}

/**
 * Runs everything. Returns the recorded answers. `moments`: receives each type's event with the resource that it is
 * about.
 */
export async function recordExamples(
  flows: TestFlows,
  moments: Map<string, EventAndResource> = new Map(),
): Promise<Examples> {
  const examples: Examples = { operations: {}, errors: {}, events: {} };
  const receiver = await startReceiver();
  try {
    await useEveryOperation(
      flows,
      recordingClient(flows.test, examples),
      recordingClient(flows.client(null), examples),
      receiver.url,
    );
    receiver.answerWith(answerStatus(500));
    await failForDays(flows, receiver.url, moments);
    await changeWallet(flows);
    await causeEveryEvent(flows, examples, moments);
  } finally {
    await receiver.close();
  }
  const text = JSON.stringify(examples)
    .replaceAll(receiver.url, 'https://example.com/webhooks')
    .replaceAll(flows.dependencies.config.checkout.origins.test, 'https://pay.example.com');
  return JSON.parse(text) as Examples;
}

async function useEveryOperation(flows: TestFlows, call: Call, withoutKey: Call, receiverUrl: string): Promise<void> {
  const get = (path: string) => call('GET', path);
  const post = (path: string, body?: object) => call('POST', path, body);
  await withoutKey('GET', '/health');
  await withoutKey('GET', '/wallets');

  const customer = async (email: string, fullName: string, externalReference: string): Promise<string> => {
    const { data } = await post('/wallets', { email, fullName, phone: '+2348012345678', externalReference });
    await post(`/wallets/${data.id}/kyc`, KYC);
    return data.id;
  };
  const endpoint = (
    await post('/webhook-endpoints', { url: receiverUrl, description: 'Orders', eventTypes: ['transfer.completed'] })
  ).data.id;
  await get(`/webhook-endpoints/${endpoint}`);
  await get('/webhook-endpoints');

  const ada = await customer('ada@example.com', 'Ada Obi', 'customer-1');
  const bola = await customer('bola@example.com', 'Bola Ade', 'customer-2');
  await post('/wallets', { email: 'ada@example.com', externalReference: 'customer-1' });
  await post('/wallets', { email: 'not an address' });
  await get(`/wallets/${ada}`);
  await call('PATCH', `/wallets/${ada}`, { phone: '+2348098765432', metadata: { branch: 'ikeja' } });
  await get('/wallets?limit=2');
  await get(`/wallets/${ada.replace('_wlt', '_pay')}`);

  // Collections.
  const payment = (
    await post('/payments', {
      method: 'bank_transfer',
      baseAmount: 500_000,
      targetWalletId: ada,
      description: 'Order 1',
      reference: 'order-1',
      metadata: { channel: 'web' },
      returnUrl: 'https://shop.example.com/orders/1',
      expiresIn: 1_800,
    })
  ).data as Resource & { payableAmount: number; virtualAccount: { accountNumber: string } };
  await post('/simulations/inbound-credits', {
    accountNumber: payment.virtualAccount.accountNumber,
    amount: payment.payableAmount,
    senderName: 'Chidi Eze',
    senderAccountNumber: BANK_ACCOUNT.accountNumber,
    senderBankCode: BANK_ACCOUNT.bankCode,
  });
  await flows.untilStatus(`/payments/${payment.id}`, 'settled');
  await get(`/payments/${payment.id}`);
  await call('PATCH', `/payments/${payment.id}`, { description: 'Order 1, paid', metadata: { order: '17' } });
  await post(`/payments/${payment.id}/cancel`, {});
  await get('/payments?limit=1');
  await post('/payments', { method: 'bank_transfer', baseAmount: 500_000, targetWalletId: ada, reference: 'order-1' });
  await get(`/payments/${payment.id}/credits`);
  const { accountNumber } = (await get(`/wallets/${ada}/deposit-account`)).data;
  const deposit = await post('/simulations/inbound-credits', { accountNumber, amount: 1_000_000 });
  await waitFor(
    'the deposit',
    async () => (await flows.test.get(`/wallets/${ada}/deposits`)).items[0]?.status === 'posted',
  );
  await get(`/wallets/${ada}/deposits`);
  await get(`/wallets/${ada}/balance`);
  await get(`/wallets/${ada}/limits`);
  await get(`/wallets/${ada}/statements/2026-01`);

  // Money between wallets.
  const transfer = (
    await post(`/wallets/${ada}/transfer`, {
      destinationWalletId: bola,
      amount: 200_000,
      description: 'Lunch',
      reference: 'lunch-1',
    })
  ).data.id;
  await get(`/transfers/${transfer}?expand=destinationWallet`);
  await call('PATCH', `/transfers/${transfer}`, { metadata: { order: '17' } });
  await get('/transfers');
  const newHold = async (): Promise<string> => {
    const body = { destinationWalletId: bola, amount: 1_000, hold: { release: 'manual' } };
    return String((await post(`/wallets/${ada}/transfer`, body)).data.holdId);
  };
  const hold = await newHold();
  await post(`/holds/${hold}/release`, { amount: 2_000 });
  await post(`/holds/${hold}/release`, { amount: 400 });
  await post(`/holds/${hold}/cancel`, {});
  await post(`/holds/${hold}/cancel`, {});
  await newHold();
  await get(`/holds/${hold}`);
  await get('/holds');
  await post(`/wallets/${bola}/transfer`, { destinationWalletId: ada, amount: 4_000_000 });
  await call('POST', `/wallets/${bola}/transfer`, { destinationWalletId: ada, amount: 1 }, { 'idempotency-key': '' });
  const bill = (await post('/payments', { method: 'virtual_wallet', baseAmount: 50_000, targetWalletId: ada })).data.id;
  await post(`/wallets/${bola}/pay`, { paymentId: bill });

  // Money to banks.
  await get('/banks');
  await get('/bank-accounts/resolve?accountNumber=0123456789&bankCode=058');
  await get('/fees/quote?type=withdrawal&amount=100000');
  const withdrawal = (
    await post(`/wallets/${ada}/withdraw`, {
      amount: 100_000,
      ...BANK_ACCOUNT,
      narration: 'Savings',
      reference: 'savings-1',
    })
  ).data.id;
  await flows.untilStatus(`/withdrawals/${withdrawal}`, 'completed');
  await get(`/withdrawals/${withdrawal}`);
  await call('PATCH', `/withdrawals/${withdrawal}`, { metadata: { order: '17' } });
  await get('/withdrawals');
  const refund = (await post(`/payments/${payment.id}/refund`, { amount: 50_000, reason: 'One item was missing' })).data
    .id;
  await flows.untilStatus(`/refunds/${refund}`, 'completed');
  await get(`/refunds/${refund}`);
  await call('PATCH', `/refunds/${refund}`, { metadata: { order: '17' } });
  await get(`/payments/${payment.id}/refunds`);
  await get('/refunds?limit=1');
  await get('/search?query=savings-1');
  const salaries = {
    sourceWalletId: ada,
    reference: 'salaries-1',
    items: [
      { amount: 20_000, reference: 'salary-1', bankAccount: BANK_ACCOUNT },
      { amount: 20_000, reference: 'salary-2', destinationWalletId: bola },
    ],
  };
  const commission = { walletId: flows.organisation.settlementWalletId, basisPoints: 1_000, description: 'Commission' };
  const { data: template } = await post('/split-templates', { name: 'Commission', splits: [commission] });
  await get('/split-templates');
  await get(`/split-templates/${template.id}`);
  await post('/payouts/validate', salaries);
  const payout = (await post('/payouts', salaries)).data.id;
  await flows.untilStatus(`/payouts/${payout}`, 'completed');
  await get(`/payouts/${payout}`);
  await call('PATCH', `/payouts/${payout}`, { metadata: { month: 'january' } });
  await get(`/payouts/${payout}/items`);
  await get('/payouts');
  const [line] = (await get(`/wallets/${ada}/transactions?limit=3`)).items;
  await get(`/transactions/${String(line?.transactionId)}`);

  // Money that a payment does not take.
  await post('/simulations/inbound-credits', { accountNumber: payment.virtualAccount.accountNumber, amount: 30_000 });
  const reviewed = await waitFor('the case', async () => (await flows.test.get('/review-cases')).items[0]?.id);
  await get('/review-cases');
  await get(`/review-cases/${reviewed}`);
  await post(`/review-cases/${reviewed}/resolve`, { action: 'credit', reason: 'Paid twice, kept as a deposit' });
  const late = (await post('/payments', { method: 'bank_transfer', baseAmount: 10_000, targetWalletId: ada })).data.id;
  await post(`/simulations/payments/${late}/expire`);
  const dropped = { method: 'bank_transfer', baseAmount: 10_000, targetWalletId: ada };
  await post(`/payments/${(await post('/payments', dropped)).data.id}/cancel`, {});

  // Events and their deliveries.
  await waitFor('the delivery', async () => {
    const { items } = await flows.test.get('/events?type=transfer.completed');
    const deliveries = await flows.test.get(`/events/${items[0]?.id}/deliveries`);
    return deliveries.items[0]?.status === 'delivered';
  });
  const event = (await get('/events?type=transfer.completed')).items[0]?.id;
  await get(`/events/${event}`);
  await get(`/events/${event}/deliveries`);
  await post(`/events/${event}/redeliver`, { endpointId: endpoint });
  await post(`/webhook-endpoints/${endpoint}/test`);
  await get(`/webhook-endpoints/${endpoint}/failed-deliveries`);
  await post(`/webhook-endpoints/${endpoint}/redeliver`, { since: new Date(Date.now() - 3_600_000).toISOString() });
  await post(`/webhook-endpoints/${endpoint}/rotate-secret`);
  await call('PATCH', `/webhook-endpoints/${endpoint}`, { description: 'Orders and payouts', eventTypes: null });
  await call('DELETE', `/webhook-endpoints/${endpoint}`);

  // Keys, and what was answered.
  const made = (await post('/api-keys', { name: 'Reports', scopes: ['wallet:read', 'payment:read'], rateLimit: 100 }))
    .data.id;
  await get(`/api-keys/${made}`);
  await get('/api-keys?limit=1');
  await post(`/api-keys/${made}/rotate`, { overlapHours: 1 });
  await call('DELETE', `/api-keys/${made}`);
  await waitFor('the request log', async () => (await flows.test.get('/request-logs?status=4xx')).items.length > 0);
  await get('/request-logs?status=4xx&limit=1');

  // The sandbox bank.
  await post(`/simulations/inbound-credits/${String(deposit.data.sessionId)}/recall`);
  // The event of a payment whose money the bank takes back.
  const [paid] = (await flows.test.get(`/payments/${payment.id}/credits`)).items.toReversed();
  await flows.test.post(`/simulations/inbound-credits/${String(paid?.sessionId)}/recall`);
  await post('/simulations/statement-lines', { kind: 'charge', amount: 5_000 });
  await call('PUT', '/simulations/bank-accounts/0123456780', { behaviour: 'hold', name: 'CHIDI EZE' });
  const held = (
    await post(`/wallets/${bola}/withdraw`, { amount: 10_000, ...BANK_ACCOUNT, accountNumber: '0123456780' })
  ).data.id;
  await post(`/simulations/bank-transfers/${held}/resolve`, { outcome: 'complete' });
  await get(`/simulations/bank-transfers/${held}`);
  const callback = JSON.stringify({
    type: 'recall',
    contract: flows.organisation.organisationId,
    sessionId: 'unknown',
  });
  const address = `/rails/sandbox/callbacks/${publicId('organisation', flows.organisation.organisationId)}`;
  await withoutKey('POST', address, JSON.parse(callback), {
    [SIGNATURE_HEADER]: signCallback(flows.dependencies.config.keyring, callback, new Date()),
  });
}

/** An endpoint at which every attempt has failed, for hours and then for days. */
async function failForDays(flows: TestFlows, url: string, moments: Map<string, EventAndResource>): Promise<void> {
  const { id } = (await flows.test.post('/webhook-endpoints', { url, description: 'Down' })).data;
  const failSince = async (hours: number, type: string) => {
    await flows.sql`
      UPDATE webhook_endpoints SET failing_since = now() - make_interval(hours => ${hours})
      WHERE id = ${requireUuid('webhookEndpoint', id)}`;
    await flows.test.post(`/webhook-endpoints/${id}/test`);
    moments.set(type, await momentOf(flows.test, await newestEvent(flows.test, type)));
  };
  await failSince(2, 'webhook_endpoint.failing');
  await failSince(6 * 24, 'webhook_endpoint.disabled');
}

const newestEvent = (client: Client, type: string): Promise<Resource> =>
  waitFor(`the event ${type}`, async () => (await client.get(`/events?type=${type}`)).items[0]);

/** The routes of what events are about, by the first part of the type. Events of wallets say what moved instead. */
const ROUTES_OF_EVENTS: Readonly<Record<string, string>> = {
  payment: '/payments',
  withdrawal: '/withdrawals',
  transfer: '/transfers',
  hold: '/holds',
  refund: '/refunds',
  payout: '/payouts',
  review_case: '/review-cases',
  webhook_endpoint: '/webhook-endpoints',
};

async function momentOf(client: Client, event: Resource): Promise<EventAndResource> {
  const data = event.data as Record<string, unknown>;
  if (typeof data.payoutId === 'string') {
    const payout = (await client.get(`/payouts/${data.payoutId}`)).data;
    const item = (payout.items as Resource[]).find(({ id }) => id === data.id);
    return { data, resource: { ...item, payoutId: payout.id, currency: payout.currency } };
  }
  const route = ROUTES_OF_EVENTS[String(event.type).split('.')[0] ?? ''];
  const resource = route === undefined ? {} : (await client.get(`${route}/${String(data.id)}`)).data;
  return { data, resource };
}

/** No scenario ends with these: what they are about is the same at the end of the first one that has them. */
const AMONG_OTHERS = /^(transfer\.completed|payment\.settled|payout\.item_\w+)$/;

/** A scenario that ends with the event, so that its resource is still what the event says. */
const scenarioOf = (type: string): Scenario | undefined =>
  SCENARIOS.find(({ outcome }) => outcome.events.at(-1) === type) ??
  SCENARIOS.find(({ outcome }) => AMONG_OTHERS.test(type) && outcome.events.includes(type));

/** What operators do to a wallet. */
async function changeWallet(flows: TestFlows): Promise<void> {
  const walletId = requireUuid('wallet', await flows.createWallet());
  const act = { proof: OWNER_PROOF, reason: 'reported stolen' };
  for (const status of ['frozen', 'active', 'closed'] as const) {
    const { outcome } = await setWalletStatus(flows.sql, flows.organisation.organisationId, walletId, status, act);
    if (outcome !== 'changed') throw new Error(`the wallet is ${outcome}`);
  }
}

/** Runs a scenario of each event type, each in an organisation of its own. */
async function causeEveryEvent(
  flows: TestFlows,
  examples: Examples,
  moments: Map<string, EventAndResource>,
): Promise<void> {
  const open = await openScenarios(flows);
  const types = Map.groupBy(EVENT_TYPES, scenarioOf);
  await Promise.all(
    [...types].map(async ([scenario, wanted]) => {
      if (scenario === undefined) return;
      const context = await open();
      await scenario.run(context);
      const { test } = context.organisation;
      for (const type of wanted) {
        const event = await newestEvent(test, type);
        examples.events[type] = event;
        moments.set(type, await momentOf(test, event));
      }
    }),
  );
  for (const type of [TEST_EVENT_TYPE, ...(types.get(undefined) ?? [])]) {
    const event = await newestEvent(flows.test, type);
    examples.events[type] = event;
    if (!moments.has(type)) moments.set(type, await momentOf(flows.test, event));
  }
  examples.events = Object.fromEntries(Object.entries(examples.events).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
