// Money of a payment that is held (contract, section 4.8): beside the wallets of its target or splits until it is
// released, or goes back by a refund. With a bank: test/e2e/paymentHolds.test.ts.
import { afterAll, describe, expect, test } from '@jest/globals';
import { requireUuid } from '../../src/ids.ts';
import { OWNER_PROOF } from '../../src/resources/proofs.ts';
import { setWalletStatus } from '../../src/resources/wallets/status.ts';
import { startTestApi } from '../support/api.ts';
import { expectError, expectInvalid } from '../support/refusals.ts';
import { violationsOf } from '../support/violations.ts';

const api = await startTestApi({ callersRetry: true });

afterAll(async () => {
  expect(await violationsOf(api.sql)).toEqual([]);
  await api.close();
});

const MANUAL = { release: 'manual' };
const BASE = 10_000;

const create = (targetWalletId: string, more: object) =>
  api.test.money('/payments', { method: 'virtual_wallet', baseAmount: BASE, targetWalletId, ...more });

/** A payment that a wallet has paid. */
async function paid(more: (wallets: { platform: string }) => object, wallets?: { seller?: string }) {
  const [payer, seller, platform] = await Promise.all([
    api.createWallet(api.test, { balance: BASE }),
    wallets?.seller ?? api.createWallet(),
    api.createWallet(),
  ]);
  const { id } = (await create(seller, more({ platform }))).data;
  const { data } = await api.test.money(`/wallets/${payer}/pay`, { paymentId: id });
  const holds = (await api.test.get(`/holds?paymentId=${id}`)).items;
  return { id, payer, seller, platform, payment: data, holds, hold: String(holds[0]?.id) };
}

/** A payment whose target waits. */
const held = () => paid(() => ({ hold: MANUAL }));

const release = (id: string, amount?: number) =>
  api.test.money(`/holds/${id}/release`, amount === undefined ? {} : { amount });
const cancel = (id: string) => api.test.money(`/holds/${id}/cancel`, {});
const refund = (id: string, body: object = {}) => api.test.money(`/payments/${id}/refund`, body);
const read = async (path: string) => (await api.test.get(path)).data;

/** Balance and held balance of each wallet. */
const balances = (...wallets: string[]) =>
  Promise.all(wallets.map(async (id) => [await api.balanceOf(id), (await read(`/wallets/${id}`)).heldBalance]));

async function eventsOf(id: string): Promise<string[]> {
  const events = await api.sql<{ type: string }[]>`SELECT type FROM events WHERE resource = ${id} ORDER BY sequence`;
  return events.map(({ type }) => type);
}

describe('a payment with a hold', () => {
  test('is credited to the held balance of its target, and released to the balance with an entry', async () => {
    const releaseAt = new Date(Date.now() + 3_600_000).toISOString();
    const { id, payer, seller, payment, holds, hold } = await paid(() => ({ hold: { releaseAt } }));
    expect(payment).toMatchObject({ status: 'settled', hold: { releaseAt } });
    expect(await balances(payer, seller)).toEqual([
      [0, 0],
      [0, BASE],
    ]);
    expect(holds).toEqual([
      expect.objectContaining({
        status: 'held',
        walletId: seller,
        sourceWalletId: payer,
        transferId: null,
        paymentId: id,
        amountHeld: BASE,
        releaseAt,
      }),
    ]);
    expect(await eventsOf(id)).toEqual(['payment.settled', 'payment.completed']);
    expect((await release(hold, 4_000)).data).toMatchObject({ status: 'held', amountHeld: 6_000 });
    expect((await release(hold)).data).toMatchObject({ status: 'released' });
    expect(await balances(seller)).toEqual([[BASE, 0]]);
    expect(await eventsOf(hold)).toEqual(['hold.created', 'hold.released', 'hold.released']);
    const { items } = await api.test.get(`/wallets/${seller}/transactions`);
    expect(items.map(({ kind, amount, resourceId }) => [kind, amount, resourceId])).toEqual([
      ['hold_release', 6_000, hold],
      ['hold_release', 4_000, hold],
    ]);
    expect(items[0]?.counterparty).toMatchObject({ walletId: payer });
  });

  test('on a split holds the part of that wallet only', async () => {
    const splits = (walletId: string) => [{ walletId, basisPoints: 2_500, description: 'the courier', hold: MANUAL }];
    const { id, seller, platform, payment, holds, hold } = await paid(({ platform }) => ({
      reference: 'order 8',
      splits: splits(platform),
    }));
    expect(payment.splits).toEqual([expect.objectContaining({ hold: { releaseAt: null }, amountCredited: 2_500 })]);
    expect(await balances(seller, platform)).toEqual([
      [7_500, 0],
      [0, 2_500],
    ]);
    expect(holds).toHaveLength(1);
    expect(await eventsOf(platform)).toEqual([]);
    await release(hold);
    const { items } = await api.test.get(`/wallets/${platform}/transactions`);
    expect(items).toMatchObject([{ description: 'the courier', reference: 'order 8' }]);
    expect((await refund(id)).data.amount).toBe(BASE);
    expect(await balances(seller, platform)).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });

  test('comes from a template too', async () => {
    const platform = await api.createWallet();
    const splits = [{ walletId: platform, basisPoints: 1_000, hold: MANUAL }];
    const { data } = await api.test.post('/split-templates', { name: 'held', splits });
    expect(data.splits).toEqual([expect.objectContaining({ hold: { releaseAt: null } })]);
    await paid(() => ({ splitTemplateId: data.id }));
    expect(await balances(platform)).toEqual([[0, 1_000]]);
  });

  test('is held for a frozen wallet, which it is not released to', async () => {
    const seller = await api.createWallet();
    const payer = await api.createWallet(api.test, { balance: BASE });
    const { id } = (await create(seller, { hold: MANUAL })).data;
    await api.setWalletStatus(seller, 'frozen');
    expect((await api.test.money(`/wallets/${payer}/pay`, { paymentId: id })).data.status).toBe('settled');
    const [hold] = (await api.test.get(`/holds?paymentId=${id}`)).items;
    expectError(await release(String(hold?.id)), 422, 'WALLET_FROZEN', { walletId: seller });
    expect(await balances(seller)).toEqual([[0, BASE]]);
  });

  test('goes to review where the wallet of a split is closed', async () => {
    const payer = await api.createWallet(api.test, { balance: BASE });
    const [seller, platform] = [await api.createWallet(), await api.createWallet()];
    const splits = [{ walletId: platform, amount: 1_000, hold: MANUAL }];
    const { id } = (await create(seller, { splits })).data;
    const closing = { proof: OWNER_PROOF, reason: 'test' };
    await setWalletStatus(api.sql, api.organisation.organisationId, requireUuid('wallet', platform), 'closed', closing);
    const { data } = await api.test.money(`/wallets/${payer}/pay`, { paymentId: id });
    expect(data).toMatchObject({ status: 'settled', amountInReview: 1_000 });
    expect((await api.test.get(`/holds?paymentId=${id}`)).items).toEqual([]);
  });
});

test.each([
  ['of the payment', (hold: unknown) => ({ hold }), 'hold.releaseAt'],
  [
    'of a split',
    (hold: unknown, walletId: string) => ({ splits: [{ walletId, amount: 1, hold }] }),
    'splits.0.hold.releaseAt',
  ],
])('a time that has passed, or is too far away, is refused: %s', async (_what, more, field) => {
  const [seller, platform] = [await api.createWallet(), await api.createWallet()];
  const at = (ms: number) => ({ releaseAt: new Date(Date.now() + ms).toISOString() });
  for (const [hold, code] of [
    [at(-1_000), 'too_small'],
    [at(367 * 86_400_000), 'too_big'],
  ] as const) {
    const { status, error } = await create(seller, more(hold, platform));
    expect([status, error.details.fields]).toEqual([400, [expect.objectContaining({ field, code })]]);
  }
  expectInvalid(await create(seller, more({ ...at(1_000), ...MANUAL }, platform)), field.replace('.releaseAt', ''));
});

describe('what is held', () => {
  test('goes back to who paid, as a refund, when its hold is cancelled', async () => {
    const { id, payer, seller, hold } = await held();
    await release(hold, 4_000);
    const cancelled = (await cancel(hold)).data;
    expect(await read(`/holds/${hold}`)).toEqual(cancelled);
    expect(cancelled).toMatchObject({
      status: 'cancelled',
      amountReleased: 4_000,
      amountCancelled: 6_000,
    });
    expect(await balances(payer, seller)).toEqual([
      [6_000, 0],
      [4_000, 0],
    ]);
    expect((await read(`/payments/${id}`)).status).toBe('partially_refunded');
    expect((await api.test.get(`/payments/${id}/refunds`)).items).toMatchObject([
      { amount: 6_000, status: 'completed' },
    ]);
    expect(await eventsOf(hold)).toEqual(['hold.created', 'hold.released', 'hold.cancelled']);
    expectError(await cancel(hold), 422, 'HOLD_ENDED', { holdId: hold, status: 'cancelled' });
  });

  test('is taken by a refund before the balance', async () => {
    const { id, payer, seller, hold } = await held();
    await release(hold, 4_000);
    await refund(id, { amount: 1_000 });
    expect(await read(`/holds/${hold}`)).toMatchObject({ status: 'held', amountHeld: 5_000, amountCancelled: 1_000 });
    await refund(id, { amount: 7_000 });
    expect(await read(`/holds/${hold}`)).toMatchObject({ status: 'cancelled', amountCancelled: 6_000 });
    expect(await balances(payer, seller)).toEqual([
      [8_000, 0],
      [2_000, 0],
    ]);
    expect(await eventsOf(hold)).toEqual(['hold.created', 'hold.released', 'hold.cancelled', 'hold.cancelled']);
  });

  test('stays where another wallet funds a refund, and is more than can be refunded then', async () => {
    const { id, seller, hold } = await held();
    const { settlementWalletId: fundedBy } = api.organisation;
    await api.fund(api.organisation.organisationId, fundedBy, 20_000);
    expect((await refund(id, { amount: 1_000, fundedBy })).status).toBe(201);
    expect(await balances(seller)).toEqual([[0, BASE]]);
    expect((await cancel(hold)).error).toMatchObject({ code: 'REFUND_AMOUNT_EXCEEDED' });
    expect((await refund(id)).data.amount).toBe(9_000);
    expect(await balances(seller)).toEqual([[0, 1_000]]);
    expect((await release(hold)).status).toBe(200);
  });

  test('is refunded by keys with the scope `payment` only', async () => {
    const { hold, payer } = await held();
    const { key } = await api.createKey(api.organisation.organisationId, { scopes: ['transfer'] });
    const answer = await api.client(key).money(`/holds/${hold}/cancel`, {});
    expectError(answer, 403, 'API_KEY_SCOPE_FORBIDDEN', { requiredScopes: ['payment'], providedScopes: ['transfer'] });
    expect(await balances(payer)).toEqual([[0, 0]]);
  });

  test('of 50 releases, refunds and cancellations at once over two processes, none takes it twice', async () => {
    await api.withAnother({}, async (second) => {
      const clients = [api.test, second.client(api.test.key)];
      const releases = [{ amount: 700 }, { amount: 300 }];
      const refunds = [{ amount: 900 }, { amount: 100 }];
      for (const cancellations of [[], [{}]]) {
        const { id, payer, seller, hold } = await held();
        const acts = [
          ...releases.map((body) => ({ path: `/holds/${hold}/release`, body })),
          ...refunds.map((body) => ({ path: `/payments/${id}/refund`, body })),
          ...cancellations.map((body) => ({ path: `/holds/${hold}/cancel`, body })),
        ];
        const sent = Array.from({ length: 50 }, async (_, index) => {
          const { path = '', body } = acts[index % acts.length] ?? {};
          return await clients[index % 2]?.money(path, body);
        });
        const answers = (await Promise.all(sent)).filter((answer) => answer !== undefined);
        const codes = new Set(answers.filter(({ status }) => status >= 400).map(({ error }) => error.code));
        for (const code of codes)
          expect(['HOLD_ENDED', 'HOLD_AMOUNT_EXCEEDED', 'REFUND_AMOUNT_EXCEEDED', 'PAYMENT_NOT_REFUNDABLE']).toContain(
            code,
          );
        const [[back, none] = [], [free, left] = []] = await balances(payer, seller);
        const { amountReleased, amountCancelled, amountHeld } = await read(`/holds/${hold}`);
        const rows = await api.sql<{ refunded: number }[]>`
          SELECT amount_refunded AS refunded FROM payments WHERE id = ${requireUuid('payment', id)}`;
        expect([none, left, rows[0]?.refunded]).toEqual([0, amountHeld, back]);
        expect(Number(back) + Number(free) + Number(left)).toBe(BASE);
        expect(Number(amountReleased) + Number(amountCancelled) + Number(amountHeld)).toBe(BASE);
      }
    });
  });
});
