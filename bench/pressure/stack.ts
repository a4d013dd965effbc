// The processes, organisations and clients of the stage `pressure`.

import { connect } from '../../src/database/pool.ts';
import { parseKeyring } from '../../src/keyring.ts';
import { createLog } from '../../src/telemetry/log.ts';
import { DEFAULT_NAMESPACE } from '../../src/temporal/profile.ts';
import { taskQueuesOf } from '../../src/workflows/flows.ts';
import { createAuthorization, KEYS, startBenchApi, startBenchTemporal, startBenchWorker, TASK_QUEUE } from '../api.ts';
import { type BaselineWorker, startBaselineWorker } from '../baseline/worker.ts';
import { openBook } from '../book.ts';
import type { Bench } from '../stage.ts';
import { Client, type ClientBank, sandboxBank } from './client.ts';
import { LIVE_BANK_URL, openLiveBank } from './liveRail.ts';
import { type Probed, Watch } from './probes.ts';
import { type Receiver, startReceiver } from './receiver.ts';
import type { Stack } from './scenarios.ts';

/** temporal.api.enums.v1.TaskQueueType */
const WORKFLOW_TASKS = 1;
const ACTIVITY_TASKS = 2;

/** Enough that the load is not on one account. */
const OTHER_WALLETS = 100;

/** Starts everything. The processes end with the supervisor; `close` ends the rest. */
export async function openStack(bench: Bench, scale: number): Promise<Stack & { close: () => Promise<void> }> {
  const { supervisor } = bench;
  const temporal = await startBenchTemporal(supervisor, bench.say);
  const url = await bench.createDatabase('books');
  const liveBankUrl = await bench.createDatabase('books');
  const loading = await openBook(url);
  const other = await openBook(url, { name: 'Other', wallets: OTHER_WALLETS });
  const live = await openBook(url, { name: 'Live', wallets: OTHER_WALLETS, environment: 'live' });
  const settings = {
    [LIVE_BANK_URL]: liveBankUrl,
    WEBHOOK_ALLOW_PRIVATE_ADDRESSES: 'sandbox',
  };
  const api = await startBenchApi(supervisor, loading, temporal, 'api', settings, main('apiMain.ts'));
  await startBenchWorker(supervisor, api, temporal, main('workerMain.ts'));

  const liveBankSql = connect(liveBankUrl, { connectionsMax: 4 });
  const bank = openLiveBank(
    liveBankSql,
    parseKeyring(KEYS),
    createLog('bench', 'silent'),
    `${api.liveUrl}/rails/sandbox/callbacks`,
  );
  const clock = bank.clock();
  clock.start();
  const liveBank: ClientBank = {
    sql: liveBankSql,
    credit: ({ book: { book } }, accountNumber, amount) =>
      bank.receiveCredit({
        organisationId: book.organisationId,
        sessionId: crypto.randomUUID(),
        accountNumber,
        amount,
        senderName: null,
        senderAccountNumber: null,
        senderBankCode: null,
      }),
  };

  const receivers: Receiver[] = [];
  const probed = async (client: Client, hasEndpoint: boolean): Promise<Probed> => {
    const receiver = hasEndpoint ? await startReceiver('accepts') : null;
    if (receiver !== null) {
      receivers.push(receiver);
      await client.post('/webhook-endpoints', { url: receiver.url });
    }
    return { client, watch: new Watch(client), receiver };
  };
  const bare = await startBaselineWorker(temporal);
  const stack: Stack = {
    loading: await probed(new Client(api.url, api.authorization, loading, sandboxBank(loading.sql)), false),
    other: await probed(new Client(api.url, await createAuthorization(other), other, sandboxBank(other.sql)), true),
    // Without an endpoint: private addresses are refused in the live environment.
    live: await probed(new Client(api.liveUrl, await createAuthorization(live), live, liveBank), false),
    backlog: () => backlogOf(bare),
    timersPerSecond: bare.timersPerSecond,
    scale,
  };
  return {
    ...stack,
    close: async () => {
      await Promise.all([stack.loading, stack.other, stack.live].map(({ watch }) => watch.stop()));
      await Promise.all(receivers.map((receiver) => receiver.close()));
      await clock.stop();
      await bare.close();
      await liveBankSql.end({ timeout: 5 });
      await Promise.all([loading, other, live].map((book) => book.close()));
    },
  };
}

const main = (file: string): URL => new URL(file, import.meta.url);

/** Tasks that wait in the queues of the service, as far as the server knows. */
async function backlogOf({ client }: BaselineWorker): Promise<number> {
  let count = 0;
  for (const name of taskQueuesOf(TASK_QUEUE)) {
    for (const taskQueueType of [WORKFLOW_TASKS, ACTIVITY_TASKS]) {
      const { stats } = await client.workflowService.describeTaskQueue({
        namespace: DEFAULT_NAMESPACE,
        taskQueue: { name },
        taskQueueType,
        reportStats: true,
      });
      count += Number(stats?.approximateBacklogCount ?? 0);
    }
  }
  return count;
}
