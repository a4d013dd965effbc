// What a step of a bank transfer makes of each answer of the rail beside a plain status: nothing is posted that the
// rail did not report about this very transfer, and a rail that is not ready fails nothing.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createBankTransferActivities } from '../../src/activities/moneyActivities.ts';
import { RailNotReadyError, RailRefusedError, RailUnavailableError } from '../../src/rail/errors.ts';
import { RAIL_FAILURES } from '../../src/rail/failures.ts';
import type { TransferReport } from '../../src/rail/port.ts';
import { findProviderMessage } from '../../src/resources/rails/providerMessages.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { startTestApi, type TestApi } from '../support/api.ts';
import { agreed } from '../support/operators.ts';
import { reportOf, ScriptedRail } from '../support/scriptedRail.ts';

const AMOUNT = 1_000;
const BALANCE = 10_000;

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

async function accepted() {
  const walletId = await api.createWallet(undefined, { balance: BALANCE });
  const body = { amount: AMOUNT, accountNumber: '0123456789', bankCode: '058' };
  const { data } = await api.test.money(`/wallets/${walletId}/withdraw`, body);
  const { organisationId } = api.organisation;
  const input = { organisationId, environment: 'test' as const, walletId, transferId: data.id, amount: AMOUNT };
  const steps = createBankTransferActivities(api.dependencies);
  return {
    id: data.id,
    walletId,
    input,
    steps,
    status: async () => (await api.test.get(`/withdrawals/${data.id}`)).data.status,
  };
}

test.each([
  ['returned', 'Transaction in progress', 'bank_returned', null],
  ['returned', 'SUCCESS', 'bank_returned', null],
  ['returned', 'Account closed', 'account_closed', null],
  ['failed', 'Beneficiary account is under inquiry', 'bank_refused', 'Beneficiary account is under inquiry'],
  ['failed', null, 'bank_refused', null],
] as const)('%s, "%s": %s', async (status, reason, code, detail) => {
  const { id, input, steps } = await accepted();
  rail.setReport(id, { ...reportOf(id, status), reason });
  expect(await steps.checkBankTransfer(input)).toMatchObject({ status });
  const { data } = await api.test.get(`/withdrawals/${id}`);
  const expected = { status, failureCode: code, failureReason: RAIL_FAILURES[code], failureDetail: detail };
  expect(data).toMatchObject(expected);
  const { items } = await api.test.get(`/events?resourceId=${id}`);
  expect(items[0]).toMatchObject({ type: `withdrawal.${status}`, data: expected });
});

describe('a report about another transfer', () => {
  test.each<[string, Partial<TransferReport>]>([
    ['amount', { amount: AMOUNT - 1 }],
    ['account', { accountNumber: '0123456780' }],
    ['bank', { bankCode: '044' }],
  ])('another %s is a contradiction, and posts nothing', async (_name, other) => {
    const { id, input, steps, status } = await accepted();
    rail.setReport(id, { ...reportOf(id, 'completed'), ...other });
    for (const step of [steps.sendBankTransfer, steps.checkBankTransfer, steps.markBankTransferUnsent]) {
      expect(await step(input)).toMatchObject({ status: 'processing', rail: 'contradiction' });
    }
    expect([await status(), rail.sendsOf(id)]).toEqual(['processing', 0]);
  });

  test('the same amount, account and bank completes it', async () => {
    const { id, input, steps, status } = await accepted();
    rail.setReport(id, { ...reportOf(id, 'completed'), amount: AMOUNT, accountNumber: '0123456789', bankCode: '058' });
    expect(await steps.checkBankTransfer(input)).toMatchObject({ status: 'completed', rail: 'known' });
    expect(await status()).toBe('completed');
  });

  test('operators decide about it', async () => {
    const { id, walletId, input, steps } = await accepted();
    rail.setReport(id, { ...reportOf(id, 'completed'), amount: AMOUNT + 1 });
    const decision = {
      outcome: 'fail' as const,
      reason: 'the bank said so in writing',
      sent: await agreed(api.sql, input, id, 'fail'),
    };
    expect(await steps.applyBankTransferDecision(input, decision)).toMatchObject({ status: 'failed' });
    expect(await api.balanceOf(walletId)).toBe(BALANCE);
  });
});

describe('the message of the rail instead of a status', () => {
  test.each<[string, (id: string, providerMessage: string) => void]>([
    [
      'a send has no certain answer',
      (id, providerMessage) => rail.fail('send', id, new RailUnavailableError('99', { providerMessage })),
    ],
    [
      'a send is not accepted',
      (id, providerMessage) => rail.fail('send', id, new RailNotReadyError('feature_off', '403', { providerMessage })),
    ],
    [
      'a status is not reported',
      (id, providerMessage) => rail.fail('status', id, new RailUnavailableError('99', { providerMessage })),
    ],
    [
      'a failure is not final',
      (id, providerMessage) => rail.setReport(id, { ...reportOf(id, 'processing'), reason: providerMessage }),
    ],
  ])('its last message is stored when %s, and is in no result, which the history would have', async (_case, fail) => {
    const { id, input, steps } = await accepted();
    const { organisationId } = api.organisation;
    expect(await findProviderMessage(api.sql, organisationId, id)).toBeNull();
    for (const providerMessage of ['Please try again later', 'Beneficiary bank not available']) {
      fail(id, providerMessage);
      expect(JSON.stringify(await steps.sendBankTransfer(input))).not.toContain(providerMessage);
      expect(await findProviderMessage(api.sql, organisationId, id)).toMatchObject({ message: providerMessage });
      await api.sql`UPDATE transfer_sends SET sent_at = sent_at - interval '1 day' WHERE reference = ${id}`;
    }
  });

  test('nothing is stored of a rail that sends no message', async () => {
    const { id, input, steps } = await accepted();
    rail.fail('send', id, new RailUnavailableError('no answer'));
    await steps.sendBankTransfer(input);
    expect(await findProviderMessage(api.sql, api.organisation.organisationId, id)).toBeNull();
  });
});

describe('what the database has of the sends', () => {
  const anHourAgo = async (id: string) => {
    await api.sql`UPDATE transfer_sends SET sent_at = sent_at - interval '1 hour' WHERE reference = ${id}`;
  };

  test('a transfer that was never sent is not searched for among what was paid', async () => {
    const { id, input, steps } = await accepted();
    await steps.checkBankTransfer(input);
    expect(rail.queries.get(id)).toMatchObject({ since: undefined, lastSentAt: expect.any(Date) });
    await steps.sendBankTransfer(input);
    await steps.checkBankTransfer(input);
    expect(rail.queries.get(id)).toMatchObject({
      since: expect.any(Date),
      lastSentAt: expect.any(Date),
      mayEnd: false,
    });
  });

  test('a send that was not made is not counted, and one that may have arrived is not repeated at once', async () => {
    const { id, input, steps } = await accepted();
    const notMade = new RailUnavailableError('the login failed', { isNotSent: true });
    for (const error of [notMade, new RailNotReadyError('rate_limited', 'too many')]) {
      rail.fail('send', id, error);
      expect(await steps.sendBankTransfer(input)).toMatchObject({ sends: { count: 0 } });
    }
    rail.fail('send', id, new RailUnavailableError('no answer'));
    expect(await steps.sendBankTransfer(input)).toMatchObject({ rail: 'unreachable', sends: { count: 1 } });
    rail.fail('send', id, null);
    expect(await steps.sendBankTransfer(input)).toMatchObject({ rail: 'unknown', sends: { count: 1 } });
    expect(rail.sendsOf(id)).toBe(0);
    await anHourAgo(id);
    expect(await steps.sendBankTransfer(input)).toMatchObject({ rail: 'known', sends: { count: 2 } });
    expect(rail.sendsOf(id)).toBe(1);
  });

  test('a query that fails before the first send is no send, and operators may ask for the send without it', async () => {
    const { id, input, steps } = await accepted();
    rail.fail('status', id, new RailUnavailableError('no answer'));
    expect(await steps.sendBankTransfer(input)).toMatchObject({ rail: 'unreachable', sends: { count: 0 } });
    expect(rail.sendsOf(id)).toBe(0);
    expect(await steps.sendBankTransfer(input, true)).toMatchObject({ rail: 'known', sends: { count: 1 } });
    expect(await steps.sendBankTransfer(input, true)).toMatchObject({ rail: 'unreachable', sends: { count: 1 } });
    expect(rail.sendsOf(id)).toBe(1);
  });

  test('a refusal fails the transfer only when the rail has not known it for long enough', async () => {
    const { id, walletId, input, steps } = await accepted();
    rail.fail('send', id, new RailRefusedError('Dormant account'));
    const refused = { status: 'processing', rail: 'unknown', sends: { count: 1, isRefused: true } };
    expect(await steps.sendBankTransfer(input)).toMatchObject(refused);
    for (const step of [steps.sendBankTransfer, steps.checkBankTransfer, steps.markBankTransferUnsent])
      expect(await step(input)).toMatchObject(refused);
    await anHourAgo(id);
    expect(await steps.sendBankTransfer(input)).toMatchObject(refused);
    expect(await steps.markBankTransferUnsent(input)).toMatchObject({ status: 'failed' });
    const { data } = await api.test.get(`/withdrawals/${id}`);
    expect(data).toMatchObject({
      failureCode: 'account_dormant',
      failureReason: 'The account is dormant',
      failureDetail: null,
    });
    expect(await api.balanceOf(walletId)).toBe(BALANCE);
  });

  test('a refusal of what the rail has known never fails it', async () => {
    const { id, input, steps } = await accepted();
    rail.fail('send', id, new RailRefusedError('Dormant account'));
    await steps.sendBankTransfer(input);
    rail.say(id, 'processing');
    await steps.checkBankTransfer(input);
    rail.say(id, 'unknown');
    await anHourAgo(id);
    expect(await steps.markBankTransferUnsent(input)).toMatchObject({ status: 'processing', rail: 'unknown' });
  });
});

describe('a rail that is not ready', () => {
  const underfunded = new RailNotReadyError('underfunded', 'the wallet is empty', { retryAfterMs: 60_000 });
  const notReady = { why: 'underfunded', retryAfterMs: 60_000 };

  test('a send that it does not accept leaves the transfer as it is', async () => {
    const { id, input, steps, status } = await accepted();
    rail.fail('send', id, underfunded);
    expect(await steps.sendBankTransfer(input)).toMatchObject({ status: 'processing', rail: 'not_ready', notReady });
    expect(await status()).toBe('processing');
    rail.fail('send', id, null);
    expect(await steps.sendBankTransfer(input)).toMatchObject({ status: 'processing', rail: 'known' });
  });

  test('nothing is sent, and nothing given up, while it does not report the status either', async () => {
    const { id, input, steps, status } = await accepted();
    rail.fail('status', id, underfunded);
    for (const step of [steps.sendBankTransfer, steps.checkBankTransfer, steps.markBankTransferUnsent]) {
      expect(await step(input)).toMatchObject({ status: 'processing', rail: 'not_ready', notReady });
    }
    expect([await status(), rail.sendsOf(id)]).toEqual(['processing', 0]);
  });

  test('it is not taken for one that does not respond', async () => {
    const { id, input, steps } = await accepted();
    rail.fail('send', id, new RailUnavailableError('no answer'));
    const progress = await steps.sendBankTransfer(input);
    expect([progress.rail, progress.notReady]).toEqual(['unreachable', undefined]);
  });
});
