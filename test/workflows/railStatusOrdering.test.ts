// What a rail says of a transfer, in every order and said twice each time, against the real books: the money goes back at
// most once, a contradiction moves nothing, and nothing is sent a second time.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createPayoutActivities } from '../../src/activities/payouts.ts';
import { createRefundActivities } from '../../src/activities/refunds.ts';
import { createWithdrawalActivities } from '../../src/activities/withdrawals.ts';
import type { Journal } from '../../src/ledger/journal.ts';
import type { Movement } from '../../src/ledger/movement.ts';
import { verifyLedger } from '../../src/ledger/verify.ts';
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
  const { findings } = await verifyLedger(api.sql);
  await api.close();
  expect(findings).toEqual([]);
});

const AMOUNT = 1_000;
const WORDS: Word[] = ['processing', 'completed', 'failed', 'returned'];

/** Every sequence of these words up to this length, the shorter ones first. */
function sequences(lengthMax: number): Word[][] {
  const all: Word[][] = [[]];
  let last: Word[][] = [[]];
  for (let length = 1; length <= lengthMax; length += 1) {
    last = last.flatMap((words) => WORDS.map((word) => [...words, word]));
    all.push(...last);
  }
  return all;
}

/** Where the money must be in the end: the first final word holds, but what was completed may still come back. */
function endOf(words: readonly Word[]): Word {
  const first = words.find((word) => word !== 'processing') ?? 'processing';
  return first === 'completed' && words.includes('returned') ? 'returned' : first;
}

/** Whether the last word is the opposite of what was posted before. */
function contradicts(words: readonly Word[]): boolean {
  const before = endOf(words.slice(0, -1));
  const word = words.at(-1);
  return (before === 'completed' && word === 'failed') || (before === 'failed' && word === 'completed');
}

type Step = (input: never) => Promise<TransferProgress>;

interface Kind {
  lengthMax: number;
  /** Accepts so many transfers of `AMOUNT` each, from wallets made for them. */
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
      const { sendWithdrawal, checkWithdrawal, markWithdrawalUnsent } = createWithdrawalActivities(api.services);
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
      const { sendRefund, checkRefund, markRefundUnsent } = createRefundActivities(api.services);
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
      const { sendPayoutItem, checkPayoutItem, markPayoutItemUnsent } = createPayoutActivities(api.services);
      return { send: sendPayoutItem, check: checkPayoutItem, markUnsent: markPayoutItemUnsent };
    },
  },
};

async function accept(path: string, body: object): Promise<Resource> {
  const answer = await api.test.money(path, body);
  if (answer.status >= 300) throw new Error(`refused: ${answer.text}`);
  return answer.data;
}

/** What was posted about a transfer after it was accepted, in order: `completion`, `return`. */
async function postedAbout(transferId: string): Promise<string[]> {
  const rows = await api.sql<{ key: string }[]>`
    SELECT key FROM ledger.transactions WHERE resource = ${transferId} AND key NOT LIKE '%/hold' ORDER BY id`;
  return rows.map(({ key }) => key.slice(key.indexOf('/') + 1));
}

/** What must have been posted by the end. */
const POSTED: Record<string, string[]> = {
  processing: [],
  completed: ['completion'],
  failed: ['return'],
  returned: ['return'],
};

/** Plays one sequence. Every word is heard twice at once, as two workers would. Answers what does not hold. */
async function play(kind: Kind, input: BankTransferInput, words: readonly Word[]): Promise<string[]> {
  const { send, check, markUnsent } = kind.steps();
  const reference = input.transferId;
  const problems: string[] = [];
  const claim = (holds: boolean, what: string) => void (holds || problems.push(`${words.join(', ')}: ${what}`));

  await send(input as never);
  for (const [place, word] of words.entries()) {
    rail.say(reference, word);
    const answers = await Promise.all([check(input as never), check(input as never)]);
    const heard = words.slice(0, place + 1);
    const told = contradicts(heard) ? 'contradiction' : 'known';
    claim(
      answers.every((answer) => answer.rail === told),
      `${word} is heard as ${answers.map((answer) => answer.rail).join(' and ')}`,
    );
    const posted = await postedAbout(reference);
    const wanted = POSTED[endOf(heard)] ?? [];
    const was = endOf(heard) === 'returned' && heard.find((one) => one !== 'processing') === 'completed';
    claim(posted.join() === (was ? ['completion', ...wanted] : wanted).join(), `posted ${posted.join()} after ${word}`);
  }
  // A worker that comes late with an old step changes nothing either.
  const before = await postedAbout(reference);
  await Promise.all([markUnsent(input as never), send(input as never)]);
  claim((await postedAbout(reference)).join() === before.join(), 'a late step moved money');
  claim(rail.sendsOf(reference) === 1, `it was sent ${rail.sendsOf(reference)} times`);
  return problems;
}

/** Sequences that are played at the same time. */
const AT_ONCE = 8;

describe.each(Object.keys(KINDS) as (keyof typeof KINDS)[])('%s', (name) => {
  const kind = KINDS[name];
  const all = sequences(kind.lengthMax);

  test(`${all.length} sequences of words`, async () => {
    const inputs = await kind.accept(all.length);
    const problems: string[] = [];
    const left = all.map((words, place) => ({ words, input: inputs[place] as BankTransferInput }));
    const playNext = async (): Promise<void> => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        problems.push(...(await play(kind, next.input, next.words)));
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, playNext));
    expect(problems).toEqual([]);
  }, 120_000);
});

test('refunds of one payment that end at once do not overtake each other', async () => {
  const inputs = await KINDS.refund.accept(20);
  const outcomes: string[] = [];
  const post = async (movement: Movement) => {
    const result = await api.services.journal.post(movement);
    outcomes.push(result.outcome);
    return result;
  };
  const journal = { post } as Journal;
  const { sendRefund, checkRefund } = createRefundActivities({ ...api.services, journal });
  for (const input of inputs) {
    await sendRefund(input as RefundInput);
    rail.say(input.transferId, 'completed');
  }
  const ends = await Promise.all(inputs.map((input) => checkRefund(input as RefundInput)));
  expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['completed']));
  expect(outcomes).toEqual(inputs.map(() => 'posted'));
});

describe('a rail that forgets a transfer', () => {
  test.each([
    [['completed', 'unknown'], ['completion']],
    [['failed', 'unknown'], ['return']],
    [['returned', 'unknown'], ['return']],
  ] as const)('after it said %j changes nothing', async (words, posted) => {
    const [input] = (await KINDS.withdrawal.accept(1)) as [BankTransferInput];
    const { send, check, markUnsent } = KINDS.withdrawal.steps();
    await send(input as never);
    for (const word of words) {
      rail.say(input.transferId, word);
      await check(input as never);
    }
    await markUnsent(input as never);
    expect(await postedAbout(input.transferId)).toEqual(posted);
    expect(rail.sendsOf(input.transferId)).toBe(1);
  });

  test('that it had under way: the same reference is sent again, and given up once', async () => {
    const [input] = (await KINDS.withdrawal.accept(1)) as [BankTransferInput];
    const { send, check, markUnsent } = KINDS.withdrawal.steps();
    await send(input as never);
    rail.say(input.transferId, 'unknown');
    expect(await check(input as never)).toMatchObject({ status: 'processing', rail: 'unknown' });
    expect(await postedAbout(input.transferId)).toEqual([]);
    const ends = await Promise.all([markUnsent(input as never), markUnsent(input as never)]);
    expect(ends.map(({ status }) => status)).toEqual(['failed', 'failed']);
    expect(await postedAbout(input.transferId)).toEqual(['return']);
    rail.say(input.transferId, 'completed'); // and the bank had it after all: a person must look
    expect(await check(input as never)).toMatchObject({ status: 'failed', rail: 'contradiction' });
    expect(await postedAbout(input.transferId)).toEqual(['return']);
  });
});
