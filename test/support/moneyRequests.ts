// A valid and a refused request for each POST route that moves money, so that their common properties are tested on
// each.
import type { Client, TestApi, TestOrganisation } from './api.ts';
import { openCase } from './reviewCases.ts';

export interface MoneyRequest {
  path: string;
  body: Record<string, unknown>;
}

export interface MoneyRoute {
  /** The status on success. */
  status: number;
  /** Prepares a new request that succeeds. */
  good: () => Promise<MoneyRequest>;
  /** Prepares a request that is refused with 422. `repair` changes the state so that it succeeds; if one can. */
  refused?: () => Promise<MoneyRequest & { repair: () => Promise<unknown> }>;
  /** A body that fails validation. */
  invalid: Record<string, unknown>;
  /** Changes to a valid body that result in another valid body. */
  change: Record<string, unknown>;
}

const BANK_ACCOUNT = { accountNumber: '0123456789', bankCode: '058' };

/** The routes by name. API tests run without a worker, so flows that these requests start do not progress. */
export function moneyRoutes(
  api: TestApi,
  organisation: TestOrganisation = api.organisation,
): Record<string, MoneyRoute> {
  const client: Client = organisation.test;
  const wallet = (balance = 0) => api.createWallet(client, balance > 0 ? { balance } : {});
  const fund = (walletId: string) => api.fund(organisation.organisationId, walletId, 10_000);

  const bill = async (): Promise<string> => {
    const body = { method: 'virtual_wallet', baseAmount: 100, targetWalletId: await wallet() };
    return (await client.money('/payments', body)).data.id;
  };
  const pay = async (paymentId: string): Promise<unknown> =>
    client.money(`/wallets/${await wallet(100)}/pay`, { paymentId });
  const transfer = async (source: string): Promise<MoneyRequest> => ({
    path: `/wallets/${source}/transfer`,
    body: { amount: 10, destinationWalletId: await wallet() },
  });
  const withdraw = (source: string): MoneyRequest => ({
    path: `/wallets/${source}/withdraw`,
    body: { amount: 10, ...BANK_ACCOUNT },
  });
  const payFrom = async (walletId: string): Promise<MoneyRequest> => ({
    path: `/wallets/${walletId}/pay`,
    body: { paymentId: await bill() },
  });
  const payment = (targetWalletId: string): MoneyRequest => ({
    path: '/payments',
    body: { method: 'bank_transfer', baseAmount: 1_000, targetWalletId },
  });
  const refund = (paymentId: string): MoneyRequest => ({
    path: `/payments/${paymentId}/refund`,
    body: { amount: 10, destination: 'wallet' },
  });
  const payout = (sourceWalletId: string): MoneyRequest => ({
    path: '/payouts',
    body: { sourceWalletId, items: [{ amount: 10, bankAccount: BANK_ACCOUNT }] },
  });

  const hold = async (body: object = {}): Promise<string> => {
    const path = `/wallets/${await wallet(1_000)}/transfer`;
    const held = { amount: 100, destinationWalletId: await wallet(), hold: { release: 'manual' }, ...body };
    return String((await client.money(path, held)).data.holdId);
  };
  /** A request about a hold whose wallet is frozen meanwhile. */
  const heldForFrozen = async () => {
    const destinationWalletId = await wallet();
    const id = await hold({ destinationWalletId });
    await api.setWalletStatus(destinationWalletId, 'frozen');
    return {
      path: `/holds/${id}/release`,
      body: { amount: 10 },
      repair: () => api.setWalletStatus(destinationWalletId, 'active'),
    };
  };

  const resolve = (reviewCaseId: string): MoneyRequest => ({
    path: `/review-cases/${reviewCaseId}/resolve`,
    body: { action: 'credit', reason: 'the customer called' },
  });

  type Make = (walletId: string) => MoneyRequest | Promise<MoneyRequest>;
  /** A request about a wallet that has nothing. */
  const unfunded = (make: Make) => async () => {
    const walletId = await wallet();
    return { ...(await make(walletId)), repair: () => fund(walletId) };
  };
  /** A request about a wallet that is frozen. */
  const frozen = (make: Make) => async () => {
    const walletId = await api.createWallet(client, { status: 'frozen' });
    return { ...(await make(walletId)), repair: () => api.setWalletStatus(walletId, 'active') };
  };

  return {
    'POST /wallets/:id/transfer': {
      status: 201,
      good: async () => await transfer(await wallet(1_000)),
      refused: unfunded(transfer),
      invalid: { amount: 0 },
      change: { amount: 11 },
    },
    'POST /holds/:id/release': {
      status: 200,
      good: async () => ({ path: `/holds/${await hold()}/release`, body: { amount: 10 } }),
      refused: heldForFrozen,
      invalid: { amount: 0 },
      change: { amount: 11 },
    },
    'POST /holds/:id/cancel': {
      status: 200,
      good: async () => ({ path: `/holds/${await hold()}/cancel`, body: {} }),
      invalid: { amount: 10 },
      change: {},
    },
    'POST /wallets/:id/withdraw': {
      status: 201,
      good: async () => withdraw(await wallet(10_000)),
      refused: unfunded(withdraw),
      invalid: { amount: 0 },
      change: { amount: 11 },
    },
    'POST /wallets/:id/pay': {
      status: 200,
      good: async () => await payFrom(await wallet(1_000)),
      refused: unfunded(payFrom),
      invalid: { paymentId: 5 },
      change: { paymentId: 'another' },
    },
    'POST /payments': {
      status: 201,
      good: async () => payment(await wallet()),
      refused: frozen(payment),
      invalid: { baseAmount: 0 },
      change: { baseAmount: 1_001 },
    },
    'POST /payments/:id/refund': {
      status: 201,
      good: async () => {
        const paymentId = await bill();
        await pay(paymentId);
        return refund(paymentId);
      },
      refused: async () => {
        const paymentId = await bill();
        return { ...refund(paymentId), repair: () => pay(paymentId) };
      },
      invalid: { amount: 0 },
      change: { amount: 11 },
    },
    'POST /payouts': {
      status: 202,
      good: async () => payout(await wallet(10_000)),
      refused: unfunded(payout),
      invalid: { items: [] },
      change: { items: [{ amount: 11, bankAccount: BANK_ACCOUNT }] },
    },
    'POST /review-cases/:id/resolve': {
      status: 200,
      good: async () => resolve(await openCase(api, organisation, await wallet())),
      refused: frozen(async (walletId) => resolve(await openCase(api, organisation, walletId))),
      invalid: { action: 'nothing' },
      change: { reason: 'another' },
    },
  };
}

/** Row counts of an organisation by table. Repeats of a request must not increase them. */
export async function written(api: TestApi, organisation: TestOrganisation): Promise<Record<string, number>> {
  const tables = [
    'ledger.transactions',
    'ledger.postings',
    'payments',
    'virtual_accounts',
    'transfers',
    'holds',
    'withdrawals',
    'refunds',
    'payouts',
    'payout_items',
    'review_cases',
    'events',
    'outbox',
    'wallets',
    'wallet_kyc',
    'webhook_endpoints',
    'api_keys',
    'audit_log',
    'sandbox_bank.credits',
    'sandbox_bank.statement_lines',
  ];
  const counts = tables.map(
    (table) => `SELECT '${table}' AS name, count(*)::int AS number FROM ${table} WHERE organisation_id = $1`,
  );
  const rows = await api.sql.unsafe<{ name: string; number: number }[]>(counts.join(' UNION ALL '), [
    organisation.organisationId,
  ]);
  return Object.fromEntries(rows.map(({ name, number }) => [name, number]));
}

/** The difference of two row counts. */
export function added(before: Record<string, number>, after: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(after).map(([table, number]) => [table, number - (before[table] ?? 0)]));
}
