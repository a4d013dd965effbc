// A bank that answers at once and does as it is told, behind the rail port; and payout flows run against it, with steps
// that a test may have run twice or lose their answers. Temporal, Postgres, the API and the steps themselves are real.
import { Client, Connection } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { createAttentionActivities } from '../../src/activities/attention.ts';
import { createPayoutActivities } from '../../src/activities/payouts.ts';
import { requireUuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { startFlow } from '../../src/outbox/startFlow.ts';
import { type BankRail, RailRefusedError, type TransferInstruction, type TransferReport } from '../../src/rail/port.ts';
import { Rails } from '../../src/rail/rails.ts';
import { wakePayoutItem } from '../../src/resources/payouts/flow.ts';
import { findPayoutItem } from '../../src/resources/payouts/queries.ts';
import { type FlowMessage, taskQueueOf } from '../../src/workflows/flows.ts';
import { type Resource, startTestApi, type TestApi, type TestOrganisation } from '../support/api.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

/** What the bank does with a transfer to an account. `deny`: it will never make it, and says so. */
export type Manner = 'complete' | 'reject' | 'hold' | 'deny';

export class ObedientBank {
  /** The transfers that it took, by reference. */
  readonly taken = new Map<string, TransferReport>();
  /** How often each reference was sent. */
  readonly sends = new Map<string, number>();
  readonly manners = new Map<string, Manner>();
  /** Names by account number; null: there is no such account. Any other is ADA OBI. */
  readonly names = new Map<string, string | null>();
  /** Awaited before every answer to a send. */
  gate: Promise<void> = Promise.resolve();
  /** By account number: thrown by the next send to it, before the bank has seen it. */
  readonly sendFaults = new Map<string, Error>();
  /** By account number: thrown by every name enquiry about it. */
  readonly enquiryFaults = new Map<string, Error>();

  /** Its side of the port, in place of the sandbox bank's. */
  behind(rails: Rails): Rails {
    const sandbox = rails.of('test');
    if (sandbox === null) throw new Error('there is no sandbox bank to take the place of');
    const rail: BankRail = {
      ...sandbox,
      resolveAccount: ({ accountNumber }) => {
        const fault = this.enquiryFaults.get(accountNumber);
        if (fault !== undefined) return Promise.reject(fault);
        const accountName = this.names.get(accountNumber);
        return Promise.resolve(accountName === null ? null : { accountName: accountName ?? 'ADA OBI' });
      },
      sendTransfer: (instruction) => this.#take(instruction),
      transferStatus: ({ reference }) => Promise.resolve(this.taken.get(reference) ?? null),
    };
    return new Rails({ test: rail });
  }

  /** The bank says from now on that the transfer ended so. */
  end(reference: string, status: TransferReport['status']): void {
    const report = this.taken.get(reference);
    if (report === undefined) throw new Error(`the bank never took ${reference}`);
    this.taken.set(reference, { ...report, status, reason: status === 'returned' ? 'Account dormant' : null });
  }

  async #take({ reference, accountNumber }: TransferInstruction): Promise<TransferReport> {
    await this.gate;
    const fault = this.sendFaults.get(accountNumber);
    this.sendFaults.delete(accountNumber);
    if (fault !== undefined) throw fault;
    this.sends.set(reference, (this.sends.get(reference) ?? 0) + 1);
    const known = this.taken.get(reference);
    if (known !== undefined) return known;
    const manner = this.manners.get(accountNumber) ?? 'complete';
    if (manner === 'deny') throw new RailRefusedError('Transfers to this bank are suspended');
    const report: TransferReport = {
      reference,
      status: manner === 'hold' ? 'processing' : manner === 'complete' ? 'completed' : 'failed',
      sessionId: `session-${reference}`,
      reason: manner === 'reject' ? 'Account closed' : null,
    };
    this.taken.set(reference, report);
    return report;
  }
}

/** How each step is run: as it comes, twice at every call, or with its first answer lost, so that Temporal repeats it. */
export type Repetition = 'run once' | 'run twice' | 'losing its first answer';

type Step = (...input: never[]) => Promise<unknown>;

function repeated(step: Step, repetition: Repetition): Step {
  const answered = new Set<string>();
  return async (...input) => {
    const answer = await step(...input);
    if (repetition === 'run once') return answer;
    if (repetition === 'run twice') return await step(...input);
    const call = JSON.stringify(input);
    if (!answered.has(call)) {
      answered.add(call);
      throw new Error('the worker died before it could answer');
    }
    return answer;
  };
}

export interface PayoutFlows {
  api: TestApi;
  bank: ObedientBank;
  temporal: Client;
  /** Sends on what the outbox has for this flow, as the relay does. */
  start: (payoutId: string) => Promise<void>;
  /** Starts the flow of a payout once more, though one of that id ran before. */
  startAgain: (payoutId: string) => Promise<void>;
  /** What the bank's callback makes the API do: wake the item's flow. `owner`, here and below: by default the first organisation. */
  tell: (itemId: string, owner?: TestOrganisation) => Promise<void>;
  untilStatus: (payoutId: string, status: string, owner?: TestOrganisation) => Promise<Resource>;
  events: (payoutId: string) => Promise<{ type: string; data: Record<string, unknown> }[]>;
  /** Balances of the accounts that begin so, as the sums of their postings; without an owner, everybody's. */
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
  const { taskQueue } = api.services.config.temporal;
  const [connection, nativeConnection] = await Promise.all([
    Connection.connect({ address }),
    NativeConnection.connect({ address }),
  ]);
  const temporal = new Client({ connection });
  const steps = Object.entries({ ...createPayoutActivities(api.services), ...createAttentionActivities(api.services) });
  const worker = await Worker.create({
    connection: nativeConnection,
    taskQueue: taskQueueOf(taskQueue, 'payouts'),
    workflowBundle: { codePath },
    activities: Object.fromEntries(steps.map(([name, step]) => [name, repeated(step as Step, repetition)])),
  });
  const running = worker.run();

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
      const sourced = await findPayoutItem(api.sql, book, requireUuid('payoutItem', itemId));
      if (sourced === null) throw new Error(`no payout item ${itemId}`);
      await startFlow(temporal, taskQueue, wakePayoutItem(book, sourced).message);
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
      worker.shutdown();
      await running;
      await Promise.all([nativeConnection.close(), connection.close()]);
      await api.close();
    },
  };
}
