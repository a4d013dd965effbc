// Callbacks of a rail about a transfer: while the signal of one waits in the outbox, further ones add none.
import { afterAll, expect, test } from '@jest/globals';
import { startTestApi } from '../support/api.ts';
import { callBack } from '../support/callbacks.ts';

const api = await startTestApi(); // without a worker: nothing leaves the outbox

afterAll(() => api.close());

async function withdraw(): Promise<string> {
  const walletId = await api.createWallet(undefined, { balance: 103_000 });
  const body = { amount: 100_000, accountNumber: '0123456789', bankCode: '058' };
  return (await api.test.money(`/wallets/${walletId}/withdraw`, body)).data.id;
}

const signalsTo = async (id: string): Promise<number> =>
  (
    await api.sql`
      SELECT FROM outbox WHERE message ->> 'id' = ${id} AND message -> 'signal' ->> 'name' = 'transferUpdated'`
  ).length;

test('a callback adds no signal while that of another one waits, and adds one when it is on its way', async () => {
  const [id, other] = [await withdraw(), await withdraw()];
  for (let count = 0; count < 10; count += 1) await callBack(api, id);
  expect([await signalsTo(id), await signalsTo(other)]).toEqual([1, 0]);
  await callBack(api, other);
  expect([await signalsTo(id), await signalsTo(other)]).toEqual([1, 1]);
  // The relay has taken it: the flow may have queried the rail before the next callback.
  await api.sql`UPDATE outbox SET attempts = 1 WHERE message ->> 'id' = ${id}`;
  await callBack(api, id);
  expect(await signalsTo(id)).toBe(2);
});
