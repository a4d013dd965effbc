// `npm run demo`: runs the money flows against the running service and prints each step. It does what an integrator
// does: requests over HTTP, with the printed key, and a webhook receiver.
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { stateFolderPath } from '../src/cli/settings.ts';
import { type Quickstart, StateFolder } from './stateFolder.ts';

interface ApiResponse {
  success: boolean;
  statusCode: number;
  // biome-ignore lint/suspicious/noExplicitAny: the demo reads the responses as an integrator's script would
  data: any;
  error?: { code: string; message: string };
}

const WAIT_MS = 15_000;
const POLL_MS = 100;

const naira = (kobo: number): string => `NGN ${(kobo / 100).toLocaleString('en-NG', { minimumFractionDigits: 2 })}`;

let steps = 0;
function printStep(what: string, detail = ''): void {
  steps += 1;
  console.log(`${String(steps).padStart(2)}. ${what}${detail && `\n    ${detail}`}`);
}

function readQuickstart(): Quickstart {
  const stateFolder = new StateFolder(stateFolderPath());
  const quickstart = stateFolder.quickstart();
  if (quickstart !== undefined) return quickstart;
  throw new Error(
    `${stateFolder.path('quickstart.json')} does not exist. Run \`npm start\` in another terminal first, with the same MANILLA_HOME.`,
  );
}

function createCaller({ sandboxBaseUrl, testApiKey }: Quickstart) {
  return async (method: string, path: string, body?: unknown): Promise<ApiResponse> => {
    const response = await fetch(`${sandboxBaseUrl}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${testApiKey}`,
        ...(body !== undefined && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const result = (await response.json()) as ApiResponse;
    if (!result.success) throw new Error(`${method} ${path}: ${result.error?.code}: ${result.error?.message}`);
    return result;
  };
}

/** A webhook receiver as an integrator would write it: it accepts only events whose signature is valid. */
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

async function until<Result>(
  what: string,
  check: () => Promise<Result | undefined> | Result | undefined,
): Promise<Result> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const result = await check();
    if (result !== undefined) return result;
    if (Date.now() > deadline) throw new Error(`timed out after ${WAIT_MS / 1000} s waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

type Call = ReturnType<typeof createCaller>;
type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** What each function of the demo works with. */
interface Demo {
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

/** Returns the resource once it has one of these statuses. */
const untilStatus = ({ call }: Demo, path: string, ...statuses: string[]) =>
  until(`${path} to be ${statuses.join(' or ')}`, async () => {
    const { data } = await call('GET', path);
    return statuses.includes(data.status) ? data : undefined;
  });

async function printBalance({ call }: Demo, whose: string, walletId: string): Promise<void> {
  const { data } = await call('GET', `/wallets/${walletId}/balance`);
  printStep(`${whose} balance is ${naira(data.balance)}`);
}

async function printWebhook({ receiver }: Demo, type: string, id: string): Promise<void> {
  const event = await until(`the webhook ${type}`, () => receiver.find(type, id));
  printStep(`The webhook ${event.type} was received, with a valid signature`, JSON.stringify(event.data));
}

/** A payer transfers to the account number of a payment; the wallet is credited, less the service's fee. */
async function collect(demo: Demo, walletId: string): Promise<string> {
  const { call, flowLink } = demo;
  const payment = await call('POST', '/payments', {
    method: 'bank_transfer',
    baseAmount: 200_000,
    targetWalletId: walletId,
    description: 'Demo',
  });
  const { id, payableAmount, virtualAccount } = payment.data;
  printStep(`A payment of ${naira(200_000)}; the payer transfers ${naira(payableAmount)}`, id);
  printStep(
    `The account number of the payment: ${virtualAccount.accountNumber}, ${virtualAccount.bankName}`,
    flowLink(id),
  );
  await call('POST', '/simulations/inbound-credits', {
    accountNumber: virtualAccount.accountNumber,
    amount: payableAmount,
  });
  printStep(`The sandbox bank receives ${naira(payableAmount)} and sends its callback a moment later`);
  const settled = await untilStatus(demo, `/payments/${id}`, 'settled');
  printStep(`The payment is ${settled.status}`, `received ${naira(settled.amountReceived)}, fee ${naira(settled.fee)}`);
  await printBalance(demo, "Ada's", walletId);
  await printWebhook(demo, 'payment.settled', id);
  return id;
}

/** A transfer between two wallets, and a payment from a wallet. */
async function moveBetweenWallets({ call }: Demo, ada: string, bola: string): Promise<void> {
  const transfer = await call('POST', `/wallets/${ada}/transfer`, { destinationWalletId: bola, amount: 30_000 });
  printStep(`Ada transfers ${naira(30_000)} to Bola: ${transfer.data.status}`, transfer.data.id);
  const payment = await call('POST', '/payments', {
    method: 'virtual_wallet',
    baseAmount: 10_000,
    targetWalletId: ada,
  });
  const paid = await call('POST', `/wallets/${bola}/pay`, { paymentId: payment.data.id });
  printStep(`Bola pays ${naira(10_000)} from his wallet: ${paid.data.status}`, payment.data.id);
}

/** One withdrawal that the bank completes, and one that it rejects. */
async function withdraw(demo: Demo, walletId: string): Promise<void> {
  const { call, flowLink } = demo;
  const request = (accountNumber: string) =>
    call('POST', `/wallets/${walletId}/withdraw`, { amount: 50_000, accountNumber, bankCode: '058' });
  const accepted = await request('0123456789');
  printStep(
    `Ada withdraws ${naira(50_000)} to ${accepted.data.counterparty.accountName}, fee ${naira(accepted.data.fee)}`,
    flowLink(accepted.data.id),
  );
  printStep(`The withdrawal is ${(await untilStatus(demo, `/withdrawals/${accepted.data.id}`, 'completed')).status}`);
  await printWebhook(demo, 'withdrawal.completed', accepted.data.id);
  const rejected = await request('9999999001');
  const failed = await untilStatus(demo, `/withdrawals/${rejected.data.id}`, 'failed');
  printStep(
    `Another withdrawal is ${failed.status} (${failed.failureReason}); amount and fee are returned to the wallet`,
    flowLink(failed.id),
  );
  await printBalance(demo, "Ada's", walletId);
}

async function refund(demo: Demo, paymentId: string): Promise<void> {
  const { data } = await demo.call('POST', `/payments/${paymentId}/refund`, { amount: 20_000, reason: 'Demo' });
  const done = await untilStatus(demo, `/refunds/${data.id}`, 'completed');
  printStep(`A refund of ${naira(20_000)} to the payer's bank account: ${done.status}`, demo.flowLink(data.id));
}

/** A payout of three items in one request. One is rejected by the bank, which does not affect the others. */
async function payOut(demo: Demo, ada: string, bola: string): Promise<void> {
  const { data } = await demo.call('POST', '/payouts', {
    sourceWalletId: ada,
    items: [
      { amount: 10_000, reference: 'to-a-bank', bankAccount: { accountNumber: '0123456789', bankCode: '058' } },
      { amount: 10_000, reference: 'to-bola', destinationWalletId: bola },
      { amount: 10_000, reference: 'rejected', bankAccount: { accountNumber: '9999999001', bankCode: '058' } },
    ],
  });
  printStep(
    `A payout of ${data.itemCount} items, ${naira(data.totalAmount)} and ${naira(data.totalFee)} fees`,
    demo.flowLink(data.id),
  );
  const done = await untilStatus(demo, `/payouts/${data.id}`, 'completed', 'partially_completed', 'failed');
  printStep(`The payout is ${done.status}: ${done.successCount} completed, ${done.failureCount} failed and refunded`);
  await printBalance(demo, "Bola's", bola);
}

async function main(): Promise<void> {
  const quickstart = readQuickstart();
  const call = createCaller(quickstart);
  const receiver = await startReceiver();
  const demo: Demo = {
    call,
    receiver,
    flowLink: (id) => `${quickstart.temporalUiUrl}/namespaces/default/workflows/${id}`,
  };
  const endpoint = await call('POST', '/webhook-endpoints', { url: receiver.url });
  try {
    receiver.trust(endpoint.data.secret);
    printStep('A webhook endpoint on this machine', receiver.url);
    const ada = await createTier1Wallet(call, 'ada@example.com', 'Ada Obi');
    const bola = await createTier1Wallet(call, 'bola@example.com', 'Bola Ade');
    printStep('Wallets for Ada and Bola, raised to tier1 so that they can hold money', `${ada}\n    ${bola}`);
    const paymentId = await collect(demo, ada);
    await moveBetweenWallets(demo, ada, bola);
    await withdraw(demo, ada);
    await refund(demo, paymentId);
    await payOut(demo, ada, bola);
  } finally {
    await call('DELETE', `/webhook-endpoints/${endpoint.data.id}`);
    receiver.close();
  }
  console.log(`\nEvery flow is in the Temporal UI: ${quickstart.temporalUiUrl}`);
  console.log('`npm run cli -- ledger verify` verifies the ledger.');
}

try {
  await main();
} catch (error) {
  console.error(`\nThe demo failed: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
