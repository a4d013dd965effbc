// `ledger verify` while the resources change: each page reads them and the ledger in one snapshot, so nothing differs.
import { afterAll, expect, test } from '@jest/globals';
import { holdItem } from '../../src/resources/payouts/movements.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { startTestApi } from '../support/api.ts';
import { Stage } from './stage.ts';

const api = await startTestApi();

afterAll(() => api.close());

test('verification has no findings while the resources change', async () => {
  const stage = new Stage(api, api.organisation);
  let running = true;
  let changes = 0;
  const change = async (): Promise<void> => {
    while (running) {
      await stage.suspend();
      await stage.posted(holdItem(stage.book, (await stage.payout()).item, null));
      changes += 1;
    }
  };
  const changing = Promise.all([change(), change()]);
  for (let runs = 0; runs < 5; ) {
    const before = changes;
    expect((await verifyBooks(api.sql, { pageSize: 50 })).findings).toEqual([]);
    if (changes > before) runs += 1;
  }
  running = false;
  await changing;
});
