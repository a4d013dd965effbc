// Cancelling a payment: contract section 4.8. What its flow does afterwards: test/support/scenarios.ts.
import { randomUUID } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { createPaymentActivities } from '../../src/activities/payments.ts';
import { requireUuid } from '../../src/ids.ts';
import { paymentInput } from '../../src/resources/flows.ts';
import { findPayment } from '../../src/resources/payments/queries.ts';
import { type Answer, type Client, startTestApi } from '../support/api.ts';
import { expectError } from '../support/refusals.ts';

const api = await startTestApi({ callersRetry: true });
const book = { organisationId: api.organisation.organisationId, environment: 'test' as const };
const activities = createPaymentActivities(api.dependencies);

afterAll(() => api.close());

async function create(more: object = {}): Promise<string> {
  const body = { method: 'bank_transfer', baseAmount: 1_000, targetWalletId: await api.createWallet(), ...more };
  return (await api.test.money('/payments', body)).data.id;
}

const cancel = (id: string, client: Client = api.test): Promise<Answer> => client.post(`/payments/${id}/cancel`);

async function eventsOf(id: string): Promise<string[]> {
  const events = await api.sql<{ type: string }[]>`SELECT type FROM events WHERE resource = ${id} ORDER BY sequence`;
  return events.map(({ type }) => type);
}

async function inputOf(id: string) {
  const payment = await findPayment(api.sql, book, requireUuid('payment', id));
  if (payment === null) throw new Error('the payment is gone');
  return paymentInput(book, payment);
}

const setStatus = (id: string, status: string) => api.sql`
  UPDATE payments SET status = ${status}, settled_at = CASE WHEN ${status} ~ 'settled|refunded' THEN now() END
  WHERE id = ${requireUuid('payment', id)}`;

describe('POST /payments/:id/cancel', () => {
  test('cancels a pending payment, with an event and a signal to its flow', async () => {
    const id = await create();
    const pending = (await api.test.get(`/payments/${id}`)).data;
    const answer = await cancel(id);
    expect([answer.status, answer.data]).toEqual([200, { ...pending, status: 'cancelled' }]);
    expect((await api.test.get(`/payments/${id}`)).data).toEqual(answer.data);
    const { checkoutUrl: _url, ...data } = answer.data;
    const events = await api.sql`SELECT type, data FROM events WHERE resource = ${id}`;
    expect([...events]).toEqual([{ type: 'payment.cancelled', data }]);
    const signals = await api.sql`
      SELECT message -> 'signal' AS signal FROM outbox WHERE message ->> 'id' = ${id} AND message ? 'signal'`;
    const payload = { status: 'cancelled', amountReceived: 0 };
    expect([...signals]).toEqual([{ signal: { name: 'paymentEnded', payload } }]);
  });

  test('cancelling it again changes nothing', async () => {
    const id = await create();
    const first = await cancel(id);
    const again = await cancel(id);
    expect([again.status, again.data]).toEqual([200, first.data]);
    expect(await eventsOf(id)).toEqual(['payment.cancelled']);
  });

  test('several at once are one cancellation, and each answer is that of its Idempotency-Key', async () => {
    const id = await create();
    const keys = Array.from({ length: 8 }, () => randomUUID());
    const send = (key: string) => api.test.money(`/payments/${id}/cancel`, {}, key);
    const answers = await Promise.all(keys.map(send));
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200));
    expect(await eventsOf(id)).toEqual(['payment.cancelled']);
    const again = await Promise.all(keys.map(send));
    expect(again.map(({ headers }) => headers.get('idempotent-replayed'))).toEqual(keys.map(() => 'true'));
  });

  test('a cancelled payment leaves its reference to the next', async () => {
    const id = await create({ reference: 'order 7' });
    await cancel(id);
    expect(await create({ reference: 'order 7' })).not.toBe(id);
  });

  test.each(['partial', 'settled', 'expired', 'failed', 'refunded', 'partially_refunded'])(
    'a payment that is %s is PAYMENT_NOT_CANCELLABLE',
    async (status) => {
      const id = await create();
      await setStatus(id, status);
      expectError(await cancel(id), 422, 'PAYMENT_NOT_CANCELLABLE', { paymentId: id, status });
      expect(await eventsOf(id)).toEqual([]);
    },
  );

  test('a cancelled payment cannot be paid from a wallet', async () => {
    const id = await create({ method: 'virtual_wallet' });
    await cancel(id);
    const payer = await api.createWallet(api.test, { balance: 1_000 });
    const paid = await api.test.money(`/wallets/${payer}/pay`, { paymentId: id });
    expect(paid.error).toMatchObject({ code: 'PAYMENT_NOT_PAYABLE', details: { status: 'cancelled' } });
    expect(await api.balanceOf(payer)).toBe(1_000);
  });
});

describe('races', () => {
  test('of many cancellations over two API processes, one has an effect', async () => {
    await api.withAnother({}, async (second) => {
      const clients = [api.test, second.client(api.test.key)];
      const id = await create();
      const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => cancel(id, clients[index % 2])));
      expect(new Set(answers.map(({ status, data }) => `${status} ${data.status}`))).toEqual(
        new Set(['200 cancelled']),
      );
      expect(await eventsOf(id)).toEqual(['payment.cancelled']);
    });
  });

  /** What ends the payment of a round at the same time, and the status that it gives it. */
  type Rival = [name: string, status: string, method: string, prepare: (id: string) => Promise<() => Promise<unknown>>];
  const rivals: Rival[] = [
    [
      'a payment from a wallet',
      'settled',
      'virtual_wallet',
      async (id) => {
        const payer = await api.createWallet(api.test, { balance: 1_000 });
        return () => api.test.money(`/wallets/${payer}/pay`, { paymentId: id });
      },
    ],
    [
      'the expiry',
      'expired',
      'bank_transfer',
      async (id) => {
        await api.sql`UPDATE payments SET expires_at = now() - interval '1 second' WHERE id = ${requireUuid('payment', id)}`;
        const input = await inputOf(id);
        return () => activities.expirePayment(input);
      },
    ],
  ];
  test.each(rivals)('a cancellation and %s: one of them ends the payment', async (_name, status, method, prepare) => {
    const outcomes: string[] = [];
    for (let round = 0; round < 30; round += 1) {
      const id = await create({ method });
      const rival = await prepare(id);
      // Delays one side by some round trips, so that each wins some races.
      const later = async <Result>(isLater: boolean, work: () => Promise<Result>): Promise<Result> => {
        for (let delay = 0; isLater && delay < round % 10; delay += 1) await api.sql`SELECT 1`;
        return await work();
      };
      const isEven = round % 2 === 0;
      const [cancelled] = await Promise.all([later(isEven, () => cancel(id)), later(!isEven, rival)]);
      const now = (await api.test.get(`/payments/${id}`)).data.status;
      expect(cancelled.status).toBe(now === 'cancelled' ? 200 : 422);
      const ended = { settled: ['payment.settled', 'payment.completed'], expired: ['payment.expired'] }[status];
      expect(await eventsOf(id)).toEqual(now === 'cancelled' ? ['payment.cancelled'] : ended);
      outcomes.push(now);
    }
    expect(new Set(outcomes)).toEqual(new Set(['cancelled', status]));
  });
});
