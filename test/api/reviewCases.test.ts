// Review cases over the API: seen by their organisation, decided once, within what one person may decide.
import { afterAll, describe, expect, test } from '@jest/globals';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import type { ReviewReason } from '../../src/resources/reviewCases/queries.ts';
import { startTestApi } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';
import { openCase } from '../support/reviewCases.ts';

const TWO_FROM = 50_000;

const api = await startTestApi({ settings: { REVIEW_CREDIT_BY_TWO_FROM_KOBO: String(TWO_FROM) } });
const walletId = await api.createWallet();

afterAll(() => api.close());

const open = (about: Parameters<typeof openCase>[3] = {}, wallet: string | null = walletId) =>
  openCase(api, api.organisation, wallet, about);
const decide = (id: string, body: object, key?: string) =>
  api.test.money(`/review-cases/${id}/resolve`, { reason: 'the customer called', ...body }, key);
const read = async (id: string) => (await api.test.get(`/review-cases/${id}`)).data;

test('a case has what the money was for and what may be decided', async () => {
  const id = await open();
  expect(await read(id)).toEqual({
    id,
    reason: 'over_limit',
    status: 'open',
    amount: 5_000,
    fee: 0,
    lateBySeconds: null,
    currency: 'NGN',
    paymentId: null,
    reference: null,
    walletId,
    inboundCreditId: expect.stringMatching(/^svc_\w{26}_inc$/),
    actions: ['credit', 'return_to_sender', 'move_to_unclaimed'],
    returnFailure: null,
    returnFailureCode: null,
    returnFailureReason: null,
    createdAt: expect.any(String),
    resolvedAt: null,
  });
});

describe('the list', () => {
  test('it has the cases of its book, newest first, by status, reason and wallet', async () => {
    const organisation = await api.createOrganisation();
    const mine = await api.createWallet(organisation.test);
    const ids: string[] = [];
    for (const reason of ['over_limit', 'wallet_frozen', 'unknown_account'] satisfies ReviewReason[]) {
      ids.unshift(await openCase(api, organisation, reason === 'unknown_account' ? null : mine, { reason }));
    }
    const list = async (query = '') =>
      (await organisation.test.get(`/review-cases?${query}`)).items.map(({ id }) => id);
    expect(await list()).toEqual(ids);
    expect(await list('limit=2')).toEqual(ids.slice(0, 2));
    expect(await list(`walletId=${mine}`)).toEqual(ids.slice(1));
    expect(await list('reason=wallet_frozen&status=open')).toEqual([ids[1]]);
    expect(await list('status=credited')).toEqual([]);
    expect(await list(`paymentId=${publicId('payment', newUuid())}`)).toEqual([]);
    expect((await organisation.live.get('/review-cases')).items).toEqual([]);
  });

  test.each(['reconciliation_break', 'paid_after_failure', 'credit_recalled'] satisfies ReviewReason[])(
    'cases between us and the bank, such as %s, are not seen',
    async (reason) => {
      const { organisationId, test: client } = await api.createOrganisation();
      const id = newUuid();
      await api.sql`
        INSERT INTO review_cases (organisation_id, environment, id, version, reason, status, amount, attempts, created_at)
        VALUES (${organisationId}, 'test', ${id}, 1, ${reason}, 'open', 5, 0, now())`;
      expect((await client.get('/review-cases')).items).toEqual([]);
      expect((await client.get(`/review-cases/${publicId('reviewCase', id)}`)).status).toBe(404);
    },
  );
});

describe('decisions', () => {
  test('credit: the money is in the wallet, with an event, an audit entry of the key, and news for the flow', async () => {
    const wallet = await api.createWallet();
    const id = await open({}, wallet);
    const key = 'decision-1';
    const { status, data } = await decide(id, { action: 'credit' }, key);
    expect([status, data.status, data.actions, data.walletId]).toEqual([200, 'credited', [], wallet]);
    expect(await api.balanceOf(wallet)).toBe(5_000);
    const again = await decide(id, { action: 'credit' }, key);
    expect([again.status, again.data, again.headers.get('idempotent-replayed')]).toEqual([200, data, 'true']);
    expect(await api.balanceOf(wallet)).toBe(5_000);
    const events = (await api.test.get(`/events?resourceId=${id}`)).items;
    expect(events.map(({ type }) => type)).toEqual(['review_case.resolved', 'review_case.opened']);
    const audit = await api.sql`
      SELECT operator_id, operator, action, reason FROM audit_log WHERE subject = ${id}`;
    expect([...audit]).toEqual([
      {
        operatorId: null,
        operator: expect.stringMatching(/^svc_\w{26}_key$/),
        action: 'review:credit',
        reason: 'the customer called',
      },
    ]);
    const [signal] = await api.sql<{ message: { signal?: { name: string } } }[]>`
      SELECT message FROM outbox WHERE topic = 'flow' AND message ->> 'id' = ${id} ORDER BY id DESC LIMIT 1`;
    expect(signal?.message.signal?.name).toBe('transferUpdated');
  });

  test('return_to_sender: the money is on its way; without one known sender it is refused', async () => {
    const id = await open();
    const { data } = await decide(id, { action: 'return_to_sender' });
    expect([data.status, data.actions]).toEqual(['returning', []]);
    const unnamed = await open({ sender: null });
    const { status, error } = await decide(unnamed, { action: 'return_to_sender' });
    expect([status, error.code, error.details.reason]).toEqual([422, 'REVIEW_ACTION_UNAVAILABLE', 'sender_unknown']);
    expect((await read(unnamed)).status).toBe('open');
  });

  test('money that came by a rail whose contract is disconnected is not returned, but credited', async () => {
    const { organisationId, test: client } = await api.createOrganisation();
    const id = await openCase(api, { organisationId }, await api.createWallet(client), {});
    await api.sql`
      INSERT INTO rail_contracts (organisation_id, environment, id, rail, disconnected_at)
      VALUES (${organisationId}, 'test', ${newUuid()}, 'sandbox', now())`;
    const decideThere = (action: string) =>
      client.money(`/review-cases/${id}/resolve`, { reason: 'the customer called', action });
    const { status, error } = await decideThere('return_to_sender');
    expect([status, error.details.reason]).toEqual([422, 'sender_unknown']);
    expect((await decideThere('credit')).data.status).toBe('credited');
  });

  test('move_to_unclaimed, and later the owner appears', async () => {
    const wallet = await api.createWallet();
    const id = await open({}, wallet);
    const unclaimed = (await decide(id, { action: 'move_to_unclaimed' })).data;
    expect([unclaimed.status, unclaimed.actions]).toEqual(['unclaimed', ['credit', 'return_to_sender']]);
    expect((await decide(id, { action: 'credit' })).data.status).toBe('credited');
    expect(await api.balanceOf(wallet)).toBe(5_000);
  });

  test.each([
    ['another wallet', {}, async () => ({ action: 'credit', walletId: await api.createWallet() })],
    ['a large amount', { amount: TWO_FROM }, async () => ({ action: 'credit' })],
  ])('%s needs operators', async (_what, about, bodyOf) => {
    const id = await open(about);
    expectError(await decide(id, await bodyOf()), 422, 'REVIEW_NEEDS_OPERATORS');
    expect((await read(id)).status).toBe('open');
  });

  test('a wallet that cannot take the money refuses it, and nothing changes', async () => {
    const wallet = await api.createWallet();
    const id = await open({}, wallet);
    await api.setWalletStatus(wallet, 'frozen');
    expectError(await decide(id, { action: 'credit' }), 422, 'WALLET_FROZEN');
    expect([(await read(id)).status, await api.balanceOf(wallet)]).toEqual(['open', 0]);
  });

  test('money for no known wallet cannot be credited without one, which needs operators', async () => {
    const id = await open({ reason: 'unknown_account' }, null);
    expect((await decide(id, { action: 'credit' })).error.details).toMatchObject({ reason: 'wallet_unknown' });
    expect((await decide(id, { action: 'credit', walletId })).error.code).toBe('REVIEW_NEEDS_OPERATORS');
  });

  test('after an attempt to return it, and when it has ended, operators decide', async () => {
    const tried = await open();
    await api.sql`UPDATE review_cases SET attempts = 1 WHERE id = ${requireUuid('reviewCase', tried)}`;
    expect((await read(tried)).actions).toEqual([]);
    expect((await decide(tried, { action: 'credit' })).error.code).toBe('REVIEW_ACTION_UNAVAILABLE');
    const ended = await open();
    await decide(ended, { action: 'credit' });
    expect((await decide(ended, { action: 'return_to_sender' })).error.details).toMatchObject({ status: 'credited' });
  });

  test('of thirty decisions at the same time one takes effect', async () => {
    const wallet = await api.createWallet();
    const id = await open({}, wallet);
    const actions = ['credit', 'return_to_sender', 'move_to_unclaimed'];
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, place) => decide(id, { action: actions[place % actions.length] })),
    );
    const [{ data: first } = { data: null }, ...others] = answers.filter(({ status }) => status === 200);
    const { status } = await read(id);
    // What was moved to unclaimed may still be credited or returned.
    expect(first?.status === 'unclaimed' ? [] : others).toEqual([]);
    expect(await api.balanceOf(wallet)).toBe(status === 'credited' ? 5_000 : 0);
    for (const { status: code, error } of answers.filter((answer) => answer.status !== 200)) {
      expect([code, error.code]).toEqual([422, 'REVIEW_ACTION_UNAVAILABLE']);
    }
  });

  test.each([
    {},
    { action: 'close' },
    { action: 'credit', reason: '' },
    { action: 'return_to_sender', walletId: 'svc_x' },
    { action: 'credit', code: 'abc' },
  ])('%j is 400', async (body) => {
    expect((await decide(await open(), body)).error.code).toBe('VALIDATION_FAILED');
  });

  test('a malformed wallet id is 404', async () => {
    expect((await decide(await open(), { action: 'credit', walletId: 'nonsense' })).error.code).toBe(
      'WALLET_NOT_FOUND',
    );
  });
});
