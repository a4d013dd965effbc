// Reconciliation on real servers: what the sandbox bank's own statement says against the books. Whole stories leave no
// break; each kind of seeded break is told, and nothing about the money is changed.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { openTheatre, type Stage } from '../support/stage.ts';
import { STORY_SETTINGS } from '../support/stories.ts';
import { until } from '../support/until.ts';

const CLI = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const run = promisify(execFile);
const HOUR_MS = 3_600_000;

let flows: TestFlows;
let stage: Stage;

beforeAll(async () => {
  flows = await startTestFlows({ settings: STORY_SETTINGS });
  stage = await (await openTheatre(flows))();
});

afterAll(async () => {
  const { findings } = await verifyLedger(flows.sql);
  await flows.close();
  expect(findings).toEqual([]);
});

const reconcile = () =>
  flows.temporal.workflow.execute('reconciliation', {
    taskQueue: flows.services.config.temporal.taskQueue,
    workflowId: `reconciliation-${randomUUID()}`,
    args: [{ from: new Date(Date.now() - HOUR_MS).toISOString(), to: new Date(Date.now() + HOUR_MS).toISOString() }],
  });

const breaksTold = async () => {
  const [report] = await flows.sql<{ breaks: { kind: string; line: string; reference: string }[] }[]>`
    SELECT breaks FROM reconciliation_reports WHERE organisation_id = ${stage.organisationId}
    ORDER BY created_at DESC, id DESC LIMIT 1`;
  return report?.breaks.map(({ kind, line, reference }) => `${kind} ${line} ${reference}`).toSorted();
};

test('whole stories agree line by line; every seeded break is told; no money moves', async () => {
  // A payment funds a wallet; from it one transfer is paid, one is refused, one bounces at once and one bounces late.
  const wallet = await stage.wallet('owner');
  const payment = await stage.payment(wallet, 'bank_transfer');
  await stage.credit(payment.virtualAccount.accountNumber, 1_000_000);
  await stage.untilStatus(`/payments/${payment.id}`, 'settled');
  const withdraw = async (accountNumber: string, status: string) => {
    const body = { amount: 100_000, accountNumber, bankCode: '058' };
    const { id } = await stage.money(`/wallets/${wallet}/withdraw`, body);
    await stage.untilStatus(`/withdrawals/${id}`, status);
    return id;
  };
  const paid = await withdraw('0123456789', 'completed');
  await withdraw('9999999001', 'failed');
  await withdraw('9999999002', 'returned');
  const late = await withdraw('0123456788', 'completed');
  await stage.endTransfer(late, 'return');
  await stage.untilStatus(`/withdrawals/${late}`, 'returned');
  expect(await reconcile()).toMatchObject({ breaks: 0 });
  expect(await breaksTold()).toEqual([]);

  const { organisationId } = stage;
  const refused = await withdraw('9999999001', 'failed');
  const stated = (reference: string, kind: 'sent' | 'returned', amount: number) => flows.sql`
    INSERT INTO sandbox_bank.statement_lines (organisation_id, reference, kind, amount)
    VALUES (${organisationId}, ${reference}, ${kind}, ${amount})`;
  await stated(paid, 'sent', 100_000);
  await stated(refused, 'sent', 100_000);
  await stated('nobodys_reference', 'sent', 5_000);
  await flows.sql`
    UPDATE sandbox_bank.statement_lines SET amount = amount - 1
    WHERE organisation_id = ${organisationId} AND reference = ${late} AND kind = 'returned'`;
  const [credit] = await flows.sql<{ sessionId: string }[]>`
    DELETE FROM sandbox_bank.credits WHERE organisation_id = ${organisationId} RETURNING session_id`;
  const postings = () => flows.sql`SELECT count(*)::int AS number FROM ledger.postings`;
  const before = await postings();
  expect(await reconcile()).toMatchObject({ breaks: 5 });
  expect(await breaksTold()).toEqual(
    [
      `missing credit ${credit?.sessionId}`,
      `duplicate sent ${paid}`,
      `status sent ${refused}`,
      'extra sent nobodys_reference',
      `amount returned ${late}`,
    ].toSorted(),
  );
  expect(await postings()).toEqual(before);
});

test('is run and read from the command line, and found by Attention when there are breaks', async () => {
  const environment = {
    ...process.env,
    DATABASE_URL: flows.databaseUrl,
    TEMPORAL_ADDRESS: flows.services.config.temporal.address,
    TEMPORAL_TASK_QUEUE: flows.services.config.temporal.taskQueue,
  };
  const cli = (...words: string[]) => run(process.execPath, [CLI, 'reconciliation', ...words], { env: environment });
  await expect(cli('run', '--json')).rejects.toMatchObject({ code: 1, stdout: expect.stringContaining('"breaks": 5') });
  const reports = JSON.parse((await cli('show', '--json')).stdout) as { breakCount: number; rail: string }[];
  expect(reports[0]).toMatchObject({ rail: 'sandbox', breakCount: 5 });
  expect((await cli('show')).stdout).toContain('nobodys_reference');
  await until('the run to be found', async () => {
    const { count } = await flows.temporal.workflow.count(`Attention = 'reconciliation_breaks'`);
    return count > 0;
  });
});
