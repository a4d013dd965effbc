// A scripted bank behind the rail port, whose transfers end immediately unless a test holds them; and payout flows
// that run against it, with activities that can be repeated or lose their results. Temporal, Postgres, the API and the
// activities are real.
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createAttentionActivities } from '../../src/activities/attention.ts';
import { createPayoutActivities } from '../../src/activities/payouts.ts';
import { requireUuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { startFlow } from '../../src/outbox/startFlow.ts';
import { RailRefusedError } from '../../src/rail/errors.ts';
import type { BankRail, TransferInstruction, TransferReport } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';
import { wakePayoutItem } from '../../src/resources/flows.ts';
import { findPayoutItem } from '../../src/resources/payouts/queries.ts';
import { capacityOf } from '../../src/worker/capacity.ts';
import { type FlowMessage, taskQueueOf } from '../../src/workflows/flows.ts';
import { type Resource, startTestApi, type TestApi, type TestOrganisation } from '../support/api.ts';
import { reportOf } from '../support/scriptedRail.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

/** How the bank handles transfers to an account. `deny`: it refuses them permanently. */
export type Manner = 'complete' | 'reject' | 'hold' | 'deny';

export class ObedientBank {
  /** The transfers that it accepted, by reference. */
  readonly taken = new Map<string, TransferReport>();
  /** How often each reference was sent. */
  readonly sends = new Map<string, number>();
  readonly manners = new Map<string, Manner>();
  /** Account holders by account number; null: the account does not exist. All others are ADA OBI. */
  readonly names = new Map<string, string | null>();
  /** Awaited before every response to a send. */
  gate: Promise<void> = Promise.resolve();
  /** Awaited before every response to a status query. */
  statusGate: Promise<void> = Promise.resolve();
  /** The transfers that it has reported as ended, in that order. */
  readonly reported = new Set<string>();
  /** By account number: thrown by the next send to it, before the bank records the send. */
  readonly sendFaults = new Map<string, Error>();
  /** By account number: thrown by every name enquiry about it. */
  readonly enquiryFaults = new Map<string, Error>();

  /** The rails with this bank in place of the sandbox bank. */
  behind(rails: Rails): Rails {
    const sandbox = rails.shared('test');
    if (sandbox === null) throw new Error('the sandbox bank is not configured');
    const rail: BankRail = {
      ...sandbox,
      resolveAccount: ({ accountNumber }) => {
        const fault = this.enquiryFaults.get(accountNumber);
        if (fault !== undefined) return Promise.reject(fault);
        const accountName = this.names.get(accountNumber);
        return Promise.resolve(accountName === null ? null : { accountName: accountName ?? 'ADA OBI' });
      },
      sendTransfer: (instruction) => this.#take(instruction),
      transferStatus: async ({ reference }) => {
        await this.statusGate;
        return this.#report(this.taken.get(reference) ?? null);
      },
    };
    return new Rails({ test: rail });
  }

  /** Sets the final status of a transfer. */
  end(reference: string, status: TransferReport['status']): void {
    const report = this.taken.get(reference);
    if (report === undefined) throw new Error(`the bank has not accepted ${reference}`);
    this.taken.set(reference, { ...report, status, reason: status === 'returned' ? 'Account dormant' : null });
  }

  #report<Report extends TransferReport | null>(report: Report): Report {
    if (report !== null && report.status !== 'processing') this.reported.add(report.reference);
    return report;
  }

  async #take({ reference, accountNumber }: TransferInstruction): Promise<TransferReport> {
    await this.gate;
    const fault = this.sendFaults.get(accountNumber);
    this.sendFaults.delete(accountNumber);
    if (fault !== undefined) throw fault;
    this.sends.set(reference, (this.sends.get(reference) ?? 0) + 1);
    const known = this.taken.get(reference);
    if (known !== undefined) return this.#report(known);
    const manner = this.manners.get(accountNumber) ?? 'complete';
    if (manner === 'deny') throw new RailRefusedError('Transfers to this bank are suspended');
    const report: TransferReport = {
      ...reportOf(reference, manner === 'hold' ? 'processing' : manner === 'complete' ? 'completed' : 'failed'),
      reason: manner === 'reject' ? 'Account closed' : null,
    };
    this.taken.set(reference, report);
    return this.#report(report);
  }
}

/** How each activity runs: once, twice per call, or with its first result lost, so that Temporal retries it. */
export type Repetition = 'run once' | 'run twice' | 'losing its first answer';

type Step = (...input: never[]) => Promise<unknown>;

function withRepetition(step: Step, repetition: Repetition): Step {
  const completed = new Set<string>();
  return async (...input) => {
    const result = await step(...input);
    if (repetition === 'run once') return result;
    if (repetition === 'run twice') return await step(...input);
    const call = JSON.stringify(input);
    if (!completed.has(call)) {
      completed.add(call);
      throw new Error('the worker crashed before it returned');
    }
    return result;
  };
}

export interface PayoutFlows {
  api: TestApi;
  bank: ObedientBank;
  temporal: Client;
  /** Starts or signals the flow from its outbox message, as the relay does. */
  start: (payoutId: string) => Promise<void>;
  /** Starts the flow of a payout again after a run of the same id has ended. */
  startAgain: (payoutId: string) => Promise<void>;
  /**
   * Signals the item's flow, as the API does on the bank's callback. `owner`, here and below: the default organisation
   * if omitted.
   */
  tell: (itemId: string, owner?: TestOrganisation) => Promise<void>;
  untilStatus: (payoutId: string, status: string, owner?: TestOrganisation) => Promise<Resource>;
  events: (payoutId: string) => Promise<{ type: string; data: Record<string, unknown> }[]>;
  /**
   * The total balance of the accounts with this prefix, from their postings; without an owner, of all organisations.
   */
  balances: (codePrefix: string, owner?: TestOrganisation) => Promise<number>;
  close: () => Promise<void>;
}

export async function startPayoutFlows(
  repetition: Repetition = 'run once',
  settings: Record<string, string> = {},
): Promise<PayoutFlows> {
  Runtime.install({ shutdownSignals: [], logger: new DefaultLogger('ERROR') });
  const bank = new ObedientBank();
  const api = await startTestApi({ rails: (rails) => bank.behind(rails), settings });
  const { temporalAddress: address, workflowBundlePath: codePath } = testStack();
  const { config } = api.dependencies;
  const { taskQueue } = config.temporal;
  const [connection, nativeConnection] = await Promise.all([
    Connection.connect({ address }),
    NativeConnection.connect({ address }),
  ]);
  const temporal = new Client({ connection });
  const steps = Object.entries({
    ...createPayoutActivities(api.dependencies),
    ...createAttentionActivities(api.dependencies),
  });
  const common = {
    connection: nativeConnection,
    activities: Object.fromEntries(steps.map(([name, step]) => [name, withRepetition(step as Step, repetition)])),
    ...capacityOf(config.worker.payouts),
  };
  const workers = await Promise.all([
    Worker.create({ ...common, taskQueue: taskQueueOf(taskQueue, 'payouts'), workflowBundle: { codePath } }),
    Worker.create({ ...common, taskQueue: taskQueueOf(taskQueue, 'rail') }),
  ]);
  const running = Promise.all(workers.map((worker) => worker.run()));

  const messageOf = async (payoutId: string): Promise<FlowMessage> => {
    const [row] = await api.sql<{ message: FlowMessage }[]>`
      SELECT message FROM outbox WHERE topic = 'flow' AND message ->> 'id' = ${payoutId}`;
    if (row === undefined) throw new Error(`the outbox has nothing for ${payoutId}`);
    return row.message;
  };

  return {
    api,
    bank,
    temporal,
    start: async (payoutId) => await startFlow(temporal, taskQueue, await messageOf(payoutId)),
    startAgain: async (payoutId) =>
      await startFlow(temporal, taskQueue, { ...(await messageOf(payoutId)), allowRestart: true }),
    tell: async (itemId, owner = api.organisation) => {
      const book: Book = { organisationId: owner.organisationId, environment: 'test' };
      const itemRow = await findPayoutItem(api.sql, book, requireUuid('payoutItem', itemId));
      if (itemRow === null) throw new Error(`no payout item ${itemId}`);
      await startFlow(temporal, taskQueue, wakePayoutItem(book, itemRow).message);
    },
    untilStatus: (payoutId, status, owner = api.organisation) =>
      waitFor(`${payoutId} to be ${status}`, async () => {
        const { data } = await owner.test.get(`/payouts/${payoutId}`);
        return data.status === status && data;
      }),
    events: async (payoutId) => [
      ...(await api.sql<{ type: string; data: Record<string, unknown> }[]>`
        SELECT type, data FROM events WHERE resource = ${payoutId} ORDER BY created_at, id`),
    ],
    balances: async (codePrefix, owner) => {
      const [row] = await api.sql<{ balance: number }[]>`
        SELECT coalesce(sum(CASE WHEN p.credit_account_id = a.id THEN p.amount ELSE -p.amount END), 0)::bigint AS balance
        FROM ledger.accounts a JOIN ledger.postings p
          ON p.organisation_id = a.organisation_id AND a.id IN (p.debit_account_id, p.credit_account_id)
        WHERE starts_with(a.code, ${codePrefix}) ${owner === undefined ? api.sql`` : api.sql`AND a.organisation_id = ${owner.organisationId}`}`;
      return row?.balance ?? 0;
    },
    close: async () => {
      for (const worker of workers) worker.shutdown();
      await running;
      await Promise.all([nativeConnection.close(), connection.close()]);
      await api.close();
    },
  };
}
