// The API together with a worker in the same process: real workflows on the real Temporal server, over a database of the
// test file's own.
import { randomUUID } from 'node:crypto';
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, makeTelemetryFilterString, Runtime } from '@temporalio/worker';
import { type RunningWorker, startWorker } from '../../src/worker/worker.ts';
import { type Answer, type Resource, startTestApi, type TestApi, type TestApiOptions } from './api.ts';
import { testStack } from './stack.ts';
import { waitFor } from './waitFor.ts';

Runtime.install({
  shutdownSignals: [],
  logger: new DefaultLogger('ERROR'),
  // Flows that tests terminate make the core warn of tasks that are gone.
  telemetryOptions: { logging: { filter: makeTelemetryFilterString({ core: 'ERROR' }) } },
});

export interface TestFlows extends TestApi {
  temporal: Client;
  /** Stops the worker, as a deployment would; `startWorkerAgain` brings it back. */
  stopWorker: () => Promise<void>;
  startWorkerAgain: () => Promise<void>;
  /** A bank-transfer payment into this wallet, as the API answered it. */
  createPayment: (walletId: string, baseAmount: number, more?: object) => Promise<PaymentResource>;
  /** The sandbox bank receives money. */
  credit: (accountNumber: string, amount: number, more?: object) => Promise<Answer>;
  /** The resource at this path once its status is one of these. */
  untilStatus: (path: string, ...statuses: string[]) => Promise<Resource>;
  /** The events of one type about one resource, oldest first. */
  eventsOf: (resourceId: string) => Promise<{ type: string; data: Record<string, unknown> }[]>;
  reviewCases: () => Promise<{ reason: string; amount: number; status: string; accountCode: string }[]>;
  /** Balance of any account of the default organisation's test book, as the sum of its postings. */
  accountBalance: (code: string) => Promise<number>;
}

export interface PaymentResource extends Resource {
  payableAmount: number;
  virtualAccount: { accountNumber: string };
}

interface TestFlowsOptions extends TestApiOptions {
  /** False where the test starts a worker of its own. */
  worker?: boolean;
}

export async function startTestFlows({ worker: works = true, ...options }: TestFlowsOptions = {}): Promise<TestFlows> {
  const api = await startTestApi({ callersRetry: true, ...options });
  const connection = await Connection.connect({ address: testStack().temporalAddress });
  const startOne = (): Promise<RunningWorker> =>
    startWorker(api.services, { codePath: testStack().workflowBundlePath });
  let worker: RunningWorker | null = works ? await startOne() : null;

  const stopWorker = async (): Promise<void> => {
    await worker?.stop();
    worker = null;
  };

  return {
    ...api,
    temporal: new Client({ connection }),
    stopWorker,
    startWorkerAgain: async () => {
      worker ??= await startOne();
    },
    createPayment: async (walletId, baseAmount, more = {}) => {
      const body = { method: 'bank_transfer', baseAmount, targetWalletId: walletId, ...more };
      const answer = await api.test.money('/payments', body);
      if (answer.status !== 201) throw new Error(`no payment: ${answer.text}`);
      return answer.data as PaymentResource;
    },
    credit: (accountNumber, amount, more = {}) =>
      api.test.post('/simulations/inbound-credits', { accountNumber, amount, sessionId: randomUUID(), ...more }),
    untilStatus: (path, ...statuses) =>
      waitFor(`${path} to be ${statuses.join(' or ')}`, async () => {
        const { data } = await api.test.get(path);
        return statuses.includes(data.status) && data;
      }),
    eventsOf: async (resourceId) => [
      ...(await api.sql<{ type: string; data: Record<string, unknown> }[]>`
        SELECT type, data FROM events WHERE resource = ${resourceId} ORDER BY created_at, id`),
    ],
    reviewCases: async () => [
      ...(await api.sql<{ reason: string; amount: number; status: string; accountCode: string }[]>`
        SELECT reason, amount, status, account_code FROM review_cases ORDER BY created_at, id`),
    ],
    accountBalance: async (code) => {
      const [row] = await api.sql<{ balance: number }[]>`
        SELECT coalesce(sum(CASE WHEN p.credit_account_id = a.id THEN p.amount ELSE -p.amount END), 0)::bigint AS balance
        FROM ledger.accounts a JOIN ledger.postings p
          ON p.organisation_id = a.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
        WHERE a.organisation_id = ${api.organisation.organisationId} AND a.environment = 'test' AND a.code = ${code}`;
      return row?.balance ?? 0;
    },
    close: async () => {
      await stopWorker();
      await connection.close();
      await api.close();
    },
  };
}
