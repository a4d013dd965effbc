// From nothing to a settled payment and its verified webhook: `MANILLA_URL=… MANILLA_KEY=… node example.ts`, with the
// address and key that `npm start` prints.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createManilla, dataOf, type Event, ManillaError, pagesOf, verifyWebhook } from './src/index.ts';

const client = createManilla({
  baseUrl: process.env.MANILLA_URL ?? 'http://127.0.0.1:8080/v1',
  apiKey: process.env.MANILLA_KEY ?? '',
});

// The receiver of webhooks. The secret is known once the endpoint is registered.
let secret = '';
const settled = Promise.withResolvers<Event>();
const server = createServer((request, response) => {
  void text(request).then((rawBody) => {
    try {
      const event = verifyWebhook(secret, rawBody, request.headers);
      response.writeHead(200).end();
      if (event.type === 'payment.settled') settled.resolve(event);
    } catch {
      response.writeHead(400).end();
    }
  });
});
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve);
});
const endpoint = await dataOf(
  client.POST('/webhook-endpoints', {
    body: { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, eventTypes: ['payment.settled'] },
  }),
);
secret = endpoint.secret;

// A customer with a wallet, and a payment into it.
const wallet = await dataOf(client.POST('/wallets', { body: { email: 'ada@example.com', fullName: 'Ada Obi' } }));
const params = { path: { id: wallet.id } };
await dataOf(
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
const payment = await dataOf(
  client.POST('/payments', {
    body: { method: 'bank_transfer', baseAmount: 200_000, targetWalletId: wallet.id, description: 'Order 1' },
  }),
);

// In the sandbox, the payer is a request.
await dataOf(
  client.POST('/simulations/inbound-credits', {
    body: { accountNumber: payment.virtualAccount?.accountNumber ?? '', amount: payment.payableAmount },
  }),
);
console.log('webhook:', (await settled.promise).data);
console.log('balance:', (await dataOf(client.GET('/wallets/{id}/balance', { params }))).balance);

// Every entry of the statement, over all pages.
const statement = pagesOf((cursor) =>
  client.GET('/wallets/{id}/transactions', { params: { ...params, query: { limit: 1, ...(cursor && { cursor }) } } }),
);
for await (const line of statement) console.log('statement:', line.direction, line.amount, line.kind);

// Errors are exceptions with a code.
try {
  await dataOf(
    client.POST('/wallets/{id}/transfer', { params, body: { destinationWalletId: wallet.id, amount: 9_000_000 } }),
  );
} catch (error) {
  if (!(error instanceof ManillaError)) throw error;
  console.log('refused:', error.code, error.helpUrl);
}

await dataOf(client.DELETE('/webhook-endpoints/{id}', { params: { path: { id: endpoint.id } } }));
server.close();
