// A payout whose last item is returned while its end is written has one event for its end.
import { afterAll, expect, test } from '@jest/globals';
import { createPayoutActivities } from '../../src/activities/payouts.ts';
import type { Sql } from '../../src/database/pool.ts';
import { requireUuid } from '../../src/ids.ts';
import { startTestFlows } from '../support/flows.ts';

const flows = await startTestFlows({ worker: false });
const { dependencies, sql } = flows;

afterAll(() => flows.close());

test('an item that is returned while the end of its payout is written has no event of its own', async () => {
  const sourceWalletId = await flows.createWallet(undefined, { balance: 1_000_000 });
  const item = { amount: 100_000, bankAccount: { accountNumber: '0000000001', bankCode: '058' } };
  const { data } = await flows.test.money('/payouts', { sourceWalletId, items: [item] });
  const payoutId = requireUuid('payout', data.id);
  await sql`UPDATE payout_items SET status = 'completed' WHERE payout_id = ${payoutId}`;

  let isReturned = false;
  /** The bank returns the item before the items are counted, and after those were read that are not reported yet. */
  const between = new Proxy(sql, {
    apply: (target, self, words: Parameters<Sql>) => {
      const run = () => Reflect.apply(target, self, words);
      if (isReturned || !String(words[0]).includes('AS unreported')) return run();
      isReturned = true;
      return sql`
        UPDATE payout_items SET status = 'failed', returned_at = now(), unreported = true
        WHERE payout_id = ${payoutId}`.then(run);
    },
  });
  const book = { organisationId: flows.organisation.organisationId, environment: 'test' as const };
  const input = { ...book, payoutId: data.id, walletId: sourceWalletId, amount: 100_000 };
  for (const pool of [between, sql]) {
    await createPayoutActivities({ sql: pool, journal: dependencies.journal }).rollUpPayout(input);
  }
  expect(isReturned).toBe(true);
  expect((await flows.eventsOf(data.id)).map(({ type }) => type)).toEqual(['payout.failed']);
  const [left] =
    await sql`SELECT count(*)::int AS unreported FROM payout_items WHERE payout_id = ${payoutId} AND unreported`;
  expect(left).toEqual({ unreported: 0 });
});
