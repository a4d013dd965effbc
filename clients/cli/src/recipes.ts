// How `trigger` makes each event happen in the sandbox: by the requests that an integrator sends, and the bank's
// simulated part. What only operators or days of failures cause is explained, not imitated.
import { dataOf, type Event, pagesOf } from '../../typescript/src/index.ts';
import { CommandError } from './failure.ts';
import { ACCOUNTS, partOf, type Stage } from './stage.ts';

/** The event that a recipe causes: by its id, or as the one of its type about a resource. */
type Caused = { eventId: string } | { resourceId: string };

interface Possible {
  summary: string;
  /** Whether `--partial` says anything. */
  takesPartial?: true;
  cause: (stage: Stage) => Promise<Caused>;
}

interface Impossible {
  summary: string;
  impossible: string;
}

export type Recipe = Possible | Impossible;

const BY_OPERATORS = 'An operator does that, with `npm run cli -- wallets` of the service.';

/** Complete by its type: an event that the API gains is a type error here. */
export const RECIPES: Readonly<Record<Event['type'], Recipe>> = {
  'payment.settled': {
    summary: 'a payment is paid; with --partial in part, and its status is partial',
    takesPartial: true,
    cause: async (stage) => {
      const { id, accountNumber, payableAmount } = await stage.payment(await stage.wallet());
      await stage.credit(accountNumber, stage.options.partial ? partOf(payableAmount) : payableAmount);
      return { resourceId: id };
    },
  },
  'payment.completed': {
    summary: 'a payment is paid in full',
    cause: async (stage) => ({ resourceId: (await stage.settledPayment()).id }),
  },
  'payment.expired': {
    summary: 'a payment expires; with --partial after a part was paid, which opens a review case too',
    takesPartial: true,
    cause: async (stage) => ({ resourceId: (await stage.expiredPayment(stage.options.partial)).id }),
  },
  'payment.cancelled': {
    summary: 'a payment is cancelled before any money comes',
    cause: async (stage) => {
      const { id } = await stage.payment(await stage.wallet());
      await dataOf(stage.client.POST('/payments/{id}/cancel', { params: { path: { id } }, body: {} }));
      return { resourceId: id };
    },
  },
  'payment.in_review': {
    summary: 'a payment expires with a part of its money',
    cause: async (stage) => ({ resourceId: (await stage.reviewCase()).paymentId }),
  },
  'payment.reviewed': {
    summary: 'the part of an expired payment is credited to its wallet',
    cause: async (stage) => ({ resourceId: (await creditedCase(stage)).paymentId }),
  },
  'payment.recalled': {
    summary: 'the bank takes back the money of a payment',
    cause: async (stage) => {
      const { id } = await stage.settledPayment();
      const { data } = await stage.client.GET('/payments/{id}/credits', { params: { path: { id } } });
      const params = { path: { sessionId: data?.data[0]?.sessionId ?? '' } };
      await dataOf(stage.client.POST('/simulations/inbound-credits/{sessionId}/recall', { params }));
      return { resourceId: id };
    },
  },
  'withdrawal.completed': {
    summary: 'the bank pays a withdrawal',
    cause: async (stage) => ({ resourceId: await stage.withdrawal(ACCOUNTS.completes) }),
  },
  'withdrawal.failed': {
    summary: 'the bank rejects a withdrawal',
    cause: async (stage) => ({ resourceId: await stage.withdrawal(ACCOUNTS.rejects) }),
  },
  'withdrawal.returned': {
    summary: 'the receiving bank returns a withdrawal',
    cause: async (stage) => ({ resourceId: await stage.withdrawal(ACCOUNTS.returns) }),
  },
  'transfer.completed': {
    summary: 'money moves between two wallets',
    cause: async (stage) => {
      const { amount } = stage.options;
      const { id } = await stage.fundedWallet(amount);
      const destinationWalletId = await stage.wallet();
      const request = { params: { path: { id } }, body: { destinationWalletId, amount } };
      return { resourceId: (await dataOf(stage.client.POST('/wallets/{id}/transfer', request))).id };
    },
  },
  'hold.created': {
    summary: 'a transfer is held for its destination',
    cause: async (stage) => ({ resourceId: await stage.hold() }),
  },
  'hold.released': {
    summary: 'held money is released; with --partial a part of it',
    takesPartial: true,
    cause: async (stage) => {
      const { amount, partial } = stage.options;
      const id = await stage.hold();
      const request = { params: { path: { id } }, body: partial ? { amount: partOf(amount) } : {} };
      await dataOf(stage.client.POST('/holds/{id}/release', request));
      return { resourceId: id };
    },
  },
  'hold.cancelled': {
    summary: 'held money goes back to the wallet that paid',
    cause: async (stage) => {
      const id = await stage.hold();
      await dataOf(stage.client.POST('/holds/{id}/cancel', { params: { path: { id } }, body: {} }));
      return { resourceId: id };
    },
  },
  'refund.completed': {
    summary: 'a settled payment is refunded to its payer',
    cause: async (stage) => ({ resourceId: await stage.refund(ACCOUNTS.completes) }),
  },
  'refund.failed': {
    summary: "the payer's bank rejects a refund",
    cause: async (stage) => ({ resourceId: await stage.refund(ACCOUNTS.rejects) }),
  },
  'payout.completed': {
    summary: 'both items of a payout are paid',
    cause: async (stage) => ({ resourceId: await stage.payout(ACCOUNTS.completes, ACCOUNTS.completes) }),
  },
  'payout.partially_completed': {
    summary: 'one item of a payout is paid, the other rejected',
    cause: async (stage) => ({ resourceId: await stage.payout(ACCOUNTS.completes, ACCOUNTS.rejects) }),
  },
  'payout.failed': {
    summary: 'the only item of a payout is rejected',
    cause: async (stage) => ({ resourceId: await stage.payout(ACCOUNTS.rejects) }),
  },
  'payout.item_completed': {
    summary: 'the bank pays an item of a payout',
    cause: async (stage) => ({ resourceId: await stage.payoutItem(ACCOUNTS.completes) }),
  },
  'payout.item_failed': {
    summary: 'the bank rejects an item of a payout',
    cause: async (stage) => ({ resourceId: await stage.payoutItem(ACCOUNTS.rejects) }),
  },
  'payout.item_returned': {
    summary: 'the receiving bank returns an item of a payout',
    cause: async (stage) => ({ resourceId: await stage.payoutItem(ACCOUNTS.returns) }),
  },
  'wallet.credited': {
    summary: "money comes to a wallet's own account number",
    cause: async (stage) => ({ resourceId: (await stage.fundedWallet(stage.options.amount)).id }),
  },
  'wallet.debited': {
    summary: 'the bank takes a deposit back',
    cause: async (stage) => {
      const { id, sessionId } = await stage.fundedWallet(stage.options.amount);
      const params = { path: { sessionId } };
      await dataOf(stage.client.POST('/simulations/inbound-credits/{sessionId}/recall', { params }));
      stage.told('the bank takes the deposit back');
      return { resourceId: id };
    },
  },
  'wallet.adjusted': {
    summary: "operators correct a wallet's balance",
    impossible: 'Two operators make an adjustment, with `npm run cli -- adjustments` of the service.',
  },
  'wallet.frozen': { summary: 'a wallet is frozen', impossible: BY_OPERATORS },
  'wallet.unfrozen': { summary: 'a frozen wallet is active again', impossible: BY_OPERATORS },
  'wallet.closed': { summary: 'a wallet is closed', impossible: BY_OPERATORS },
  'review_case.opened': {
    summary: 'a payment expires with a part of its money',
    cause: async (stage) => ({ resourceId: (await stage.reviewCase()).id }),
  },
  'review_case.resolved': {
    summary: 'the part of an expired payment is credited to its wallet',
    cause: async (stage) => ({ resourceId: (await creditedCase(stage)).id }),
  },
  'webhook_endpoint.failing': {
    summary: 'an endpoint has failed for an hour',
    impossible: 'It takes an hour of failed deliveries.',
  },
  'webhook_endpoint.disabled': {
    summary: 'an endpoint has failed for five days',
    impossible: 'It takes five days of failed deliveries.',
  },
  'webhook.test': {
    summary: 'a test event to an endpoint: --endpoint, or the newest that is enabled',
    cause: async (stage) => {
      const id = stage.options.endpointId ?? (await newestEndpoint(stage));
      const { id: eventId } = await dataOf(
        stage.client.POST('/webhook-endpoints/{id}/test', { params: { path: { id } } }),
      );
      stage.told(`a test of endpoint ${id}`);
      return { eventId };
    },
  },
};

async function creditedCase(stage: Stage): Promise<{ id: string; paymentId: string }> {
  const reviewed = await stage.reviewCase();
  const params = { path: { id: reviewed.id } };
  const body = { action: 'credit', reason: 'manilla trigger' } as const;
  await dataOf(stage.client.POST('/review-cases/{id}/resolve', { params, body }));
  stage.told(`review case ${reviewed.id} is decided`);
  return reviewed;
}

export const EVENT_TYPES = Object.keys(RECIPES) as Event['type'][];

async function newestEndpoint({ client }: Stage): Promise<string> {
  const endpoints = pagesOf((cursor) =>
    client.GET('/webhook-endpoints', { params: { query: cursor === undefined ? {} : { cursor } } }),
  );
  for await (const { id, status } of endpoints) if (status === 'enabled') return id;
  throw new CommandError(
    'A test event goes to an endpoint, and none is enabled. Register one (POST /webhook-endpoints), or name one: ' +
      '--endpoint ID.',
  );
}
