// The API and a worker in one process: real workflows on the Temporal server of the test stack, with a database per
// test file.
import { randomUUID } from 'node:crypto';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import type { Uuid } from '../../src/ids.ts';
import type { Kobo } from '../../src/money.ts';
import type { Event } from '../../src/resources/events.ts';
import { dataConverterOf } from '../../src/temporal/dataConverter.ts';
import { type RunningWorker, startWorker } from '../../src/worker/worker.ts';
import { taskQueueOf } from '../../src/workflows/flows.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import {
  type Answer,
  type Client as ApiClient,
  type Resource,
  startTestApi,
  type TestApi,
  type TestApiOptions,
} from './api.ts';
import { documentedEvent } from './documented.ts';
import { type OperatorName, withCode } from './operators.ts';
import { testStack } from './stack.ts';
import './temporalRuntime.ts';
import { waitFor } from './waitFor.ts';

export interface TestFlows extends TestApi {
  temporal: Client;
  /** Stops the worker, as a deployment does; `startWorkerAgain` starts another. */
  stopWorker: () => Promise<void>;
  startWorkerAgain: () => Promise<void>;
  /** Runs a maintenance flow now, on a worker of its own unless the test has its own. Returns its result. */
  runMaintenance: (workflow: string, ...args: unknown[]) => Promise<unknown>;
  /** Creates a bank-transfer payment to this wallet. Returns the resource. */
  createPayment: (walletId: string, baseAmount: number, more?: object) => Promise<PaymentResource>;
  /** A withdrawal of ₦1,000, which costs ₦1,030, from a new wallet with this balance. */
  withdraw: (
    accountNumber: string,
    balance?: Kobo,
  ) => Promise<{ id: string; path: string; walletId: string; flow: WorkflowHandle }>;
  /** The number of the deposit account of a wallet. */
  depositAccount: (walletId: string) => Promise<string>;
  /** Sets how the sandbox bank handles transfers to this account. */
  setBehaviour: (accountNumber: string, behaviour: string) => Promise<void>;
  /** Ends a transfer at the sandbox bank, once the bank has it. */
  endTransfer: (reference: string, outcome: 'complete' | 'reject' | 'return', client?: ApiClient) => Promise<void>;
  /** Simulates an inbound credit at the sandbox bank. */
  credit: (accountNumber: string, amount: number, more?: object) => Promise<Answer>;
  /** Waits until the resource at this path has one of these statuses. */
  untilStatus: (path: string, ...statuses: string[]) => Promise<Resource>;
  flow: (workflowId: string) => WorkflowHandle;
  untilStarted: (workflowId: string) => Promise<unknown>;
  /**
   * An operator sends an update to a flow. Where the flow does not accept it, the outcome is `rejected` and the message
   * says why.
   */
  decide: (
    update: 'resolve' | 'resolveCase' | 'decide',
    workflowId: string,
    message: object,
    operator?: OperatorName,
  ) => Promise<{ outcome: string; message: string; status?: string }>;
  /** What operators have done to this: `<operator> <action>`, oldest first. */
  auditOf: (subject: string) => Promise<string[]>;
  /** What the Temporal UI shows of a flow now. */
  detailsOf: (workflowId: string) => Promise<string>;
  /** The details of a flow once it has this attention cause. */
  untilAttention: (workflowId: string, cause: string) => Promise<string>;
  /** The events of a resource, oldest first. */
  eventsOf: (resourceId: string) => Promise<{ type: string; data: Record<string, unknown> }[]>;
  reviewCases: () => Promise<{ reason: string; amount: number; status: string; accountCode: string }[]>;
  /** The balance of an account in a test book, as the sum of its postings. Default: of the default organisation. */
  accountBalance: (code: string, organisationId?: Uuid) => Promise<number>;
}

export interface PaymentResource extends Resource {
  payableAmount: number;
  virtualAccount: { accountNumber: string };
}

/** Each task queue costs a thread and idle polls in every test file, so a file names the roles that it needs more. */
const ROLES = 'flows,relay';

interface TestFlowsOptions extends TestApiOptions {
  /** False when the test starts its own worker. */
  worker?: boolean;
}

export async function startTestFlows({
  worker: startsWorker = true,
  ...options
}: TestFlowsOptions = {}): Promise<TestFlows> {
  const settings = { WORKER_ROLES: ROLES, ...options.settings };
  const api = await startTestApi({ callersRetry: true, ...options, settings });
  const connection = await Connection.connect({ address: testStack().temporalAddress });
  const { taskQueue, payloadKeys } = api.dependencies.config.temporal;
  // The bundle of the stack is for payloads that are not encrypted.
  const bundle = payloadKeys === null ? { codePath: testStack().workflowBundlePath } : undefined;
  const startOne = (config = api.dependencies.config): Promise<RunningWorker> =>
    startWorker({ ...api.dependencies, config }, bundle);
  const { config } = api.dependencies;
  const forMaintenance = {
    ...config,
    metrics: { ...config.metrics, ports: { ...config.metrics.ports, worker: null } },
    worker: { ...config.worker, roles: ['maintenance' as const] },
  };
  let maintenance: Promise<RunningWorker> | null = null;
  let worker: RunningWorker | null = startsWorker ? await startOne() : null;

  const stopWorker = async (): Promise<void> => {
    await Promise.all([worker?.stop(), maintenance?.then((started) => started.stop())]);
    worker = null;
    maintenance = null;
  };

  const temporal = new Client({ connection, dataConverter: dataConverterOf(payloadKeys) });
  const flow = (workflowId: string): WorkflowHandle => temporal.workflow.getHandle(workflowId);
  /** Null: it has not started yet. */
  const describe = (workflowId: string) =>
    flow(workflowId)
      .describe()
      .catch(() => null);
  const detailsOf = async (workflowId: string): Promise<string> =>
    (await flow(workflowId).query<{ currentDetails?: string }>('__temporal_workflow_metadata')).currentDetails ?? '';
  return {
    ...api,
    temporal,
    runMaintenance: async (workflow, ...args) => {
      if (startsWorker && !config.worker.roles.includes('maintenance')) {
        maintenance ??= startOne(forMaintenance);
        await maintenance;
      }
      return await temporal.workflow.execute(workflow, {
        taskQueue: taskQueueOf(taskQueue, 'maintenance'),
        workflowId: `${workflow}-${randomUUID()}`,
        args,
      });
    },
    stopWorker,
    startWorkerAgain: async () => {
      worker ??= await startOne();
    },
    createPayment: async (walletId, baseAmount, more = {}) => {
      const body = { method: 'bank_transfer', baseAmount, targetWalletId: walletId, ...more };
      const response = await api.test.money('/payments', body);
      if (response.status !== 201) throw new Error(`the payment was not created: ${response.text}`);
      return response.data as PaymentResource;
    },
    withdraw: async (accountNumber, balance = 103_000) => {
      const walletId = await api.createWallet(undefined, { balance });
      const body = { amount: 100_000, accountNumber, bankCode: '058' };
      const { status, text, data } = await api.test.money(`/wallets/${walletId}/withdraw`, body);
      if (status !== 201) throw new Error(`the withdrawal was not accepted: ${text}`);
      return { id: data.id, path: `/withdrawals/${data.id}`, walletId, flow: flow(data.id) };
    },
    depositAccount: async (walletId) =>
      String((await api.test.get(`/wallets/${walletId}/deposit-account`)).data.accountNumber),
    setBehaviour: async (accountNumber, behaviour) => {
      const path = `/simulations/bank-accounts/${accountNumber}`;
      const { status, text } = await api.test.call('PUT', path, { body: { behaviour } });
      if (status !== 200) throw new Error(text);
    },
    endTransfer: async (reference, outcome, client = api.test) => {
      await waitFor('the bank to have the transfer', async () => {
        const { status } = await client.post(`/simulations/bank-transfers/${reference}/resolve`, { outcome });
        return status === 200;
      });
    },
    credit: (accountNumber, amount, more = {}) =>
      api.test.post('/simulations/inbound-credits', { accountNumber, amount, sessionId: randomUUID(), ...more }),
    untilStatus: (path, ...statuses) =>
      waitFor(`${path} to be ${statuses.join(' or ')}`, async () => {
        const { data } = await api.test.get(path);
        return statuses.includes(data.status) && data;
      }),
    flow,
    untilStarted: (workflowId) => waitFor(`${workflowId} to start`, () => describe(workflowId)),
    decide: async (update, workflowId, message, operator = 'ngozi') => {
      const args: [object] = [
        await withCode(api.sql, workflowId, { reason: 'the bank was asked', operator, ...message }),
      ];
      return await flow(workflowId)
        .executeUpdate<{ outcome: string; message: string; status?: string }, [object]>(update, { args })
        .catch((error: Error & { cause?: Error }) => ({
          outcome: 'rejected',
          message: error.cause?.message ?? error.message,
        }));
    },
    auditOf: async (subject) => {
      const rows = await api.sql<{ operator: string; action: string }[]>`
        SELECT operator, action FROM audit_log WHERE subject = ${subject} ORDER BY id`;
      return rows.map(({ operator, action }) => `${operator} ${action}`);
    },
    detailsOf,
    untilAttention: async (workflowId, cause) => {
      await waitFor(`${workflowId} to show ${cause}`, async () => {
        return (await describe(workflowId))?.typedSearchAttributes.get(ATTENTION) === cause;
      });
      return await detailsOf(workflowId);
    },
    eventsOf: async (resourceId) => {
      const rows = await api.sql<Event[]>`
        SELECT id, type, resource, sequence, data, created_at FROM events WHERE resource = ${resourceId} ORDER BY sequence`;
      return rows.map(documentedEvent);
    },
    reviewCases: async () => [
      ...(await api.sql<{ reason: string; amount: number; status: string; accountCode: string }[]>`
        SELECT reason, amount, status, account_code FROM review_cases ORDER BY created_at, id`),
    ],
    accountBalance: async (code, organisationId = api.organisation.organisationId) => {
      const [row] = await api.sql<{ balance: number }[]>`
        SELECT coalesce(sum(CASE WHEN p.credit_account_id = a.id THEN p.amount ELSE -p.amount END), 0)::bigint AS balance
        FROM ledger.accounts a JOIN ledger.postings p
          ON p.organisation_id = a.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
        WHERE a.organisation_id = ${organisationId} AND a.environment = 'test' AND a.code = ${code}`;
      return row?.balance ?? 0;
    },
    close: async () => {
      await stopWorker();
      await connection.close();
      await api.close();
    },
  };
}
