// What each scope can do with money, whatever the routes: for every place that money can go to, every way there of one
// or two calls is tried with a key of each scope, and what the database has afterwards decides.
import { randomInt } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import { requireUuid } from '../../src/ids.ts';
import { KEY_SCOPES, type KeyScope, SCOPES, type Scope } from '../../src/resources/keys.ts';
import { type Client, startTestApi } from '../support/api.ts';
import { creditPayment } from '../support/creditPayment.ts';
import { openCase } from '../support/reviewCases.ts';

const api = await startTestApi();
const { organisation } = api;
const { organisationId } = organisation;

afterAll(() => api.close());

const AMOUNT = 1_000;
const newAccount = () => ({ accountNumber: String(randomInt(1_000_000_000, 9_000_000_000)), bankCode: '058' });

type Account = ReturnType<typeof newAccount>;

/** A payment to the wallet. The first accounts have paid these amounts, the last one the rest. */
async function paidByBank(targetWalletId: string, last: Account, earlier: [Account, number][] = []): Promise<string> {
  const body = { method: 'bank_transfer', baseAmount: AMOUNT, targetWalletId };
  const { data } = await api.test.money('/payments', body);
  const book = { organisationId, environment: 'test' } as const;
  const rest = Number(data.payableAmount) - earlier.reduce((sum, [, amount]) => sum + amount, 0);
  for (const [account, amount] of [...earlier, [last, rest] as const]) {
    await creditPayment(api, book, requireUuid('payment', data.id), amount, account);
  }
  return data.id;
}

/** A wallet with money, and where someone may want it. */
async function prepare() {
  const [wallet, other] = [await api.createWallet(undefined, { balance: 100 * AMOUNT }), await api.createWallet()];
  const bill = async (targetWalletId: string): Promise<string> =>
    (await api.test.money('/payments', { method: 'virtual_wallet', baseAmount: AMOUNT, targetWalletId })).data.id;
  const [account, payer, sender] = [newAccount(), newAccount(), newAccount()];
  const paidByWallet = await bill(wallet);
  const paying = await api.createWallet(undefined, { balance: AMOUNT });
  await api.test.money(`/wallets/${paying}/pay`, { paymentId: paidByWallet });
  return {
    wallet,
    other,
    /** To `other`, not paid yet. */
    bill: await bill(other),
    /** To `wallet`. */
    paidByBank: await paidByBank(wallet, payer),
    paidByWallet,
    paying,
    /** A bank account that has paid nothing. */
    account,
    payer,
    sender,
    /** Of money that came for `wallet` from `sender`. */
    reviewCase: await openCase(api, organisation, wallet, { amount: AMOUNT, sender: sender.accountNumber }),
    balance: await api.balanceOf(wallet),
  };
}

type Prepared = Awaited<ReturnType<typeof prepare>>;
type Way = (client: Client, prepared: Prepared) => Promise<unknown>;

interface Effect {
  effect: string;
  /** Each of them suffices. */
  scopes: readonly Scope[];
  ways: Readonly<Record<string, Way>>;
  hasHappened: (prepared: Prepared) => Promise<boolean>;
}

async function isOnItsWayTo({ accountNumber }: Account): Promise<boolean> {
  const rows = await api.sql`
    SELECT FROM withdrawals WHERE account_number = ${accountNumber}
    UNION ALL SELECT FROM refunds WHERE account_number = ${accountNumber}
    UNION ALL SELECT FROM payout_items WHERE account_number = ${accountNumber}`;
  return rows.length > 0;
}

const isCredited = async ({ other }: Prepared): Promise<boolean> => {
  const id = requireUuid('wallet', other);
  const items = await api.sql`SELECT FROM payout_items WHERE destination_wallet_id = ${id}`;
  return items.length > 0 || (await api.balanceOf(other)) > 0;
};

const withdraw: Way = (client, { wallet, account }) =>
  client.money(`/wallets/${wallet}/withdraw`, { amount: AMOUNT, ...account });
const transfer: Way = (client, { wallet, other }) =>
  client.money(`/wallets/${wallet}/transfer`, { amount: AMOUNT, destinationWalletId: other });
const pay: Way = (client, { wallet, bill }) => client.money(`/wallets/${wallet}/pay`, { paymentId: bill });
const payOut = (client: Client, { wallet }: Prepared, to: object) =>
  client.money('/payouts', { sourceWalletId: wallet, items: [{ amount: AMOUNT, ...to }] });
const resolve = (client: Client, { reviewCase }: Prepared, decision: object) =>
  client.money(`/review-cases/${reviewCase}/resolve`, { reason: 'the customer called', ...decision });

/** With a key that the key has made for itself. */
const withNewKey =
  (scope: Scope, way: Way): Way =>
  async (client, prepared) => {
    const { data } = await client.post('/api-keys', { scopes: [scope] });
    if (data !== undefined) await way(api.client(String(data.key)), prepared);
  };

const EFFECTS: readonly Effect[] = [
  {
    effect: 'from a wallet to any bank account',
    scopes: ['wallet', 'payout'],
    ways: {
      'a withdrawal': withdraw,
      'a payout': (client, prepared) => payOut(client, prepared, { bankAccount: prepared.account }),
      'a refund of what another account paid': (client, { paidByBank, account }) =>
        client.money(`/payments/${paidByBank}/refund`, { bankAccount: account }),
      'a refund of what a wallet paid': (client, { paidByWallet, account }) =>
        client.money(`/payments/${paidByWallet}/refund`, { destination: 'bank', bankAccount: account }),
      'a payment from the wallet, then its refund': async (client, prepared) => {
        await pay(client, prepared);
        const { bill, account } = prepared;
        await client.money(`/payments/${bill}/refund`, { destination: 'bank', bankAccount: account });
      },
      'a refund from the wallet by name': (client, { paidByBank, wallet, account }) =>
        client.money(`/payments/${paidByBank}/refund`, {
          from: [{ walletId: wallet, amount: AMOUNT }],
          bankAccount: account,
        }),
      'a payment from the wallet, then a refund that the wallet funds': async (client, prepared) => {
        await pay(client, prepared);
        const { wallet, bill, account } = prepared;
        const body = { fundedBy: wallet, destination: 'bank', bankAccount: account };
        await client.money(`/payments/${bill}/refund`, body);
      },
      'a new key, then a withdrawal': withNewKey('wallet', withdraw),
    },
    hasHappened: ({ account }) => isOnItsWayTo(account),
  },
  {
    effect: 'from a wallet back to the bank account that paid',
    scopes: ['payment'],
    ways: {
      'a refund that names no account': (client, { paidByBank }) => client.money(`/payments/${paidByBank}/refund`, {}),
      'a refund that names the account': (client, { paidByBank, payer }) =>
        client.money(`/payments/${paidByBank}/refund`, { bankAccount: payer }),
    },
    hasHappened: ({ payer }) => isOnItsWayTo(payer),
  },
  {
    effect: 'from a wallet back to the wallet that paid',
    scopes: ['payment'],
    ways: {
      'a refund': (client, { paidByWallet }) => client.money(`/payments/${paidByWallet}/refund`, {}),
    },
    hasHappened: async ({ paying }) => (await api.balanceOf(paying)) > 0,
  },
  {
    effect: 'from a wallet to another wallet',
    scopes: ['transfer', 'payment', 'payout'],
    ways: {
      'a transfer': transfer,
      'a payment': pay,
      'a payout': (client, prepared) => payOut(client, prepared, { destinationWalletId: prepared.other }),
      'a transfer that is held, then its release': async (client, { wallet, other }) => {
        const body = { amount: AMOUNT, destinationWalletId: other, hold: { release: 'manual' } };
        const { data } = await client.money(`/wallets/${wallet}/transfer`, body);
        if (data !== undefined) await client.money(`/holds/${String(data.holdId)}/release`, {});
      },
      'a payment of which the other wallet is a split': async (client, { wallet, other }) => {
        const { data } = await client.money('/payments', {
          method: 'virtual_wallet',
          baseAmount: AMOUNT,
          targetWalletId: organisation.settlementWalletId,
          splits: [{ walletId: other, basisPoints: 5_000 }],
        });
        if (data !== undefined) await client.money(`/wallets/${wallet}/pay`, { paymentId: data.id });
      },
      'a new key, then a transfer': withNewKey('transfer', transfer),
    },
    hasHappened: isCredited,
  },
  {
    effect: 'from review to the wallet that it was for',
    scopes: ['review'],
    ways: { 'a decision': (client, prepared) => resolve(client, prepared, { action: 'credit' }) },
    hasHappened: async ({ wallet, balance }) => (await api.balanceOf(wallet)) > balance,
  },
  {
    effect: 'from review to its sender',
    scopes: ['review'],
    ways: { 'a decision': (client, prepared) => resolve(client, prepared, { action: 'return_to_sender' }) },
    hasHappened: async ({ reviewCase }) => {
      const { data } = await api.test.get(`/review-cases/${reviewCase}`);
      return data.status !== 'open';
    },
  },
  {
    effect: 'from review to any wallet',
    scopes: [],
    ways: {
      'a decision': (client, prepared) => resolve(client, prepared, { action: 'credit', walletId: prepared.other }),
    },
    hasHappened: isCredited,
  },
];

const createClient = async (scopes: readonly KeyScope[]) =>
  api.client((await api.createKey(organisationId, { scopes })).key);

const READS = KEY_SCOPES.filter((scope) => scope.endsWith(':read'));

describe.each(EFFECTS)('$effect', ({ scopes, ways, hasHappened }) => {
  const enough = SCOPES.filter((scope) => scopes.includes(scope));
  const others = SCOPES.filter((scope) => !scopes.includes(scope));

  test.each(Object.entries(ways))('a key with all scopes: %s', async (_name, way) => {
    const prepared = await prepare();
    await way(api.test, prepared);
    expect(await hasHappened(prepared)).toBe(scopes.length > 0);
  });

  test.each([
    ...enough.map((scope) => [true, [scope]] as const),
    ...others.map((scope) => [false, [scope]] as const),
    [false, [...others, ...READS]] as const,
  ])('possible: %s with the scopes %s, in any way', async (isPossible, held) => {
    const prepared = await prepare();
    const client = await createClient(held);
    for (const way of Object.values(ways)) await way(client, prepared);
    expect(await hasHappened(prepared)).toBe(isPossible);
  });
});

test('an account that paid a part gets back no more than that, unless the key has the scope wallet', async () => {
  const account = newAccount();
  const paymentId = await paidByBank(await api.createWallet(), newAccount(), [[account, 600]]);
  const refund = async (amount: number, scopes: Scope[]) =>
    (await createClient(scopes)).money(`/payments/${paymentId}/refund`, { amount, bankAccount: account });
  expect((await refund(500, ['payment'])).status).toBe(201);
  const { status, error } = await refund(101, ['payment']);
  expect([status, error.code, error.details.requiredScopes]).toEqual([403, 'API_KEY_SCOPE_FORBIDDEN', ['wallet']]);
  expect((await refund(100, ['payment'])).status).toBe(201);
  expect((await refund(101, ['payment', 'wallet'])).status).toBe(201);
});
