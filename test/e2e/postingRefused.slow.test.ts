// Unexpected refusals of the ledger: the flow parks instead of failing or retrying indefinitely, reports the refusal
// and where the money is, and repeats the step when an operator retries it. The refusals are real: an internal account
// is frozen, which no operator command can do.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { publicId } from '../../src/ids.ts';
import { findMissingFlows } from '../../src/recovery/missingFlows.ts';
import type { Resource, TestOrganisation } from '../support/api.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { withCode } from '../support/operators.ts';
import { waitFor } from '../support/waitFor.ts';

let flows: TestFlows;

beforeAll(async () => {
  flows = await startTestFlows({ settings: { WORKER_ROLES: 'flows,payouts,relay' } });
});

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

/** A new organisation, and so a new book: a frozen account there affects no other test. */
async function newBook() {
  const organisation = await flows.createOrganisation();
  const { organisationId } = organisation;
  return {
    organisation,
    /** Sets the status of an account directly in the database; opens the account if it does not exist yet. */
    setStatus: async (code: string, status: 'active' | 'frozen') =>
      await flows.sql`
        INSERT INTO ledger.accounts (organisation_id, environment, code, class, status)
        VALUES (${organisationId}, 'test', ${code}, ledger.class_of(${code}), ${status})
        ON CONFLICT (organisation_id, environment, code) DO UPDATE SET status = excluded.status`,
  };
}

const TAKES = { accountNumber: '0123456789', bankCode: '058' };
const REJECTS = { accountNumber: '9999999001', bankCode: '058' };

async function accepted(organisation: TestOrganisation, path: string, body: object): Promise<Resource> {
  const answer = await organisation.test.money(path, body);
  if (answer.status >= 300) throw new Error(`refused: ${answer.text}`);
  return answer.data;
}

const credit = async ({ test: client }: TestOrganisation, accountNumber: string, amount: number) => {
  const sender = { senderAccountNumber: TAKES.accountNumber, senderBankCode: TAKES.bankCode };
  expect((await client.post('/simulations/inbound-credits', { accountNumber, amount, ...sender })).status).toBe(201);
};

/** The details of a flow that is parked on a refused posting. */
const untilParked = (id: string) => flows.untilAttention(id, 'posting_refused');

const retry = async (id: string) =>
  await flows
    .flow(id)
    .signal('retry', await withCode(flows.sql, id, { reason: 'it is open again', operator: 'ngozi' }));

/** The kinds of the transactions posted for a resource, without the hold at acceptance. */
const kindsPosted = async (resource: string) =>
  (
    await flows.sql<{ kind: string }[]>`
      SELECT kind FROM ledger.transactions WHERE resource = ${resource} AND kind NOT LIKE '%\\_hold' ORDER BY id`
  ).map(({ kind }) => kind);

interface Case {
  flow: string;
  /** The internal account that is frozen. */
  frozen: string;
  /**
   * Runs until a flow parks. Returns its id, the path of its resource, its final status and the transaction it posts.
   */
  run: (
    organisation: TestOrganisation,
    freeze: () => Promise<unknown>,
  ) => Promise<{ id: string; path: string; ends: string; posts: string }>;
  /** The description of the money in the details. */
  moneyDetails: RegExp;
}

const CASES: Case[] = [
  {
    flow: 'withdrawal',
    frozen: 'in_transit:withdrawals',
    run: async (organisation, freeze) => {
      const wallet = await flows.createWallet(organisation.test, { balance: 103_000 });
      const hold = { accountNumber: '9999999003', bankCode: '058' };
      const { id } = await accepted(organisation, `/wallets/${wallet}/withdraw`, { amount: 100_000, ...hold });
      await freeze();
      await flows.endTransfer(id, 'complete', organisation.test);
      return { id, path: `/withdrawals/${id}`, ends: 'completed', posts: 'withdrawal_completion' };
    },
    moneyDetails: /₦1,000\.00 in in_transit:withdrawals, to be posted to clearing:sandbox/,
  },
  {
    flow: 'refund',
    frozen: 'in_transit:refunds',
    run: async (organisation, freeze) => {
      const [seller, payer] = [
        await flows.createWallet(organisation.test),
        await flows.createWallet(organisation.test, { balance: 50_000 }),
      ];
      const bill = { method: 'virtual_wallet', baseAmount: 50_000, targetWalletId: seller };
      const payment = await accepted(organisation, '/payments', bill);
      await accepted(organisation, `/wallets/${payer}/pay`, { paymentId: payment.id });
      const body = { destination: 'bank', bankAccount: { accountNumber: '9999999003', bankCode: '058' } };
      const { id } = await accepted(organisation, `/payments/${payment.id}/refund`, body);
      await freeze();
      await flows.endTransfer(id, 'reject', organisation.test);
      return { id, path: `/refunds/${id}`, ends: 'failed', posts: 'refund_return' };
    },
    moneyDetails: /₦500\.00 in in_transit:refunds, to be posted to wallet:svc_/,
  },
  {
    flow: 'payoutItem',
    frozen: 'in_transit:payouts',
    run: async (organisation, freeze) => {
      await freeze();
      const sourceWalletId = await flows.createWallet(organisation.test, { balance: 103_000 });
      const items = [{ amount: 100_000, bankAccount: TAKES }];
      const payout = await accepted(organisation, '/payouts', { sourceWalletId, items });
      const [item] = payout.items as [Resource];
      return { id: item.id, path: `/payouts/${payout.id}`, ends: 'completed', posts: 'payout_item_completion' };
    },
    moneyDetails: /₦1,030\.00 in reserve:payout:svc_\w+_pyo, to be posted to in_transit:payouts/,
  },
  {
    flow: 'payment',
    frozen: 'income:fees',
    run: async (organisation, freeze) => {
      await freeze();
      const wallet = await flows.createWallet(organisation.test);
      const bill = { method: 'bank_transfer', baseAmount: 50_000, targetWalletId: wallet };
      const payment = await accepted(organisation, '/payments', bill);
      const { accountNumber } = payment.virtualAccount as { accountNumber: string };
      await credit(organisation, accountNumber, Number(payment.payableAmount));
      return { id: payment.id, path: `/payments/${payment.id}`, ends: 'settled', posts: 'payment_settlement' };
    },
    moneyDetails: /₦500\.00 in clearing:sandbox, to be posted to wallet:svc_/,
  },
];

describe('refused postings', () => {
  test.each(CASES)(
    'a refused posting parks a $flow, and a retry continues it at the same step',
    async ({ frozen, run, moneyDetails }) => {
      const { organisation, setStatus } = await newBook();
      const { id, path, ends, posts } = await run(organisation, () => setStatus(frozen, 'frozen'));
      const details = await untilParked(id);
      expect(details).toContain(`WALLET_FROZEN, at ${frozen}`);
      expect(details).toMatch(moneyDetails);
      expect(await kindsPosted(id)).toEqual([]);
      await setStatus(frozen, 'active');
      await retry(id);
      await waitFor(`${path} to be ${ends}`, async () => (await organisation.test.get(path)).data.status === ends);
      expect(await kindsPosted(id)).toEqual([posts]);
      expect(await flows.auditOf(id)).toEqual(['ngozi resolve:retry']);
    },
  );

  test('a deposit of an unknown account that suspense cannot accept parks its flow, and a retry places it', async () => {
    const { organisation, setStatus } = await newBook();
    await setStatus('suspense:unmatched', 'frozen');
    await credit(organisation, '1234567890', 5_000);
    const id = await waitFor('the credit to be recorded', async () => {
      const [row] = await flows.sql<{ id: string }[]>`
        SELECT id FROM inbound_credits WHERE organisation_id = ${organisation.organisationId}`;
      return row && publicId('inboundCredit', row.id);
    });
    expect(await untilParked(id)).toMatch(/₦50\.00 in clearing:sandbox, to be posted to suspense:unmatched/);
    await setStatus('suspense:unmatched', 'active');
    await retry(id);
    expect(await flows.flow(id).result()).toEqual({ status: 'suspense' });
  });

  test('a review case parks when its return cannot be posted, and a retry completes it', async () => {
    const { organisation, setStatus } = await newBook();
    const sender = { senderAccountNumber: '9999999003', senderBankCode: '058' };
    const money = { accountNumber: '1234567890', amount: 5_000, ...sender };
    await organisation.test.post('/simulations/inbound-credits', money);
    const id = await waitFor('a review case', async () => {
      const [row] = await flows.sql<{ id: string }[]>`
        SELECT id FROM review_cases WHERE organisation_id = ${organisation.organisationId}`;
      return row && publicId('reviewCase', row.id);
    });
    await flows.untilAttention(id, 'review');
    expect(await flows.decide('resolveCase', id, { action: 'return_to_sender' })).toMatchObject({ outcome: 'done' });
    await setStatus('in_transit:returns', 'frozen');
    await flows.endTransfer(id, 'complete', organisation.test);
    expect(await untilParked(id)).toMatch(/₦50\.00 in in_transit:returns, to be posted to clearing:sandbox/);
    await setStatus('in_transit:returns', 'active');
    await retry(id);
    expect(await flows.flow(id).result()).toMatchObject({ status: 'returned_to_sender' });
  });
});

test('a transaction that its row does not reflect parks the flow instead of being retried indefinitely', async () => {
  const { organisation } = await newBook();
  const wallet = await flows.createWallet(organisation.test, { balance: 103_000 });
  const order = { amount: 100_000, ...REJECTS };
  const { id } = await accepted(organisation, `/wallets/${wallet}/withdraw`, order);
  await waitFor(
    'the withdrawal to fail',
    async () => (await organisation.test.get(`/withdrawals/${id}`)).data.status === 'failed',
  );
  await flows.flow(id).result();
  // A row that was reset by hand, for example from an old copy.
  const setRow = (status: string, completedAt: Date | null) => flows.sql`
    UPDATE withdrawals SET status = ${status}, completed_at = ${completedAt}, version = version + 1
    WHERE organisation_id = ${organisation.organisationId}`;
  await setRow('processing', null);
  await flows.temporal.workflow.signalWithStart('withdrawal', {
    workflowId: id,
    taskQueue: flows.dependencies.config.temporal.taskQueue,
    args: [{ organisationId: organisation.organisationId, environment: 'test', transferId: id, amount: 100_000 }],
    signal: 'transferUpdated',
    signalArgs: [],
  });
  expect(await untilParked(id)).toContain('DUPLICATE');
  await setRow('failed', new Date());
  await retry(id);
  expect(await flows.flow(id).result()).toEqual({ status: 'failed' });
  expect(await kindsPosted(id)).toEqual(['withdrawal_failure']);
});

test('the sweeper does not signal a parked payment about its credit again', async () => {
  const { organisation, setStatus } = await newBook();
  const [fees] = CASES.filter(({ flow }) => flow === 'payment') as [Case];
  const { id, path } = await fees.run(organisation, () => setStatus('income:fees', 'frozen'));
  await untilParked(id);
  const missing: string[] = [];
  const options = { ageMinMs: 0 };
  for await (const { start } of findMissingFlows({ sql: flows.sql, client: flows.temporal }, options)) {
    missing.push(start.message.id);
  }
  expect(missing).not.toContain(id);
  await setStatus('income:fees', 'active');
  await retry(id);
  await waitFor('the payment to be settled', async () => (await organisation.test.get(path)).data.status === 'settled');
});
