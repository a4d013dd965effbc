// The rail statuses of a transfer in every order, each reported twice concurrently, with the real ledger: money is put
// back and clawed back at most once, a contradiction moves nothing, and nothing is sent a second time.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createBankTransferActivities } from '../../src/activities/moneyActivities.ts';
import type { Journal } from '../../src/ledger/journal.ts';
import type { Movement } from '../../src/ledger/movement.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import type {
  BankTransferActivities,
  BankTransferInput,
  OperatorDecision,
} from '../../src/workflows/bankTransfer/messages.ts';
import { type Resource, startTestApi, type TestApi } from '../support/api.ts';
import { agreed } from '../support/operators.ts';
import { ScriptedRail, type Word } from '../support/scriptedRail.ts';

let api: TestApi;
let steps: BankTransferActivities;
const rail = new ScriptedRail();

beforeAll(async () => {
  api = await startTestApi({ rails: (rails) => rail.within(rails), callersRetry: true });
  steps = createBankTransferActivities(api.dependencies);
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

/** The expected state and postings: a completed transfer may still be returned, a failed one may still be completed. */
function expectedAfter(statuses: readonly Word[]): { state: Word; posted: string[] } {
  let state: Word = 'processing';
  const posted: string[] = [];
  for (const status of statuses) {
    if (status === 'processing') continue;
    if (state === 'processing') posted.push(status === 'completed' ? 'completion' : 'return');
    else if (state === 'failed' && status === 'completed') posted.push('clawback');
    else if (state === 'completed' && status === 'returned')
      posted.push(posted.includes('clawback') ? 'clawback_return' : 'return');
    else continue;
    state = status;
  }
  return { state, posted };
}

/** Whether the last status contradicts what was posted before. */
const contradicts = (statuses: readonly Word[]): boolean =>
  expectedAfter(statuses.slice(0, -1)).state === 'completed' && statuses.at(-1) === 'failed';

interface Kind {
  lengthMax: number;
  /** Accepts this many transfers of `AMOUNT` each, from newly created wallets. */
  accept: (count: number) => Promise<BankTransferInput[]>;
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
  },
  payoutItem: {
    lengthMax: 3,
    accept: async (count) => {
      const sourceWalletId = await api.createWallet(undefined, { balance: count * (AMOUNT + 2_500) });
      const items = Array.from({ length: count }, () => ({ amount: AMOUNT, bankAccount: account }));
      const payout = await accept('/payouts', { sourceWalletId, items });
      return (payout.items as Resource[]).map(({ id }) => ({ ...scope(), transferId: id, amount: AMOUNT }));
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

/** Runs one sequence, with two concurrent checks per status, as by two workers. Returns the violations found. */
async function runSequence(input: BankTransferInput, statuses: readonly Word[]): Promise<string[]> {
  const reference = input.transferId;
  const problems: string[] = [];
  const verify = (holds: boolean, what: string) => void (holds || problems.push(`${statuses.join(', ')}: ${what}`));

  await steps.sendBankTransfer(input);
  for (const [index, status] of statuses.entries()) {
    rail.say(reference, status);
    const answers = await Promise.all([steps.checkBankTransfer(input), steps.checkBankTransfer(input)]);
    const statusesSoFar = statuses.slice(0, index + 1);
    const railExpected = contradicts(statusesSoFar) ? 'contradiction' : 'known';
    verify(
      answers.every((answer) => answer.rail === railExpected),
      `${status} is reported as ${answers.map((answer) => answer.rail).join(' and ')}`,
    );
    const posted = await postingsOf(reference);
    verify(posted.join() === expectedAfter(statusesSoFar).posted.join(), `posted ${posted.join()} after ${status}`);
  }
  // A delayed attempt of an earlier activity changes nothing either.
  const before = await postingsOf(reference);
  await Promise.all([steps.markBankTransferUnsent(input), steps.sendBankTransfer(input)]);
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
        problems.push(...(await runSequence(next.input, next.statuses)));
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
  const own = createBankTransferActivities({ ...api.dependencies, journal });
  for (const input of inputs) {
    await own.sendBankTransfer(input);
    rail.say(input.transferId, 'completed');
  }
  const ends = await Promise.all(inputs.map((input) => own.checkBankTransfer(input)));
  expect(new Set(ends.map(({ status }) => status))).toEqual(new Set(['completed']));
  expect(outcomes).toEqual(inputs.map(() => 'posted'));
});

describe('a completed transfer that the bank reports as failed', () => {
  const decided = async (input: BankTransferInput): Promise<OperatorDecision> => ({
    outcome: 'return',
    reason: 'the bank has the money',
    sent: await agreed(api.sql, input, input.transferId, 'return'),
  });

  test.each(Object.keys(KINDS) as (keyof typeof KINDS)[])(
    'the return of a %s that operators decide is posted once',
    async (name) => {
      const [input] = (await KINDS[name].accept(1)) as [BankTransferInput];
      await steps.sendBankTransfer(input);
      // A transfer that is not completed is not returned.
      expect(await steps.applyBankTransferDecision(input, await decided(input))).toMatchObject({
        status: 'processing',
      });
      rail.say(input.transferId, 'completed');
      await steps.checkBankTransfer(input);
      rail.say(input.transferId, 'failed');
      expect(await steps.checkBankTransfer(input)).toMatchObject({ status: 'completed', rail: 'contradiction' });
      const decision = await decided(input);
      const answers = await Promise.all([
        steps.applyBankTransferDecision(input, decision),
        steps.applyBankTransferDecision(input, decision),
      ]);
      expect(answers.map(({ status }) => status)).toEqual(['returned', 'returned']);
      expect(await steps.checkBankTransfer(input)).toMatchObject({ status: 'returned', rail: 'known' });
      expect(await postingsOf(input.transferId)).toEqual(['completion', 'return']);
      // The statement that moves the money writes the audit entry.
      expect(
        await api.sql`
          SELECT a.operator, a.action FROM audit_log a JOIN ledger.transactions t ON t.xmin = a.xmin
          WHERE a.subject = ${input.transferId} AND t.resource = ${input.transferId} AND t.key LIKE '%/return%' ORDER BY a.id`,
      ).toEqual([
        { operator: 'ada', action: 'resolve:return:proposed' },
        { operator: 'ngozi', action: 'resolve:return' },
      ]);
    },
  );

  test('a return is not posted once the bank reports the transfer as completed again', async () => {
    const [input] = (await KINDS.withdrawal.accept(1)) as [BankTransferInput];
    await steps.sendBankTransfer(input);
    rail.say(input.transferId, 'completed');
    await steps.checkBankTransfer(input);
    expect(await steps.applyBankTransferDecision(input, await decided(input))).toMatchObject({
      status: 'completed',
      rail: 'known',
    });
    expect(await postingsOf(input.transferId)).toEqual(['completion']);
  });
});

describe('a failed transfer that the bank has paid', () => {
  /** A failed withdrawal of 100,000 kobo and a fee of 3,000, from a wallet that has nothing else. */
  async function failed(): Promise<{ input: BankTransferInput; walletId: string }> {
    const walletId = await api.createWallet(undefined, { balance: 103_000 });
    const { id } = await accept(`/wallets/${walletId}/withdraw`, { amount: 100_000, ...account });
    const input = { ...scope(), transferId: id, walletId, amount: 100_000 };
    await steps.sendBankTransfer(input);
    rail.say(id, 'failed');
    await steps.checkBankTransfer(input);
    rail.say(id, 'completed');
    return { input, walletId };
  }

  async function spend(walletId: string, amount: number): Promise<void> {
    const destinationWalletId = await api.createWallet();
    if (amount > 0) await accept(`/wallets/${walletId}/transfer`, { destinationWalletId, amount });
  }

  const missingIn = async (transfer: string) => {
    const rows = await api.sql<{ amount: number; status: string }[]>`
      SELECT amount, status FROM review_cases WHERE transfer = ${transfer}`;
    return rows.map(({ amount, status }) => `${status}: ${amount}`);
  };

  test.each([
    ['all of it', 0, 0, 0],
    ['the amount before the fee', 2_000, 0, 0],
    ['as much as there is', 40_000, 0, 37_000],
    ['nothing', 103_000, 0, 100_000],
  ])('what is still in the wallet is taken at once: %s', async (_title, spent, left, missing) => {
    const { input, walletId } = await failed();
    await spend(walletId, spent);
    const answers = await Promise.all([steps.checkBankTransfer(input), steps.checkBankTransfer(input)]);
    expect(answers.map(({ status }) => status)).toEqual(['completed', 'completed']);
    expect(await api.balanceOf(walletId)).toBe(left);
    expect(await missingIn(input.transferId)).toEqual([`open: ${missing}`]);
    expect(await postingsOf(input.transferId)).toEqual(['return', 'clawback']);
  });

  test('money that is spent between the reading of the wallet and the posting is missing, and nothing is taken twice', async () => {
    const { input, walletId } = await failed();
    const posts: string[] = [];
    const journal = {
      post: async (movement: Movement) => {
        if (posts.length === 0) await spend(walletId, 60_000);
        const result = await api.dependencies.journal.post(movement);
        posts.push(result.outcome);
        return result;
      },
    } as Journal;
    const { checkBankTransfer } = createBankTransferActivities({ ...api.dependencies, journal });
    expect(await checkBankTransfer(input)).toMatchObject({ status: 'completed' });
    expect(posts).toEqual(['refused', 'posted']);
    expect(await api.balanceOf(walletId)).toBe(0);
    expect(await missingIn(input.transferId)).toEqual(['open: 57000']);
  });
});

describe('transfers that the rail no longer knows', () => {
  test.each([
    [['completed', 'unknown'], ['completion']],
    [['failed', 'unknown'], ['return']],
    [['returned', 'unknown'], ['return']],
  ] as const)('an unknown status after %j changes nothing', async (statuses, posted) => {
    const [input] = (await KINDS.withdrawal.accept(1)) as [BankTransferInput];
    await steps.sendBankTransfer(input);
    for (const status of statuses) {
      rail.say(input.transferId, status);
      await steps.checkBankTransfer(input);
    }
    await steps.markBankTransferUnsent(input);
    expect(await postingsOf(input.transferId)).toEqual(posted);
    expect(rail.sendsOf(input.transferId)).toBe(1);
  });

  test('a transfer that became unknown while processing is failed once, and clawed back when it completes later', async () => {
    const [input] = (await KINDS.withdrawal.accept(1)) as [BankTransferInput];
    await steps.sendBankTransfer(input);
    rail.say(input.transferId, 'unknown');
    expect(await steps.checkBankTransfer(input)).toMatchObject({ status: 'processing', rail: 'unknown' });
    expect(await postingsOf(input.transferId)).toEqual([]);
    // Sent once, and known then: the flow may say what it will.
    const unchanged = { status: 'processing', rail: 'unknown', sends: { count: 1 } };
    expect(await steps.markBankTransferUnsent(input)).toMatchObject(unchanged);
    const counted = api.sql`UPDATE transfer_sends SET sends = 3, is_known = false, sent_at = now() - interval '1 day'`;
    expect((await counted).count).toBeGreaterThan(0);
    const ends = await Promise.all([steps.markBankTransferUnsent(input), steps.markBankTransferUnsent(input)]);
    // One of them may have read the row before the other one posted, and the sends, which that ended, after it.
    expect(ends.map(({ status }) => status)).toContain('failed');
    expect(await steps.markBankTransferUnsent(input)).toMatchObject({ status: 'failed' });
    expect(await postingsOf(input.transferId)).toEqual(['return']);
    rail.say(input.transferId, 'completed');
    expect(await steps.checkBankTransfer(input)).toMatchObject({ status: 'completed', rail: 'known' });
    expect(await postingsOf(input.transferId)).toEqual(['return', 'clawback']);
  });
});
