// Flows that do not continue for a reason that no rule foresees, an activity or a workflow task that fails again and
// again, are listed with their last error and counted, until they are mended.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { bundleWorkflowCode } from '@temporalio/worker';
import { freePort } from '../../dev/freePort.ts';
import { Rails } from '../../src/rail/rails.ts';
import { startWorker } from '../../src/worker/worker.ts';
import { scrape } from '../metrics/exposition.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { OPERATORS } from '../support/operators.ts';
import { waitFor } from '../support/waitFor.ts';

const CLI = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const run = promisify(execFile);

const COMPLETES = '0123456789';
const HOLDS = '9999999003';

let flows: TestFlows;
let metricsPort: number;
let isRailBroken = false;

beforeAll(async () => {
  metricsPort = await freePort();
  flows = await startTestFlows({
    settings: {
      WORKER_METRICS_PORT: String(metricsPort),
      ATTENTION_ACTIVITY_FAILING_SECONDS: '1',
      ATTENTION_WORKFLOW_TASK_FAILING_SECONDS: '1',
    },
    rails: (rails) => {
      const rail = rails.shared('test');
      if (rail === null) throw new Error('there is no rail');
      const transferStatus: typeof rail.transferStatus = async (query) => {
        if (isRailBroken) throw new TypeError('the adapter cannot read the answer\n  of the bank');
        return await rail.transferStatus(query);
      };
      return new Rails({ test: Object.assign(Object.create(rail), { transferStatus }) as typeof rail });
    },
  });
});

afterAll(() => flows.close());

async function withdraw(accountNumber: string): Promise<string> {
  const walletId = await flows.createWallet(undefined, { balance: 1_000_000 });
  const body = { amount: 100_000, accountNumber, bankCode: '058' };
  return (await flows.test.money(`/wallets/${walletId}/withdraw`, body)).data.id;
}

async function list(...words: string[]): Promise<{ id: string; attention: string; error: string }[]> {
  const { stdout } = await run(process.execPath, [CLI, 'attention', 'list', '--json', ...words], {
    env: {
      ...process.env,
      DATABASE_URL: flows.databaseUrl,
      MANILLA_OPERATOR_KEY: OPERATORS.ada.key,
      TEMPORAL_ADDRESS: flows.dependencies.config.temporal.address,
    },
  });
  const rows = JSON.parse(stdout) as { id: string; attention: string; error: string }[];
  // Other tests park flows on the same server.
  const own = await flows.sql<{ workflowId: string }[]>`SELECT workflow_id FROM failing_flows`;
  return rows.filter(({ id }) => own.some(({ workflowId }) => workflowId === id));
}

const scan = () => flows.runUpkeep('failingFlows') as Promise<{ described: number; failing: number }>;

const untilFailing = (count: number) => waitFor(`${count} failing flows`, async () => (await scan()).failing === count);

test('a flow with an activity that fails again and again is listed and counted, until it succeeds', async () => {
  isRailBroken = true;
  const id = await withdraw(COMPLETES);
  await untilFailing(1);
  expect(await list()).toEqual([
    {
      id,
      flow: 'withdrawal',
      attention: 'activity_failing',
      since: expect.stringMatching(/^20/),
      amount: null,
      error: expect.stringMatching(
        /^sendWithdrawal fails, attempt \d+: TypeError: the adapter cannot read the answer\. It is retried/,
      ),
    },
  ]);
  expect(await list('--query', "WorkflowType = 'payment'")).toEqual([]);
  const scraped = await scrape(metricsPort);
  expect(scraped.value('manilla_flows_failing', { task: 'activity' })).toBe(1);
  expect(scraped.value('manilla_flows_failing', { task: 'workflow_task' })).toBe(0);

  isRailBroken = false;
  await flows.untilStatus(`/withdrawals/${id}`, 'completed');
  await untilFailing(0);
  expect(await flows.sql`SELECT FROM failing_flows`).toHaveLength(0);
});

test('a flow with a workflow task that fails after a deployment is listed, until the version before is back', async () => {
  const id = await withdraw(HOLDS);
  await waitFor(
    'the bank to have the transfer',
    async () => (await flows.sql`SELECT FROM sandbox_bank.transfers WHERE reference = ${id}`).length > 0,
  );
  await flows.stopWorker();
  const broken = await startWorker(
    flows.dependencies,
    await bundleWorkflowCode({ workflowsPath: fileURLToPath(new URL('../worker/brokenVersion.ts', import.meta.url)) }),
  );
  await flows.test.post(`/simulations/bank-transfers/${id}/resolve`, { outcome: 'complete' });
  await untilFailing(1);
  expect(await list()).toMatchObject([
    {
      id,
      attention: 'workflow_task_failing',
      error: expect.stringMatching(
        /^the workflow task fails, attempt \d+: .*Nondeterminism.*Deploy the version before/i,
      ),
    },
  ]);
  await broken.stop();

  await flows.startWorkerAgain();
  await flows.untilStatus(`/withdrawals/${id}`, 'completed');
  await untilFailing(0);
});

test('a payment that waits for money is not described', async () => {
  const payment = await flows.createPayment(await flows.createWallet(), 200_000);
  await waitFor('the flow to be old enough', async () => {
    const query = `WorkflowId = '${payment.id}' AND StartTime < '${new Date(Date.now() - 1_000).toISOString()}'`;
    return (await flows.temporal.workflow.count(query)).count === 1;
  });
  expect(await scan()).toEqual({ described: 0, failing: 0 });
});
