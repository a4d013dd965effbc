// From nothing to a settled payment and its verified webhook: `npm run example` in the repository; elsewhere, with the
// import from '@manilla/client', `MANILLA_URL=… MANILLA_KEY=… node example.ts`.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createManilla, dataOf, type Event, ManillaError, pagesOf, verifyWebhook } from './src/index.ts';

const started = Date.now();
let steps = 0;
function printStep(what: string): void {
  steps += 1;
  console.log(`${steps}. ${what}`);
}
/** Amounts are whole kobo. */
const naira = (kobo: number) => `₦${(kobo / 100).toLocaleString('en', { minimumFractionDigits: 2 })}`;

const client = createManilla({
  baseUrl: process.env.MANILLA_URL ?? 'http://127.0.0.1:8080/v1',
  apiKey: process.env.MANILLA_KEY ?? '',
});

// The receiver of webhooks. The secret is known once the endpoint is registered.
let secret = '';
const settled = Promise.withResolvers<Extract<Event, { type: 'payment.completed' }>>();
const server = createServer((request, response) => {
  void text(request).then((rawBody) => {
    try {
      const event = verifyWebhook(secret, rawBody, request.headers);
      response.writeHead(200).end();
      if (event.type === 'payment.completed') settled.resolve(event);
    } catch {
      response.writeHead(400).end();
    }
  });
});
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve);
});
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
const endpoint = await dataOf(client.POST('/webhook-endpoints', { body: { url, eventTypes: ['payment.completed'] } }));
secret = endpoint.secret;
printStep(`A webhook endpoint, ${url}`);

// A customer with a wallet, and a payment into it.
const wallet = await dataOf(client.POST('/wallets', { body: { email: 'ada@example.com', fullName: 'Ada Obi' } }));
const params = { path: { id: wallet.id } };
const { kycStatus } = await dataOf(
  client.POST('/wallets/{id}/kyc', {
    params,
    body: {
      bvn: '12345678901',
      dateOfBirth: '1990-05-17',
      gender: 'female',
      phone: '+2348012345678',
      addressLine1: '1 Marina',
      city: 'Lagos',
      state: 'Lagos',
    },
  }),
);
printStep(`A wallet of Ada Obi, ${kycStatus} with her KYC details: ${wallet.id}`);
const payment = await dataOf(
  client.POST('/payments', {
    body: { method: 'bank_transfer', baseAmount: 200_000, targetWalletId: wallet.id, description: 'Order 1' },
  }),
);
const accountNumber = payment.virtualAccount?.accountNumber ?? '';
printStep(`A payment of ${naira(payment.baseAmount)} into it, ${payment.status}: ${payment.id}`);
console.log(`   account to pay to: ${accountNumber}; amount with the fee: ${naira(payment.payableAmount)}`);
console.log(`   page for the payer: ${payment.checkoutUrl}`);

// In the sandbox, the payer is a request.
await dataOf(client.POST('/simulations/inbound-credits', { body: { accountNumber, amount: payment.payableAmount } }));
printStep('The payer has paid');
const silence = setTimeout(() => settled.reject(new Error('No webhook came within a minute.')), 60_000);
const { type, data } = await settled.promise;
clearTimeout(silence);
printStep(`The webhook ${type} came, with a valid signature: ${data.status}, fee ${naira(data.fee)}`);
const seconds = (Date.now() - started) / 1000;

const { balance } = await dataOf(client.GET('/wallets/{id}/balance', { params }));
printStep(`The balance of the wallet: ${naira(balance)}`);

// Every entry of the statement, over all pages.
const statement = pagesOf((cursor) =>
  client.GET('/wallets/{id}/transactions', { params: { ...params, query: { limit: 1, ...(cursor && { cursor }) } } }),
);
for await (const line of statement) printStep(`Its statement: ${line.direction} ${naira(line.amount)}, ${line.kind}`);

// Errors are exceptions with a code.
try {
  await dataOf(
    client.POST('/wallets/{id}/transfer', { params, body: { destinationWalletId: wallet.id, amount: 9_000_000 } }),
  );
} catch (error) {
  if (!(error instanceof ManillaError)) throw error;
  printStep(`A transfer to itself is refused: ${error.code}, ${error.helpUrl}`);
}

await dataOf(client.DELETE('/webhook-endpoints/{id}', { params: { path: { id: endpoint.id } } }));
server.close();
console.log(`\nFrom nothing to a settled payment and its verified webhook in ${seconds.toFixed(1)} s.`);
