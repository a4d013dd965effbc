// A database that was restored to an earlier time than Temporal and the bank: a worker that starts on it sends nothing,
// operators import what the bank has paid, and `rail resume` releases it. `npm run drill -- restore` does this with a
// real restore.
import { afterAll, expect, test } from '@jest/globals';
import { newUuid, publicId } from '../../src/ids.ts';
import { startFlow } from '../../src/outbox/startFlow.ts';
import { findNewestLostFlow } from '../../src/recovery/lostFlows.ts';
import { startWithdrawal } from '../../src/resources/flows.ts';
import { listRailPauses } from '../../src/resources/rails/pauses.ts';
import type { Withdrawal } from '../../src/resources/withdrawals/queries.ts';
import { operate, runAs } from '../cli/run.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const HOUR_MS = 3_600_000;
const TO_BANK = { accountNumber: '0123456789', bankCode: '058' };
const GROUNDS = ['--reason', 'restored to noon', '--evidence', 'ticket 1234'];

const flows = await startTestFlows();

afterAll(() => flows.close());

const newestLost = () =>
  findNewestLostFlow({ sql: flows.sql, client: flows.temporal }, flows.dependencies.config.temporal.taskQueue);

const withdraw = async (walletId: string, amount: number): Promise<string> =>
  (await flows.test.money(`/wallets/${walletId}/withdraw`, { amount, ...TO_BANK })).data.id;

/** A withdrawal that Temporal has and the database does not, as after a restore. `isPaid`: the bank has paid it. */
async function loseWithdrawal(walletId: string, amount: number, { isPaid }: { isPaid: boolean }): Promise<string> {
  const { organisationId } = flows.organisation;
  const book = { organisationId, environment: 'test' } as const;
  const id = newUuid();
  const reference = publicId('withdrawal', id);
  const sourceWalletId = (await flows.sql<{ id: string }[]>`SELECT id FROM wallets`).find(
    (row) => publicId('wallet', row.id) === walletId,
  )?.id as string;
  if (isPaid) {
    const instruction = { organisationId, reference, amount, ...TO_BANK, accountName: null, narration: null };
    await flows.dependencies.sandboxBank.transfers.send(instruction);
    await waitFor('the bank to pay it', async () => {
      const rows = await flows.sql`
        SELECT FROM sandbox_bank.statement_lines WHERE reference = ${reference} AND kind = 'sent'`;
      return rows.length > 0;
    });
  }
  const { message } = startWithdrawal(book, { id, sourceWalletId, amount } as Withdrawal);
  await startFlow(flows.temporal, flows.dependencies.config.temporal.taskQueue, message);
  await waitFor('the list of flows to have it', async () => (await newestLost())?.id !== undefined);
  return reference;
}

const paused = async () =>
  (await listRailPauses(flows.sql)).map(({ environment, operator }) => ({ environment, operator }));

const restartWorker = async (): Promise<void> => {
  await flows.stopWorker();
  await flows.startWorkerAgain();
};

interface Listed {
  id: string;
  paidAt: string | null;
  state: string;
}

test('a worker that starts on an older database sends nothing until operators have imported what the bank has paid', async () => {
  const walletId = await flows.createWallet(undefined, { balance: 500_000 });
  const before = await withdraw(walletId, 100_000);
  await flows.untilStatus(`/withdrawals/${before}`, 'completed');
  await restartWorker();
  expect(await newestLost()).toBeNull();
  expect(await paused()).toEqual([]);

  const restoredTo = new Date().toISOString();
  const paid = await loseWithdrawal(walletId, 50_000, { isPaid: true });
  const tooMuch = await loseWithdrawal(walletId, 400_000, { isPaid: true });
  const unsent = await loseWithdrawal(walletId, 20_000, { isPaid: false });
  await restartWorker();
  expect(await paused()).toEqual([
    { environment: 'test', operator: 'worker' },
    { environment: 'live', operator: 'worker' },
  ]);
  const held = await withdraw(walletId, 30_000);
  await waitFor('the new withdrawal to wait', async () => {
    const query = `WorkflowId = '${held}' AND Attention = 'rail_paused'`;
    return (await flows.temporal.workflow.count(query)).count > 0;
  });
  expect([...(await flows.sql`SELECT FROM sandbox_bank.requests WHERE reference = ${held}`)]).toEqual([]);

  const [from, to] = [-HOUR_MS, HOUR_MS].map((ms) => new Date(Date.now() + ms).toISOString());
  expect(await flows.runMaintenance('reconciliation', { from, to })).toMatchObject({ breaks: 2 });
  const since = ['--since', restoredTo];
  const lost = async (...more: string[]) =>
    (await operate(flows, 'ada', 'flows', 'lost', ...since, ...more)) as Listed[];
  const listed = await lost();
  expect(listed.map(({ id }) => id).toSorted()).toEqual([paid, tooMuch, unsent].toSorted());
  expect(
    listed
      .filter(({ paidAt }) => paidAt !== null)
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual([paid, tooMuch].toSorted());

  const balance = await flows.balanceOf(walletId);
  const imported = await operate(flows, 'ada', 'flows', 'import', ...since, ...GROUNDS);
  const adjustmentOf = (reference: string) => reference.replace('_wth', '_adj');
  expect(imported).toEqual(
    expect.arrayContaining([
      { adjustment: adjustmentOf(paid), reference: paid, debit: `wallet:${walletId}`, amount: 50_000, refused: null },
      // More than the wallet has: it is owed.
      {
        adjustment: adjustmentOf(tooMuch),
        reference: tooMuch,
        debit: 'receivable:bank',
        amount: 400_000,
        refused: null,
      },
    ]),
  );
  const again = (await operate(flows, 'ada', 'flows', 'import', ...since, ...GROUNDS)) as { refused: string | null }[];
  expect(again.map(({ refused }) => refused)).toEqual([
    expect.stringContaining('requested before'),
    expect.stringContaining('requested before'),
  ]);
  for (const id of [paid, tooMuch].map(adjustmentOf)) {
    await waitFor(`${id} to be approved`, async () => {
      const { exitCode } = await runAs(flows, 'ngozi', 'adjustments', 'approve', id, '--reason', 'agrees');
      return exitCode === 0;
    });
  }
  expect(await flows.balanceOf(walletId)).toBe(balance - 50_000);
  expect(await flows.accountBalance('receivable:bank')).toBe(-400_000);

  expect((await lost('--end')).every(({ state }) => state === 'ended')).toBe(true);
  for (const environment of ['test', 'live'])
    await operate(flows, 'ada', 'rail', 'resume', environment, '--reason', 'reconciled');
  await flows.untilStatus(`/withdrawals/${held}`, 'completed');
  // What operators know is no reason to hold it again.
  await restartWorker();
  expect(await paused()).toEqual([]);
});
