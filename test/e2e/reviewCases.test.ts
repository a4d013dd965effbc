// Review cases decided by an operator: money in suspense is credited, returned to the sender or moved to unclaimed;
// each decision posts once, is audited, and emits an event.

import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { publicId, requireUuid } from '../../src/ids.ts';
import { RailRefusedError } from '../../src/rail/errors.ts';
import { operate } from '../cli/run.ts';
import { changedRail } from '../support/changedRail.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { OPERATORS, type OperatorName } from '../support/operators.ts';
import { waitFor } from '../support/waitFor.ts';

let flows: TestFlows;
let sessions = 0;
/** References of transfers that the bank refuses when they are sent, without a record of them. */
const refused = new Set<string>();

beforeAll(async () => {
  flows = await startTestFlows({
    rails: changedRail((bank) => ({
      sendTransfer: async (instruction, signal) => {
        if (refused.has(instruction.reference)) throw new RailRefusedError('not now');
        return await bank.sendTransfer(instruction, signal);
      },
    })),
    settings: {
      notVisibleForMs: 100,
      callLimitMs: 2_000, // a send that is lost takes as long
      ATTENTION_RAIL_UNREACHABLE_SECONDS: '1',
      REVIEW_CREDIT_BY_TWO_FROM_KOBO: String(AMOUNT + 1),
    },
  });
});

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const AMOUNT = 50_000;

/**
 * Opens a case with a credit to an unknown account number from this sender. Returns its public id once its flow runs.
 */
async function openCase(senderAccountNumber = '0123456789'): Promise<string> {
  sessions += 1;
  const sessionId = `review-${sessions}`;
  await flows.credit('1234567890', AMOUNT, { sessionId, senderAccountNumber, senderBankCode: '058' });
  return await untilCaseOf(sessionId);
}

/** The public id of the case that a credit opened, once its flow runs. */
async function untilCaseOf(sessionId: string): Promise<string> {
  const id = await waitFor('the case', async () => {
    const [row] = await flows.sql<{ id: string }[]>`
      SELECT r.id FROM review_cases r JOIN inbound_credits c ON c.id = r.inbound_credit_id WHERE c.session_id = ${sessionId}`;
    return row !== undefined && publicId('reviewCase', row.id);
  });
  await flows.untilStarted(id);
  return id;
}

const decide = (id: string, decision: object, operator?: OperatorName) =>
  flows.decide('resolveCase', id, decision, operator);

/** Decides as soon as the flow accepts decisions again. */
const decideWhenOpen = (id: string, decision: object) =>
  waitFor('the flow to accept a decision', async () => {
    const answer = await decide(id, decision);
    return answer.outcome === 'done' && answer;
  });

/** Waits until the case has been opened this many times and accepts decisions. */
const untilOpenAgain = (id: string, times: number) =>
  waitFor('the case to be open again', async () => {
    const opened = (await statusOf(id)).filter(([, status]) => status === 'open').length === times;
    return opened && (await flows.detailsOf(id)).includes('Send the update');
  });

const rowOf = async (id: string) => {
  const [row] = await flows.sql<object[]>`
    SELECT status, attempts, failure, failure_reason FROM review_cases WHERE id = ${requireUuid('reviewCase', id)}`;
  return row;
};

/** Every transfer at the bank under a reference of this case. */
const bankHas = async (id: string) => [
  ...(await flows.sql`
    SELECT t.reference, t.status, count(l.reference) FILTER (WHERE l.kind = 'sent')::int AS paid
    FROM sandbox_bank.transfers t LEFT JOIN sandbox_bank.statement_lines l USING (organisation_id, reference)
    WHERE starts_with(t.reference, ${id}) GROUP BY t.reference, t.status ORDER BY t.reference`),
];

/** `reviews …` of the command line, as JSON. */
const cli = (...words: string[]): Promise<unknown> => cliAs('ada', ...words);

const cliAs = async (name: OperatorName, ...words: string[]): Promise<unknown> => {
  const organisation = publicId('organisation', flows.organisation.organisationId);
  return await operate(flows, name, 'reviews', ...words, '--organisation', organisation);
};

const statusOf = async (id: string) => (await flows.eventsOf(id)).map(({ type, data }) => [type, data.status]);

const untilCase = (id: string, status: string) =>
  waitFor(`${id} to be ${status}`, async () => (await statusOf(id)).at(-1)?.[1] === status);

describe('decisions of an operator', () => {
  test('the decision credit moves the money to the given wallet', async () => {
    const id = await openCase();
    const walletId = await flows.createWallet();
    const before = await flows.accountBalance('suspense:unmatched');
    // The case has no wallet of its own: any wallet is another one, so one person cannot decide, however often.
    for (const target of [walletId, await flows.createWallet(), walletId]) {
      expect(await decide(id, { action: 'credit', walletId: target })).toMatchObject({ outcome: 'proposed' });
    }
    expect(await flows.detailsOf(id)).toContain(`Proposed by ${OPERATORS.ngozi.publicId}: credit to ${walletId}`);
    expect(await flows.balanceOf(walletId)).toBe(0);
    expect(await decide(id, { action: 'credit', walletId }, 'tunde')).toMatchObject({
      outcome: 'done',
      status: 'credited',
    });
    expect(await flows.flow(id).result()).toEqual({ status: 'credited' });
    expect(await flows.balanceOf(walletId)).toBe(AMOUNT);
    expect(before - (await flows.accountBalance('suspense:unmatched'))).toBe(AMOUNT);
    expect(await flows.auditOf(id)).toEqual(['ngozi review:credit:proposed', 'tunde review:credit']);
    expect(await statusOf(id)).toEqual([
      ['review_case.opened', 'open'],
      ['review_case.resolved', 'credited'],
    ]);
  });

  test('the decision credit without a wallet uses the original wallet once it can accept the money', async () => {
    const walletId = await flows.createWallet();
    const account = await flows.depositAccount(walletId);
    await flows.setWalletStatus(walletId, 'frozen');
    await flows.credit(account, AMOUNT, { sessionId: 'for-frozen' });
    const id = await untilCaseOf('for-frozen');
    expect(await decide(id, { action: 'credit' })).toMatchObject({
      outcome: 'refused',
      message: expect.stringMatching(/WALLET_FROZEN/),
    });
    await flows.setWalletStatus(walletId, 'active');
    expect(await decide(id, { action: 'credit' })).toMatchObject({ outcome: 'done' });
    expect(await flows.balanceOf(walletId)).toBe(AMOUNT);
  });

  test("the decision credit on a credit after settlement uses the payment's wallet", async () => {
    const walletId = await flows.createWallet();
    const payment = await flows.createPayment(walletId, AMOUNT);
    await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
    await flows.untilStatus(`/payments/${payment.id}`, 'settled');
    // From this amount on, credit needs two operators: one stays a proposal, however often.
    await flows.credit(payment.virtualAccount.accountNumber, AMOUNT + 1, { sessionId: 'after-settlement' });
    const id = await untilCaseOf('after-settlement');
    expect((await flows.eventsOf(id)).at(-1)?.data).toMatchObject({ paymentId: payment.id, walletId });
    expect(await decide(id, { action: 'credit' })).toMatchObject({ outcome: 'proposed', status: 'open' });
    expect(await decide(id, { action: 'credit' })).toMatchObject({ outcome: 'proposed', status: 'open' });
    expect(await flows.balanceOf(walletId)).toBe(AMOUNT);
    expect(await decide(id, { action: 'credit' }, 'tunde')).toMatchObject({ outcome: 'done', status: 'credited' });
    expect(await flows.balanceOf(walletId)).toBe(2 * AMOUNT + 1);
  });

  test('the return of a case after a rejected one is sent under a new reference', async () => {
    const account = '0123456783';
    const id = await openCase(account);
    await flows.setBehaviour(account, 'reject');
    await decide(id, { action: 'return_to_sender' });
    await untilOpenAgain(id, 2);
    expect(await flows.detailsOf(id)).toContain(
      `Attempt 1 to send it back (reference ${id}) failed: the bank refused it`,
    );
    expect(await cli('show', id)).toMatchObject({
      status: 'open',
      attempts: 1,
      reference: id,
      failure: 'refused',
      failureReason: 'The receiving bank rejected the transfer',
    });
    await flows.setBehaviour(account, 'complete');
    await decideWhenOpen(id, { action: 'return_to_sender' });
    await untilCase(id, 'returned_to_sender');
    expect(await bankHas(id)).toEqual([
      { reference: id, status: 'failed', paid: 0 },
      { reference: `${id}_2`, status: 'completed', paid: 1 },
    ]);
    expect(await rowOf(id)).toEqual({ status: 'returned_to_sender', attempts: 2, failure: null, failureReason: null });
    expect(await flows.accountBalance('in_transit:returns')).toBe(0);
  });

  test('the return of a case after one that the bank never received is sent under the same reference', async () => {
    const account = '0123456784';
    const id = await openCase(account);
    await flows.setBehaviour(account, 'timeout_lost');
    await decide(id, { action: 'return_to_sender' });
    await untilOpenAgain(id, 2);
    expect(await rowOf(id)).toMatchObject({ attempts: 1, failure: 'never_received' });
    await flows.setBehaviour(account, 'complete');
    await decideWhenOpen(id, { action: 'return_to_sender' });
    await untilCase(id, 'returned_to_sender');
    expect(await bankHas(id)).toEqual([{ reference: id, status: 'completed', paid: 1 }]);
  });

  test('a return that the bank paid after operators had failed it allows only return_to_sender, and is not paid twice', async () => {
    const account = '0123456785';
    const id = await openCase(account);
    await flows.setBehaviour(account, 'hold');
    await decide(id, { action: 'return_to_sender' });
    await waitFor('the bank to have the transfer', async () => (await bankHas(id)).length === 1);
    await flows.setBehaviour(account, 'unavailable');
    for (const operator of ['ada', 'ngozi'] as const) {
      const fail = { action: 'fail', reason: 'the bank said so in writing' };
      await waitFor(
        'the flow to be parked',
        async () => (await flows.decide('resolve', id, fail, operator)).outcome !== 'rejected',
      );
    }
    await untilOpenAgain(id, 2);
    expect(await rowOf(id)).toMatchObject({
      failure: 'decided',
      failureReason: expect.stringContaining('Decided by operators'),
    });
    // Completes the held transfer and sends the callback.
    await flows.setBehaviour(account, 'complete');
    await waitFor('the details to report the payment', async () =>
      (await flows.detailsOf(id)).includes(`it paid ${id} after all`),
    );
    const walletId = await flows.createWallet();
    for (const decision of [{ action: 'credit', walletId }, { action: 'move_to_unclaimed' }]) {
      expect(await decide(id, decision)).toMatchObject({ outcome: 'refused', message: expect.stringContaining(id) });
    }
    expect(await decide(id, { action: 'return_to_sender' })).toMatchObject({ status: 'returning' });
    await untilCase(id, 'returned_to_sender');
    expect(await bankHas(id)).toEqual([{ reference: id, status: 'completed', paid: 1 }]);
    expect(await flows.accountBalance('in_transit:returns')).toBe(0);
  });

  test('a review case opens again when the bank returns a completed return', async () => {
    const id = await openCase('0123456782');
    await decide(id, { action: 'return_to_sender' });
    await untilCase(id, 'returned_to_sender');
    await flows.flow(id).result();
    await flows.endTransfer(id, 'return');
    await untilCase(id, 'open');
    expect(await rowOf(id)).toMatchObject({ attempts: 1, failure: 'returned' });
    await decideWhenOpen(id, { action: 'return_to_sender' });
    await untilCase(id, 'returned_to_sender');
    expect(await bankHas(id)).toEqual([
      { reference: id, status: 'returned', paid: 1 },
      { reference: `${id}_2`, status: 'completed', paid: 1 },
    ]);
    // The bank's statement of both references agrees with the ledger.
    const [now, hour] = [Date.now(), 3_600_000];
    const period = { from: new Date(now - hour).toISOString(), to: new Date(now + hour).toISOString() };
    expect(await flows.runMaintenance('reconciliation', period)).toMatchObject({ breaks: 0 });
  });
});

test('a return that the bank refused when it was sent is sent, under its reference, when an operator asks again', async () => {
  const id = await openCase();
  refused.add(id);
  await decide(id, { action: 'return_to_sender' });
  await untilOpenAgain(id, 2);
  expect(await rowOf(id)).toMatchObject({ status: 'open', attempts: 1 });
  expect(await bankHas(id)).toEqual([]);
  refused.delete(id);
  await decideWhenOpen(id, { action: 'return_to_sender' });
  await untilCase(id, 'returned_to_sender');
  expect(await bankHas(id)).toEqual([{ reference: id, status: 'completed', paid: 1 }]);
});

test('of two parts that are unclaimed, the bank takes one back, and the other stays', async () => {
  const walletId = await flows.createWallet();
  const { id, virtualAccount } = await flows.createPayment(walletId, 200_000);
  const before = await flows.accountBalance('unclaimed:credits');
  const sessionIds: string[] = [];
  for (const amount of [1_000, 2_000])
    sessionIds.push(String((await flows.credit(virtualAccount.accountNumber, amount)).data.sessionId));
  await waitFor('the parts', async () => (await flows.test.get(`/payments/${id}`)).data.amountReceived === 3_000);
  await flows.test.post(`/simulations/payments/${id}/expire`);
  const found = await waitFor('the case', async () => (await flows.test.get(`/review-cases?paymentId=${id}`)).items[0]);
  await flows.untilStarted(found.id);
  await decideWhenOpen(found.id, { action: 'move_to_unclaimed' });
  await flows.test.post(`/simulations/inbound-credits/${sessionIds[0]}/recall`);
  await waitFor('the recall', async () => (await flows.accountBalance('unclaimed:credits')) === before + 2_000);
  expect((await flows.test.get(`/review-cases/${found.id}`)).data).toMatchObject({
    status: 'unclaimed',
    amount: 2_000,
  });
});

/** Runs `first` until it waits to change this payment, then `second`, which reads the payment as it was before. */
async function together<First, Second>(paymentId: string, first: () => Promise<First>, second: () => Promise<Second>) {
  return await flows.sql.begin(async (sql) => {
    await sql`SELECT FROM payments WHERE id = ${requireUuid('payment', paymentId)} FOR UPDATE`;
    const running = first();
    await waitFor('it to wait for the payment', async () => {
      const waiting = await flows.sql`
        SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
      return waiting.length > 0;
    });
    const beside = second();
    await flows.test.get(`/payments/${paymentId}`); // gives it the time to read
    return { answers: () => Promise.all([running, beside]) };
  });
}

const resolve = (id: string) =>
  flows.test.money(`/review-cases/${id}/resolve`, { action: 'credit', reason: 'it is theirs' });
const casesOf = (paymentId: string, count: number) =>
  waitFor('the cases', async () => {
    const { items } = await flows.test.get(`/review-cases?paymentId=${paymentId}`);
    return items.length === count && items;
  });

test('two late credits of a payment are credited at once, the second with what the first has left of the fee', async () => {
  const walletId = await flows.createWallet();
  const { id, virtualAccount, payableAmount } = await flows.createPayment(walletId, 20_000);
  await flows.test.post(`/simulations/payments/${id}/expire`);
  await flows.untilStatus(`/payments/${id}`, 'expired');
  for (const _ of [1, 2]) await flows.credit(virtualAccount.accountNumber, payableAmount);
  const [one, two] = await casesOf(id, 2);
  const { answers } = await together(
    id,
    () => resolve(one?.id ?? ''),
    () => resolve(two?.id ?? ''),
  );
  expect((await answers()).map(({ status }) => status)).toEqual([200, 200]);
  expect(await flows.balanceOf(walletId)).toBe(20_000 + payableAmount);
});

test('a refund without an account does not send one payer what another paid meanwhile', async () => {
  const walletId = await flows.createWallet();
  const { id, virtualAccount, payableAmount } = await flows.createPayment(walletId, 20_000);
  const pay = (amount: number, senderAccountNumber: string) =>
    flows.credit(virtualAccount.accountNumber, amount, { senderAccountNumber, senderBankCode: '058' });
  await pay(payableAmount, '1111111111');
  await flows.untilStatus(`/payments/${id}`, 'settled');
  await pay(5_000, '2222222222');
  const [late] = await casesOf(id, 1);
  const { answers } = await together(
    id,
    () => resolve(late?.id ?? ''),
    () => flows.test.money(`/payments/${id}/refund`, {}),
  );
  const [credited, refund] = await answers();
  expect([credited.status, refund.status, refund.error?.code]).toEqual([200, 422, 'REFUND_DESTINATION_REQUIRED']);
  expect((await flows.test.get(`/payments/${id}/refunds`)).items).toEqual([]);
});

test('an expired part goes back to who paid it, without credits that the bank has taken back', async () => {
  const walletId = await flows.createWallet();
  const { id, virtualAccount } = await flows.createPayment(walletId, 200_000);
  const pay = async (amount: number, sender: object) =>
    String(
      (await flows.credit(virtualAccount.accountNumber, amount, { senderBankCode: '058', ...sender })).data.sessionId,
    );
  const received = (amount: number) =>
    waitFor('the part', async () => (await flows.test.get(`/payments/${id}`)).data.amountReceived === amount);
  const taken = await pay(1_000, { senderAccountNumber: '0123456780' });
  await received(1_000);
  await flows.test.post(`/simulations/inbound-credits/${taken}/recall`);
  await received(0);
  await pay(2_000, { senderAccountNumber: '0123456789', senderName: 'ADA OBI' });
  await received(2_000);
  await pay(3_000, { senderAccountNumber: '0123456789', senderName: 'Obi, Ada' });
  await received(5_000);
  await flows.test.post(`/simulations/payments/${id}/expire`);
  const found = await waitFor('the case', async () => (await flows.test.get(`/review-cases?paymentId=${id}`)).items[0]);
  await flows.untilStarted(found.id);
  await decideWhenOpen(found.id, { action: 'return_to_sender' });
  await flows.untilStatus(`/review-cases/${found.id}`, 'returned_to_sender');
});

test('an invalid decision is refused with the reason, and the case stays open', async () => {
  const id = await openCase();
  const refusal = async (decision: object) => (await decide(id, decision)).message;
  expect(await refusal({ action: 'burn' })).toMatch(/credit, return_to_sender, move_to_unclaimed/);
  expect(await refusal({ action: 'move_to_unclaimed', reason: '' })).toMatch(/reason/);
  expect(await refusal({ action: 'move_to_unclaimed', walletId: 'x' })).toMatch(/walletId/);
  expect(await refusal({ action: 'credit' })).toMatch(/name one as walletId/);
  expect(await refusal({ action: 'credit', walletId: 'svc_nobody_wlt' })).toMatch(/no wallet/);
  expect(await statusOf(id)).toEqual([['review_case.opened', 'open']]);
  await decide(id, { action: 'move_to_unclaimed' });
});

test('reviews list, resolve and show work with an open case, and with unclaimed money', async () => {
  const id = await openCase();
  expect(await cli('list')).toContainEqual(
    expect.objectContaining({ id, flow: 'reviewCase', attention: 'review', amount: AMOUNT, reason: 'unknown_account' }),
  );
  expect(await cli('resolve', id, '--action', 'move_to_unclaimed', '--reason', 'nobody asked')).toMatchObject({
    status: 'unclaimed',
  });
  expect(await cli('show', id)).toMatchObject({ id, status: 'unclaimed', attention: null });

  await flows.flow(id).result();
  const walletId = await flows.createWallet();
  const claim = ['resolve', id, '--action', 'credit', '--wallet', walletId, '--reason', 'the owner has called'];
  await expect(cli(...claim, '--wallet', 'svc_nobody_wlt')).rejects.toThrow(/There is no wallet/);
  // It waits for a second operator, and so does the flow, which has been restarted.
  expect(await cli(...claim)).toMatchObject({ outcome: 'proposed', status: 'unclaimed' });
  await waitFor('the proposal to be shown', async () => (await flows.detailsOf(id)).includes('Proposed by'));
  expect(await cliAs('tunde', ...claim)).toMatchObject({ outcome: 'done', status: 'credited' });
  expect(await flows.balanceOf(walletId)).toBe(AMOUNT);
  await expect(cli(...claim)).rejects.toThrow(/There is no open review case/);
});

test('a claim that waits for a second operator ends when the bank takes the money back', async () => {
  const id = await openCase();
  const sessionId = `review-${sessions}`;
  await decide(id, { action: 'move_to_unclaimed' });
  await flows.flow(id).result();
  const walletId = await flows.createWallet();
  expect(await cli('resolve', id, '--action', 'credit', '--wallet', walletId, '--reason', 'a call')).toMatchObject({
    outcome: 'proposed',
  });
  await waitFor('the proposal to be shown', async () => (await flows.detailsOf(id)).includes('Proposed by'));
  expect((await flows.test.post(`/simulations/inbound-credits/${sessionId}/recall`)).status).toBe(200);
  expect(await flows.flow(id).result()).toEqual({ status: 'recalled' });
});
