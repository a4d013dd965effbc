// A posting that the ledger refuses though it has no reason to: the flow parks instead of failing or trying for ever, says
// what was refused and where the money stands, and does the step again when an operator says so. The ledger really refuses:
// somebody has frozen an account of the book that no operator can freeze.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { publicId } from '../../src/ids.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
import { findMissingFlows } from '../../src/outbox/missingFlows.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import type { Resource, TestOrganisation } from '../support/api.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { replayEverything } from '../support/histories.ts';
import { waitFor } from '../support/waitFor.ts';

let flows: TestFlows;

beforeAll(async () => {
  flows = await startTestFlows();
});

afterAll(async () => {
  await replayEverything(flows);
  const { findings } = await verifyLedger(flows.sql);
  await flows.close();
  expect(findings).toEqual([]);
});

/** An organisation, and so a book, of the test's own: what it breaks there concerns nobody else. */
async function newBook() {
  const organisation = await flows.createOrganisation();
  const { organisationId } = organisation;
  return {
    organisation,
    /** As somebody with a superuser's hand in the database does; the account is opened where it is not there yet. */
    setStatus: async (code: string, status: 'active' | 'frozen') =>
      await flows.sql`
        INSERT INTO ledger.accounts (organisation_id, environment, code, status)
        VALUES (${organisationId}, 'test', ${code}, ${status})
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

/** The details of a flow that is parked because of a refused posting. */
const untilParked = (id: string): Promise<string> =>
  waitFor(`${id} to be parked`, async () => {
    const flow = flows.temporal.workflow.getHandle(id);
    const described = await flow.describe().catch(() => null); // not started yet
    if (described?.typedSearchAttributes.get(ATTENTION) !== 'posting_refused') return undefined;
    const metadata = await flow.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
    return metadata.currentDetails;
  });

const retry = (id: string) =>
  flows.temporal.workflow.getHandle(id).signal('retry', { reason: 'the account is open again', operator: 'ngozi' });

/** What is posted about a resource, without the hold that its acceptance posted. */
const postedAbout = async (resource: string) =>
  (
    await flows.sql<{ kind: string }[]>`
      SELECT kind FROM ledger.transactions WHERE resource = ${resource} AND kind NOT LIKE '%\\_hold' ORDER BY id`
  ).map(({ kind }) => kind);

interface Case {
  flow: string;
  /** The account that refuses, and what the ledger is to say of it. */
  frozen: string;
  /** Plays until a flow parks. Answers its id, where the API shows it, and the status that it ends with. */
  play: (
    organisation: TestOrganisation,
    freeze: () => Promise<unknown>,
  ) => Promise<{ id: string; path: string; ends: string; posts: string }>;
  /** What the details say of the money. */
  stands: RegExp;
}

const CASES: Case[] = [
  {
    flow: 'withdrawal',
    frozen: 'in_transit:withdrawals',
    play: async (organisation, freeze) => {
      const wallet = await flows.createWallet(organisation.test, { balance: 103_000 });
      const hold = { accountNumber: '9999999003', bankCode: '058' };
      const { id } = await accepted(organisation, `/wallets/${wallet}/withdraw`, { amount: 100_000, ...hold });
      await freeze();
      await waitFor('the bank to have it', async () => {
        const path = `/simulations/bank-transfers/${id}/resolve`;
        return (await organisation.test.post(path, { outcome: 'complete' })).status === 200;
      });
      return { id, path: `/withdrawals/${id}`, ends: 'completed', posts: 'withdrawal_completion' };
    },
    stands: /100000 kobo in in_transit:withdrawals, to be posted to clearing:sandbox/,
  },
  {
    flow: 'refund',
    frozen: 'in_transit:refunds',
    play: async (organisation, freeze) => {
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
      await waitFor('the bank to have it', async () => {
        const path = `/simulations/bank-transfers/${id}/resolve`;
        return (await organisation.test.post(path, { outcome: 'reject' })).status === 200;
      });
      return { id, path: `/refunds/${id}`, ends: 'failed', posts: 'refund_return' };
    },
    stands: /50000 kobo in in_transit:refunds, to be posted to wallet:svc_/,
  },
  {
    flow: 'payoutItem',
    frozen: 'in_transit:payouts',
    play: async (organisation, freeze) => {
      await freeze();
      const sourceWalletId = await flows.createWallet(organisation.test, { balance: 103_000 });
      const items = [{ amount: 100_000, bankAccount: TAKES }];
      const payout = await accepted(organisation, '/payouts', { sourceWalletId, items });
      const [item] = payout.items as [Resource];
      return { id: item.id, path: `/payouts/${payout.id}`, ends: 'completed', posts: 'payout_item_completion' };
    },
    stands: /103000 kobo in reserve:payout:svc_\w+_pyo, to be posted to in_transit:payouts/,
  },
  {
    flow: 'payment',
    frozen: 'income:fees',
    play: async (organisation, freeze) => {
      await freeze();
      const wallet = await flows.createWallet(organisation.test);
      const bill = { method: 'bank_transfer', baseAmount: 50_000, targetWalletId: wallet };
      const payment = await accepted(organisation, '/payments', bill);
      const { accountNumber } = payment.virtualAccount as { accountNumber: string };
      await credit(organisation, accountNumber, Number(payment.payableAmount));
      return { id: payment.id, path: `/payments/${payment.id}`, ends: 'settled', posts: 'payment_settlement' };
    },
    stands: /50000 kobo in clearing:sandbox, to be posted to wallet:svc_/,
  },
];

describe('a posting that is refused', () => {
  test.each(CASES)('parks a $flow, which goes on where it was', async ({ frozen, play, stands }) => {
    const { organisation, setStatus } = await newBook();
    const { id, path, ends, posts } = await play(organisation, () => setStatus(frozen, 'frozen'));
    const details = await untilParked(id);
    expect(details).toContain(`WALLET_FROZEN, at ${frozen}`);
    expect(details).toMatch(stands);
    expect(await postedAbout(id)).toEqual([]);
    await setStatus(frozen, 'active');
    await retry(id);
    await waitFor(`${path} to be ${ends}`, async () => (await organisation.test.get(path)).data.status === ends);
    expect(await postedAbout(id)).toEqual([posts]);
    const acts = await flows.sql`SELECT operator, action FROM audit_log WHERE subject = ${id}`;
    expect([...acts]).toEqual([{ operator: 'ngozi', action: 'resolve:retry' }]);
  });

  test('parks money of nobody that suspense does not take, and its flow places it after all', async () => {
    const { organisation, setStatus } = await newBook();
    await setStatus('suspense:unmatched', 'frozen');
    await credit(organisation, '1234567890', 5_000);
    const id = await waitFor('the credit to be taken in', async () => {
      const [row] = await flows.sql<{ id: string }[]>`
        SELECT id FROM inbound_credits WHERE organisation_id = ${organisation.organisationId}`;
      return row && publicId('inboundCredit', row.id);
    });
    expect(await untilParked(id)).toMatch(/5000 kobo in clearing:sandbox, to be posted to suspense:unmatched/);
    await setStatus('suspense:unmatched', 'active');
    await retry(id);
    expect(await flows.temporal.workflow.getHandle(id).result()).toEqual({ status: 'suspense' });
  });

  test('parks a review case whose money came back and is not taken, while it is sent back', async () => {
    const { organisation, setStatus } = await newBook();
    const sender = { senderAccountNumber: '9999999003', senderBankCode: '058' };
    const money = { accountNumber: '1234567890', amount: 5_000, ...sender };
    await organisation.test.post('/simulations/inbound-credits', money);
    const id = await waitFor('a review case', async () => {
      const [row] = await flows.sql<{ id: string }[]>`
        SELECT id FROM review_cases WHERE organisation_id = ${organisation.organisationId}`;
      return row && publicId('reviewCase', row.id);
    });
    const flow = flows.temporal.workflow.getHandle(id);
    await waitFor('the case to be open', async () => {
      const described = await flow.describe().catch(() => null);
      return described?.typedSearchAttributes.get(ATTENTION) === 'review';
    });
    const decision = { action: 'return_to_sender', reason: 'sent by mistake', operator: 'ada' };
    expect(await flow.executeUpdate('resolveCase', { args: [decision] })).toMatchObject({ outcome: 'done' });
    await setStatus('in_transit:returns', 'frozen');
    await waitFor('the bank to have it', async () => {
      const { items } = {
        items: await flows.sql<{ reference: string }[]>`
        SELECT reference FROM sandbox_bank.transfers WHERE organisation_id = ${organisation.organisationId}`,
      };
      const reference = items[0]?.reference;
      if (reference === undefined) return false;
      const path = `/simulations/bank-transfers/${reference}/resolve`;
      return (await organisation.test.post(path, { outcome: 'complete' })).status === 200;
    });
    expect(await untilParked(id)).toMatch(/5000 kobo in in_transit:returns, to be posted to clearing:sandbox/);
    await setStatus('in_transit:returns', 'active');
    await retry(id);
    expect(await flow.result()).toMatchObject({ status: 'returned_to_sender' });
  });
});

test('a transaction whose row does not know of it parks the flow instead of being tried for ever', async () => {
  const { organisation } = await newBook();
  const wallet = await flows.createWallet(organisation.test, { balance: 103_000 });
  const order = { amount: 100_000, ...REJECTS };
  const { id } = await accepted(organisation, `/wallets/${wallet}/withdraw`, order);
  await waitFor(
    'it to have failed',
    async () => (await organisation.test.get(`/withdrawals/${id}`)).data.status === 'failed',
  );
  await flows.temporal.workflow.getHandle(id).result();
  // A row that was put back by hand, from an old copy say.
  const setRow = (status: string, completedAt: Date | null) => flows.sql`
    UPDATE withdrawals SET status = ${status}, completed_at = ${completedAt}, version = version + 1
    WHERE organisation_id = ${organisation.organisationId}`;
  await setRow('processing', null);
  await flows.temporal.workflow.signalWithStart('withdrawal', {
    workflowId: id,
    taskQueue: flows.services.config.temporal.taskQueue,
    args: [{ organisationId: organisation.organisationId, environment: 'test', transferId: id, amount: 100_000 }],
    signal: 'transferUpdated',
    signalArgs: [],
  });
  expect(await untilParked(id)).toContain('DUPLICATE');
  await setRow('failed', new Date());
  await retry(id);
  expect(await flows.temporal.workflow.getHandle(id).result()).toEqual({ status: 'failed' });
  expect(await postedAbout(id)).toEqual(['withdrawal_failure']);
});

test('the sweeper leaves a parked payment alone: it is not told again and again of its credit', async () => {
  const { organisation, setStatus } = await newBook();
  const [fees] = CASES.filter(({ flow }) => flow === 'payment') as [Case];
  const { id, path } = await fees.play(organisation, () => setStatus('income:fees', 'frozen'));
  await untilParked(id);
  const missing: string[] = [];
  const options = { ageMinMs: 0 };
  for await (const { start } of findMissingFlows({ sql: flows.sql, client: flows.temporal }, options)) {
    missing.push(start.message.id);
  }
  expect(missing).not.toContain(id);
  await setStatus('income:fees', 'active');
  await retry(id);
  await waitFor('it to be settled', async () => (await organisation.test.get(path)).data.status === 'settled');
});
