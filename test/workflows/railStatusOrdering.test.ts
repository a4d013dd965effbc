// The rail statuses of a transfer in every order, each reported twice concurrently, with the real ledger: money is
// returned at most once, a contradiction moves nothing, and nothing is sent a second time.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createPayoutActivities } from '../../src/activities/payouts.ts';
import { createRefundActivities } from '../../src/activities/refunds.ts';
import { createWithdrawalActivities } from '../../src/activities/withdrawals.ts';
import type { Journal } from '../../src/ledger/journal.ts';
import type { Movement } from '../../src/ledger/movement.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import type { BankTransferInput, TransferProgress } from '../../src/workflows/bankTransfer/messages.ts';
import type { RefundInput } from '../../src/workflows/refund/messages.ts';
import { type Resource, startTestApi, type TestApi } from '../support/api.ts';
import { ScriptedRail, type Word } from '../support/scriptedRail.ts';

let api: TestApi;
const rail = new ScriptedRail();

beforeAll(async () => {
  api = await startTestApi({ rails: (rails) => rail.within(rails) });
});

afterAll(async () => {
  const { findings } = await verifyBooks(api.sql);
  await api.close();
  expect(findings).toEqual([]);
});

const AMOUNT = 1_000;
const STATUSES: Word[] = ['processing', 'completed', 'failed', 'returned'];

/** Every sequence of statuses up to this length, the shorter ones first. */
function sequences(lengthMax: number): Word[][] {
  const all: Word[][] = [[]];
  let last: Word[][] = [[]];
  for (let length = 1; length <= lengthMax; length += 1) {
    last = last.flatMap((statuses) => STATUSES.map((status) => [...statuses, status]));
    all.push(...last);
  }
  return all;
}

/** The expected final state: the first final status counts, except that a completed transfer may still be returned. */
function endOf(statuses: readonly Word[]): Word {
  const first = statuses.find((status) => status !== 'processing') ?? 'processing';
  return first === 'completed' && statuses.includes('returned') ? 'returned' : first;
}

/** Whether the last status contradicts what was posted before. */
function contradicts(statuses: readonly Word[]): boolean {
  const before = endOf(statuses.slice(0, -1));
  const status = statuses.at(-1);
  return (before === 'completed' && status === 'failed') || (before === 'failed' && status === 'completed');
}

type Step = (input: never) => Promise<TransferProgress>;

interface Kind {
  lengthMax: number;
  /** Accepts this many transfers of `AMOUNT` each, from newly created wallets. */
  accept: (count: number) => Promise<BankTransferInput[]>;
  steps: () => { send: Step; check: Step; markUnsent: Step };
}

const scope = () => ({ organisationId: api.organisation.organisationId, environment: 'test' as const });
const account = { accountNumber: '0123456789', bankCode: '058' };

const KINDS: Record<'withdrawal' | 'refund' | 'payoutItem', Kind> = {
  withdrawal: {
    lengthMax: 4,
    accept: async (count) => {
      const walletId = await api.createWallet(undefined, { balance: count * (AMOUNT + 2_500) });
      const body = { amount: AMOUNT, ...account };
      const made = await Promise.all(
        Array.from({ length: count }, () => accept(`/wallets/${walletId}/withdraw`, body)),
      );
      return made.map(({ id }) => ({ ...scope(), transferId: id, walletId, amount: AMOUNT }));
    },
    steps: () => {
      const { sendWithdrawal, checkWithdrawal, markWithdrawalUnsent } = createWithdrawalActivities(api.dependencies);
      return { send: sendWithdrawal, check: checkWithdrawal, markUnsent: markWithdrawalUnsent };
    },
  },
  refund: {
    lengthMax: 3,
    accept: async (count) => {
      const [seller, payer] = [await api.createWallet(), await api.createWallet(undefined, { balance: 200_000 })];
      const body = { method: 'virtual_wallet', baseAmount: 200_000, targetWalletId: seller };
      const { id: paymentId } = await accept('/payments', body);
      await accept(`/wallets/${payer}/pay`, { paymentId });
      const inputs: BankTransferInput[] = [];
      for (let number = 0; number < count; number += 1) {
        const refund = { amount: AMOUNT, destination: 'bank', bankAccount: account };
        const { id } = await accept(`/payments/${paymentId}/refund`, refund);
        inputs.push({ ...scope(), transferId: id, amount: AMOUNT });
      }
      return inputs;
    },
    steps: () => {
      const { sendRefund, checkRefund, markRefundUnsent } = createRefundActivities(api.dependencies);
      return { send: sendRefund, check: checkRefund, markUnsent: markRefundUnsent };
    },
  },
  payoutItem: {
    lengthMax: 3,
    accept: async (count) => {
      const sourceWalletId = await api.createWallet(undefined, { balance: count * (AMOUNT + 2_500) });
      const items = Array.from({ length: count }, () => ({ amount: AMOUNT, bankAccount: account }));
      const payout = await accept('/payouts', { sourceWalletId, items });
      return (payout.items as Resource[]).map(({ id }) => ({ ...scope(), transferId: id, amount: AMOUNT }));
    },
    steps: () => {
      const { sendPayoutItem, checkPayoutItem, markPayoutItemUnsent } = createPayoutActivities(api.dependencies);
      return { send: sendPayoutItem, check: checkPayoutItem, markUnsent: markPayoutItemUnsent };
    },
  },
};

async function accept(path: string, body: object): Promise<Resource> {
  const answer = await api.test.money(path, body);
  if (answer.status >= 300) throw new Error(`refused: ${answer.text}`);
  return answer.data;
}

/** The business key suffixes posted for a transfer after its acceptance, in order: `completion`, `return`. */
async function postingsOf(transferId: string): Promise<string[]> {
  const rows = await api.sql<{ key: string }[]>`
    SELECT key FROM ledger.transactions WHERE resource = ${transferId} AND key NOT LIKE '%/hold' ORDER BY id`;
  return rows.map(({ key }) => key.slice(key.indexOf('/') + 1));
}

/** The expected postings by final state. */
const POSTED: Record<string, string[]> = {
  processing: [],
  completed: ['completion'],
  failed: ['return'],
  returned: ['return'],
};

/** Runs one sequence, with two concurrent checks per status, as by two workers. Returns the violations found. */
async function runSequence(kind: Kind, input: BankTransferInput, statuses: readonly Word[]): Promise<string[]> {
  const { send, check, markUnsent } = kind.steps();
  const reference = input.transferId;
  const problems: string[] = [];
  const verify = (holds: boolean, what: string) => void (holds || problems.push(`${statuses.join(', ')}: ${what}`));

  await send(input as never);
  for (const [index, status] of statuses.entries()) {
    rail.say(reference, status);
    const answers = await Promise.all([check(input as never), check(input as never)]);
    const statusesSoFar = statuses.slice(0, index + 1);
    const railExpected = contradicts(statusesSoFar) ? 'contradiction' : 'known';
    verify(
      answers.every((answer) => answer.rail === railExpected),
      `${status} is reported as ${answers.map((answer) => answer.rail).join(' and ')}`,
    );
    const posted = await postingsOf(reference);
    const postedExpected = POSTED[endOf(statusesSoFar)] ?? [];
    const wasCompleted =
      endOf(statusesSoFar) === 'returned' && statusesSoFar.find((one) => one !== 'processing') === 'completed';
    verify(
      posted.join() === (wasCompleted ? ['completion', ...postedExpected] : postedExpected).join(),
      `posted ${posted.join()} after ${status}`,
    );
  }
  // A delayed attempt of an earlier activity changes nothing either.
  const before = await postingsOf(reference);
  await Promise.all([markUnsent(input as never), send(input as never)]);
  verify((await postingsOf(reference)).join() === before.join(), 'a delayed activity moved money');
  verify(rail.sendsOf(reference) === 1, `it was sent ${rail.sendsOf(reference)} times`);
  return problems;
}

/** Sequences that run concurrently. */
const CONCURRENCY = 8;

describe.each(Object.keys(KINDS) as (keyof typeof KINDS)[])('rail statuses of a %s', (name) => {
  const kind = KINDS[name];
  const all = sequences(kind.lengthMax);

  test(`each of ${all.length} status sequences of a ${name} has exactly the expected postings`, async () => {
    const inputs = await kind.accept(all.length);
    const problems: string[] = [];
    const remaining = all.map((statuses, index) => ({ statuses, input: inputs[index] as BankTransferInput }));
    const runNext = async (): Promise<void> => {
      for (let next = remaining.shift(); next !== undefined; next = remaining.shift()) {
        problems.push(...(await runSequence(kind, next.input, next.statuses)));
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, runNext));
    expect(problems).toEqual([]);
  }, 120_000);
});

test('concurrent ends of refunds of one payment cause no conflicts', async () => {
  const inputs = await KINDS.refund.accept(20);
  const outcomes: string[] = [];
  const post = async (movement: Movement) => {
    const result = await api.dependencies.journal.post(movement);
    outcomes.push(result.outcome);
    return result;
  };
  const journal = { post } as Journal;
  const { sendRefund, checkRefund } = createRefundActivities({ ...api.dependencies, journal });
  for (const input of inputs) {
    await sendRefund(input as RefundInput);
    rail.say(input.transferId, 'completed');
  }
  const ends = await Promise.all(inputs.map((input) => checkRefund(input as RefundInput)));
  expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['completed']));
  expect(outcomes).toEqual(inputs.map(() => 'posted'));
});

describe('transfers that the rail no longer knows', () => {
  test.each([
    [['completed', 'unknown'], ['completion']],
    [['failed', 'unknown'], ['return']],
    [['returned', 'unknown'], ['return']],
  ] as const)('an unknown status after %j changes nothing', async (statuses, posted) => {
    const [input] = (await KINDS.withdrawal.accept(1)) as [BankTransferInput];
    const { send, check, markUnsent } = KINDS.withdrawal.steps();
    await send(input as never);
    for (const status of statuses) {
      rail.say(input.transferId, status);
      await check(input as never);
    }
    await markUnsent(input as never);
    expect(await postingsOf(input.transferId)).toEqual(posted);
    expect(rail.sendsOf(input.transferId)).toBe(1);
  });

  test('a transfer that became unknown while processing is failed once, and a later completion is a contradiction', async () => {
    const [input] = (await KINDS.withdrawal.accept(1)) as [BankTransferInput];
    const { send, check, markUnsent } = KINDS.withdrawal.steps();
    await send(input as never);
    rail.say(input.transferId, 'unknown');
    expect(await check(input as never)).toMatchObject({ status: 'processing', rail: 'unknown' });
    expect(await postingsOf(input.transferId)).toEqual([]);
    const ends = await Promise.all([markUnsent(input as never), markUnsent(input as never)]);
    expect(ends.map(({ status }) => status)).toEqual(['failed', 'failed']);
    expect(await postingsOf(input.transferId)).toEqual(['return']);
    // The bank had received it after all, which an operator must resolve.
    rail.say(input.transferId, 'completed');
    expect(await check(input as never)).toMatchObject({ status: 'failed', rail: 'contradiction' });
    expect(await postingsOf(input.transferId)).toEqual(['return']);
  });
});
