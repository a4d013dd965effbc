// `npm run demo`: walks the money flows against the running service and prints each step, as an integrator would do it:
// over HTTP, with the printed key, and with a webhook receiver of its own.
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { stateFolderPath } from '../src/cli/settings.ts';
import { type Quickstart, StateFolder } from './stateFolder.ts';

interface Answer {
  success: boolean;
  statusCode: number;
  // biome-ignore lint/suspicious/noExplicitAny: the demo reads the answers as an integrator's script would
  data: any;
  error?: { code: string; message: string };
}

const WAIT_MS = 15_000;
const POLL_MS = 100;

const naira = (kobo: number): string => `NGN ${(kobo / 100).toLocaleString('en-NG', { minimumFractionDigits: 2 })}`;

let steps = 0;
function say(what: string, detail = ''): void {
  steps += 1;
  console.log(`${String(steps).padStart(2)}. ${what}${detail && `\n    ${detail}`}`);
}

function readQuickstart(): Quickstart {
  const home = new StateFolder(stateFolderPath());
  const quickstart = home.quickstart();
  if (quickstart !== undefined) return quickstart;
  throw new Error(
    `There is no ${home.path('quickstart.json')}. Run \`npm start\` in another terminal first, with the same MANILLA_HOME.`,
  );
}

function createCaller({ sandboxBaseUrl, testApiKey }: Quickstart) {
  return async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const response = await fetch(`${sandboxBaseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${testApiKey}`,
        ...(body !== undefined && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Answer;
    if (!answer.success) throw new Error(`${method} ${path}: ${answer.error?.code}: ${answer.error?.message}`);
    return answer;
  };
}

/** A receiver as an integrator would write it: it keeps only what its secret verifies. */
async function startReceiver() {
  const received: { type: string; data: Record<string, unknown> }[] = [];
  let webhook: Webhook | null = null;
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      try {
        const event = webhook?.verify(Buffer.concat(chunks), request.headers as Record<string, string>);
        received.push(event as (typeof received)[number]);
        response.writeHead(204).end();
      } catch {
        response.writeHead(400).end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    trust: (secret: string) => {
      webhook = new Webhook(secret);
    },
    find: (type: string, id: string) => received.find((event) => event.type === type && event.data.id === id),
    close: () => server.close(),
  };
}

async function until<Found>(what: string, look: () => Promise<Found | undefined> | Found | undefined): Promise<Found> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (Date.now() > deadline) throw new Error(`waited ${WAIT_MS / 1000} s in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

type Call = ReturnType<typeof createCaller>;
type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** What each chapter of the demo works with. */
interface Stage {
  call: Call;
  receiver: Receiver;
  flowLink: (id: string) => string;
}

async function createTier1Wallet(call: Call, email: string, fullName: string): Promise<string> {
  const { data } = await call('POST', '/wallets', { email, fullName });
  await call('POST', `/wallets/${data.id}/kyc`, {
    bvn: '12345678901',
    dateOfBirth: '1990-05-17',
    gender: 'female',
    phone: '+2348012345678',
    addressLine1: '1 Marina',
    city: 'Lagos',
    state: 'Lagos',
  });
  return data.id;
}

/** The resource once its status is one of these. */
const untilStatus = ({ call }: Stage, path: string, ...statuses: string[]) =>
  until(`${path} to be ${statuses.join(' or ')}`, async () => {
    const { data } = await call('GET', path);
    return statuses.includes(data.status) ? data : undefined;
  });

async function sayBalance({ call }: Stage, whose: string, walletId: string): Promise<void> {
  const { data } = await call('GET', `/wallets/${walletId}/balance`);
  say(`${whose} balance is ${naira(data.balance)}`);
}

async function sayWebhook({ receiver }: Stage, type: string, id: string): Promise<void> {
  const event = await until(`the webhook ${type}`, () => receiver.find(type, id));
  say(`The webhook ${event.type} arrived, and its signature is good`, JSON.stringify(event.data));
}

/** A payer transfers to a payment's own account number; the wallet gets the money, the service its fee. */
async function collect(stage: Stage, walletId: string): Promise<string> {
  const { call, flowLink } = stage;
  const payment = await call('POST', '/payments', {
    method: 'bank_transfer',
    baseAmount: 200_000,
    targetWalletId: walletId,
    description: 'Demo',
  });
  const { id, payableAmount, virtualAccount } = payment.data;
  say(`A payment of ${naira(200_000)}; the payer is to transfer ${naira(payableAmount)}`, id);
  say(`Its own account number: ${virtualAccount.accountNumber}, ${virtualAccount.bankName}`, flowLink(id));
  await call('POST', '/simulations/inbound-credits', {
    accountNumber: virtualAccount.accountNumber,
    amount: payableAmount,
  });
  say(`The sandbox bank receives ${naira(payableAmount)} and will tell us a moment later`);
  const settled = await untilStatus(stage, `/payments/${id}`, 'settled');
  say(`The payment is ${settled.status}`, `received ${naira(settled.amountReceived)}, fee ${naira(settled.fee)}`);
  await sayBalance(stage, "Ada's", walletId);
  await sayWebhook(stage, 'payment.settled', id);
  return id;
}

/** Money moves between two wallets, and a wallet pays a payment. */
async function moveBetweenWallets({ call }: Stage, ada: string, bola: string): Promise<void> {
  const transfer = await call('POST', `/wallets/${ada}/transfer`, { destinationWalletId: bola, amount: 30_000 });
  say(`Ada transfers ${naira(30_000)} to Bola: ${transfer.data.status}`, transfer.data.id);
  const payment = await call('POST', '/payments', {
    method: 'virtual_wallet',
    baseAmount: 10_000,
    targetWalletId: ada,
  });
  const paid = await call('POST', `/wallets/${bola}/pay`, { paymentId: payment.data.id });
  say(`Bola pays ${naira(10_000)} from his wallet: ${paid.data.status}`, payment.data.id);
}

/** One withdrawal that the bank makes, and one that it rejects. */
async function withdraw(stage: Stage, walletId: string): Promise<void> {
  const { call, flowLink } = stage;
  const ask = (accountNumber: string) =>
    call('POST', `/wallets/${walletId}/withdraw`, { amount: 50_000, accountNumber, bankCode: '058' });
  const made = await ask('0123456789');
  say(
    `Ada withdraws ${naira(50_000)} to ${made.data.counterparty.accountName}, fee ${naira(made.data.fee)}`,
    flowLink(made.data.id),
  );
  say(`The withdrawal is ${(await untilStatus(stage, `/withdrawals/${made.data.id}`, 'completed')).status}`);
  await sayWebhook(stage, 'withdrawal.completed', made.data.id);
  const rejected = await ask('9999999001');
  const failed = await untilStatus(stage, `/withdrawals/${rejected.data.id}`, 'failed');
  say(`Another one is ${failed.status} (${failed.failureReason}); amount and fee are back`, flowLink(failed.id));
  await sayBalance(stage, "Ada's", walletId);
}

async function refund(stage: Stage, paymentId: string): Promise<void> {
  const { data } = await stage.call('POST', `/payments/${paymentId}/refund`, { amount: 20_000, reason: 'Demo' });
  const done = await untilStatus(stage, `/refunds/${data.id}`, 'completed');
  say(
    `${naira(20_000)} of the payment are refunded to the payer's bank account: ${done.status}`,
    stage.flowLink(data.id),
  );
}

/** Three disbursements in one call; the one that the bank rejects leaves the others alone. */
async function payOut(stage: Stage, ada: string, bola: string): Promise<void> {
  const { data } = await stage.call('POST', '/payouts', {
    sourceWalletId: ada,
    items: [
      { amount: 10_000, reference: 'to-a-bank', bankAccount: { accountNumber: '0123456789', bankCode: '058' } },
      { amount: 10_000, reference: 'to-bola', destinationWalletId: bola },
      { amount: 10_000, reference: 'rejected', bankAccount: { accountNumber: '9999999001', bankCode: '058' } },
    ],
  });
  say(
    `A payout of ${data.itemCount} items, ${naira(data.totalAmount)} and ${naira(data.totalFee)} fees`,
    stage.flowLink(data.id),
  );
  const done = await untilStatus(stage, `/payouts/${data.id}`, 'completed', 'partially_completed', 'failed');
  say(`The payout is ${done.status}: ${done.successCount} made, ${done.failureCount} failed and put back`);
  await sayBalance(stage, "Bola's", bola);
}

async function main(): Promise<void> {
  const quickstart = readQuickstart();
  const call = createCaller(quickstart);
  const receiver = await startReceiver();
  const stage: Stage = {
    call,
    receiver,
    flowLink: (id) => `${quickstart.temporalUiUrl}/namespaces/default/workflows/${id}`,
  };
  const endpoint = await call('POST', '/webhook-endpoints', { url: receiver.url });
  try {
    receiver.trust(endpoint.data.secret);
    say('A webhook endpoint listens on this machine', receiver.url);
    const ada = await createTier1Wallet(call, 'ada@example.com', 'Ada Obi');
    const bola = await createTier1Wallet(call, 'bola@example.com', 'Bola Ade');
    say('Wallets for Ada and Bola; with their details in, they may hold and move money', `${ada}\n    ${bola}`);
    const paymentId = await collect(stage, ada);
    await moveBetweenWallets(stage, ada, bola);
    await withdraw(stage, ada);
    await refund(stage, paymentId);
    await payOut(stage, ada, bola);
  } finally {
    await call('DELETE', `/webhook-endpoints/${endpoint.data.id}`);
    receiver.close();
  }
  console.log(`\nEvery flow is in the Temporal UI: ${quickstart.temporalUiUrl}`);
  console.log('`npm run cli -- ledger verify` proves that the books are whole.');
}

try {
  await main();
} catch (error) {
  console.error(`\nThe demo stopped: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
