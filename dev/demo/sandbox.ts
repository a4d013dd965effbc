// `npm run demo`: the money flows in the sandbox, against its simulated bank, with a webhook receiver.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { nairaText } from '../../src/money.ts';
import type { Quickstart } from '../stateFolder.ts';
import { until } from '../until.ts';
import {
  type Call,
  createCaller,
  createTier1Wallet,
  printBalance,
  printStep,
  untilStatus,
  WAIT_MS,
} from './integrator.ts';

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

type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** What each function of the demo works with. */
interface Demo {
  call: Call;
  receiver: Receiver;
  flowLink: (id: string) => string;
}

async function printWebhook({ receiver }: Demo, type: string, id: string): Promise<void> {
  const event = await until(`the webhook ${type}`, () => receiver.find(type, id), WAIT_MS);
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
  const { id, payableAmount, virtualAccount, checkoutUrl } = payment.data;
  printStep(`A payment of ${nairaText(200_000)}; the payer transfers ${nairaText(payableAmount)}`, id);
  printStep(
    `The account number of the payment: ${virtualAccount.accountNumber}, ${virtualAccount.bankName}`,
    `${flowLink(id)}\n    page for the payer: ${checkoutUrl}`,
  );
  await call('POST', '/simulations/inbound-credits', {
    accountNumber: virtualAccount.accountNumber,
    amount: payableAmount,
  });
  printStep(`The sandbox bank receives ${nairaText(payableAmount)} and sends its callback a moment later`);
  const settled = await untilStatus(demo.call, `/payments/${id}`, 'settled');
  printStep(
    `The payment is ${settled.status}`,
    `received ${nairaText(settled.amountReceived)}, fee ${nairaText(settled.fee)}`,
  );
  await printBalance(demo.call, "Ada's", walletId);
  await printWebhook(demo, 'payment.completed', id);
  return id;
}

/** A transfer between two wallets, and a payment from a wallet. */
async function moveBetweenWallets({ call }: Demo, ada: string, bola: string): Promise<void> {
  const transfer = await call('POST', `/wallets/${ada}/transfer`, { destinationWalletId: bola, amount: 30_000 });
  printStep(`Ada transfers ${nairaText(30_000)} to Bola: ${transfer.data.status}`, transfer.data.id);
  const payment = await call('POST', '/payments', {
    method: 'virtual_wallet',
    baseAmount: 10_000,
    targetWalletId: ada,
  });
  const paid = await call('POST', `/wallets/${bola}/pay`, { paymentId: payment.data.id });
  printStep(`Bola pays ${nairaText(10_000)} from his wallet: ${paid.data.status}`, payment.data.id);
}

/** One withdrawal that the bank completes, and one that it rejects. */
async function withdraw(demo: Demo, walletId: string): Promise<void> {
  const { call, flowLink } = demo;
  const request = (accountNumber: string) =>
    call('POST', `/wallets/${walletId}/withdraw`, { amount: 50_000, accountNumber, bankCode: '058' });
  const accepted = await request('0123456789');
  printStep(
    `Ada withdraws ${nairaText(50_000)} to ${accepted.data.counterparty.accountName}, fee ${nairaText(accepted.data.fee)}`,
    flowLink(accepted.data.id),
  );
  printStep(
    `The withdrawal is ${(await untilStatus(demo.call, `/withdrawals/${accepted.data.id}`, 'completed')).status}`,
  );
  await printWebhook(demo, 'withdrawal.completed', accepted.data.id);
  const rejected = await request('9999999001');
  const failed = await untilStatus(demo.call, `/withdrawals/${rejected.data.id}`, 'failed');
  printStep(
    `Another withdrawal is ${failed.status} (${failed.failureReason}); amount and fee are returned to the wallet`,
    flowLink(failed.id),
  );
  await printBalance(demo.call, "Ada's", walletId);
}

async function refund(demo: Demo, paymentId: string): Promise<void> {
  const { data } = await demo.call('POST', `/payments/${paymentId}/refund`, { amount: 20_000, reason: 'Demo' });
  const done = await untilStatus(demo.call, `/refunds/${data.id}`, 'completed');
  printStep(`A refund of ${nairaText(20_000)} to the payer's bank account: ${done.status}`, demo.flowLink(data.id));
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
    `A payout of ${data.itemCount} items, ${nairaText(data.totalAmount)} and ${nairaText(data.totalFee)} fees`,
    demo.flowLink(data.id),
  );
  const done = await untilStatus(demo.call, `/payouts/${data.id}`, 'completed', 'partially_completed', 'failed');
  printStep(`The payout is ${done.status}: ${done.successCount} completed, ${done.failureCount} failed and refunded`);
  await printBalance(demo.call, "Bola's", bola);
}

export async function runSandboxDemo(quickstart: Quickstart): Promise<void> {
  const call = createCaller(quickstart.sandboxBaseUrl, quickstart.testApiKey);
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
