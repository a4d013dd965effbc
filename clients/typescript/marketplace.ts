// An order of a marketplace: commission, money held until delivery, a refund, payroll and the seller's statement:
// `npm run example -- marketplace` in the repository.
import { setTimeout } from 'node:timers/promises';
import { createManilla, dataOf, fileOf } from './src/index.ts';

const client = createManilla({
  baseUrl: process.env.MANILLA_URL ?? 'http://127.0.0.1:8080/v1',
  apiKey: process.env.MANILLA_KEY ?? '',
});

/** In production, wait for the webhook. */
async function until<Found extends { status: string }>(status: string, find: () => Promise<Found>): Promise<Found> {
  for (;;) {
    const found = await find();
    if (found.status === status) return found;
    await setTimeout(200);
  }
}

const identity = {
  bvn: '12345678901',
  dateOfBirth: '1990-05-17',
  gender: 'female',
  phone: '+2348012345678',
  addressLine1: '1 Marina',
  city: 'Lagos',
  state: 'Lagos',
} as const;

async function openWallet(email: string) {
  const { id } = await dataOf(client.POST('/wallets', { body: { email } }));
  await dataOf(client.POST('/wallets/{id}/kyc', { params: { path: { id } }, body: identity }));
  return id;
}

/** Prints what the wallets have by then, in kobo. */
async function printStep(what: string, ...wallets: [name: string, id: string][]): Promise<void> {
  const texts: string[] = [];
  for (const [name, id] of wallets) {
    const params = { path: { id } };
    const { balance } = await dataOf(client.GET('/wallets/{id}/balance', { params }));
    const { heldBalance } = await dataOf(client.GET('/wallets/{id}', { params }));
    texts.push(`${name} ${balance}${heldBalance > 0 ? ` and ${heldBalance} held` : ''}`);
  }
  console.log(`${what}: ${texts.join(', ')}`);
}

const commission = await openWallet('commission@market.example');
const seller = await openWallet('seller@market.example');

const payment = await dataOf(
  client.POST('/payments', {
    body: {
      method: 'bank_transfer',
      baseAmount: 100_000,
      targetWalletId: seller,
      hold: { release: 'manual' },
      splits: [{ walletId: commission, basisPoints: 1_000 }],
      reference: 'order-7',
    },
  }),
);
const accountNumber = payment.virtualAccount?.accountNumber ?? '';
await dataOf(client.POST('/simulations/inbound-credits', { body: { accountNumber, amount: payment.payableAmount } }));
const paid = { params: { path: { id: payment.id } } };
await until('settled', () => dataOf(client.GET('/payments/{id}', paid)));
await printStep('The buyer has paid', ['seller', seller], ['commission', commission]);

const [hold] = await dataOf(client.GET('/holds', { params: { query: { paymentId: payment.id } } }));
const held = { params: { path: { id: hold?.id ?? '' } } };
await dataOf(client.POST('/holds/{id}/release', { ...held, body: { amount: 60_000 } }));
await printStep('Three of four items arrived', ['seller', seller]);

const refund = await dataOf(
  client.POST('/payments/{id}/refund', { ...paid, body: { amount: 25_000, reason: 'One item did not arrive' } }),
);
await until('completed', () => dataOf(client.GET('/refunds/{id}', { params: { path: { id: refund.id } } })));
await dataOf(client.POST('/holds/{id}/release', { ...held, body: {} }));
await printStep('The buyer got one item refunded', ['seller', seller], ['commission', commission]);

const payout = await dataOf(
  client.POST('/payouts', {
    body: {
      sourceWalletId: seller,
      items: ['0123456789', '0123456780'].map((number) => ({
        amount: 10_000,
        bankAccount: { accountNumber: number, bankCode: '058' },
      })),
    },
  }),
);
await until('completed', () => dataOf(client.GET('/payouts/{id}', { params: { path: { id: payout.id } } })));
await printStep('Two people are paid', ['seller', seller]);

const month = new Date(Date.now() + 3_600_000).toISOString().slice(0, 7); // in Lagos
const statement = await fileOf(
  client.GET('/wallets/{id}/statements/{month}', {
    params: { path: { id: seller, month } },
    headers: { accept: 'text/csv' },
    parseAs: 'blob',
  }),
);
console.log(await statement.text());
