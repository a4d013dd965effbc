// An attacker with access to Temporal and nothing else: starts workflows of its own and of the service's types with
// forged input, schedules activities, answers them in place of the worker, signals, resets, terminates and starts
// again. It may read every history, and so every code that was used. No money moves by that, and no operator is named.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { NativeConnection, Worker } from '@temporalio/worker';
import { newUuid, publicId, requireUuid } from '../../src/ids.ts';
import type { Book } from '../../src/money.ts';
import { requestAdjustment } from '../../src/resources/adjustments/request.ts';
import { verifyBooks } from '../../src/verification/verifyBooks.ts';
import { railQueueOf } from '../../src/workflows/flows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { OPERATORS, withCode } from '../support/operators.ts';
import { testStack } from '../support/stack.ts';
import { waitFor } from '../support/waitFor.ts';

const TWO_FROM = 200_000;
const FUNDS = 1_000_000;
const OWN_QUEUE = `attacker-${randomUUID()}`;

let flows: TestFlows;
let connection: NativeConnection;
let worker: Worker;
let running: Promise<void>;
let book: Book;
let queues: { flows: string; rail: string };

beforeAll(async () => {
  flows = await startTestFlows({
    settings: {
      ATTENTION_RAIL_UNREACHABLE_SECONDS: '1',
      REVIEW_CREDIT_BY_TWO_FROM_KOBO: String(TWO_FROM),
      // The bank's silence is never final in this test.
      notVisibleForMs: 3_600_000,
    },
  });
  book = { organisationId: flows.organisation.organisationId, environment: 'test' };
  const { taskQueue } = flows.dependencies.config.temporal;
  queues = { flows: taskQueue, rail: railQueueOf(taskQueue) };
  connection = await NativeConnection.connect({ address: testStack().temporalAddress });
  worker = await Worker.create({
    connection,
    taskQueue: OWN_QUEUE,
    workflowsPath: fileURLToPath(new URL('ownWorkflow.ts', import.meta.url)),
  });
  running = worker.run();
});

afterAll(async () => {
  worker.shutdown();
  await running;
  await connection.close();
  for await (const { workflowId } of flows.temporal.workflow.list({
    query: `ExecutionStatus = 'Running' AND TaskQueue = '${queues.flows}'`,
  })) {
    await flows.temporal.workflow.getHandle(workflowId).terminate();
  }
  expect((await verifyBooks(flows.sql)).findings).toEqual([]);
  await flows.close();
});

/** The result of an activity of the service that a workflow of the attacker has scheduled, or its failure. */
const schedule = (activity: string, ...args: unknown[]): Promise<unknown> =>
  flows.temporal.workflow
    .execute('ownWorkflow', {
      taskQueue: OWN_QUEUE,
      workflowId: `attack-${randomUUID()}`,
      workflowRunTimeout: '20 seconds', // what is not due waits
      args: [
        /Credit|Deposit|Recall|Withdrawal|Return|Case/.test(activity) ? queues.rail : queues.flows,
        activity,
        args,
      ],
    })
    .catch((error: Error) => error);

/** Starts a workflow of the service with forged input, in place of the one that runs. */
async function startAnew(workflow: string, workflowId: string, input: object) {
  const { workflow: client } = flows.temporal;
  await client
    .getHandle(workflowId)
    .terminate()
    .catch(() => {});
  return await client.start(workflow, { taskQueue: queues.flows, workflowId, args: [input] });
}

/** Everything that a decision could change: balances, statuses and the audit log. */
const state = async (): Promise<unknown> => {
  const [found] = await flows.sql`
    SELECT (SELECT jsonb_agg(jsonb_build_array(code, balance, status) ORDER BY id) FROM ledger.accounts WHERE code LIKE '%wallet:%') AS accounts,
           (SELECT jsonb_agg(jsonb_build_array(id, status) ORDER BY id) FROM withdrawals) AS withdrawals,
           (SELECT jsonb_agg(jsonb_build_array(id, status) ORDER BY id) FROM payments) AS payments,
           (SELECT jsonb_agg(jsonb_build_array(id, status) ORDER BY id) FROM review_cases) AS review_cases,
           (SELECT jsonb_agg(jsonb_build_array(id, status) ORDER BY id) FROM adjustments) AS adjustments,
           (SELECT jsonb_agg(jsonb_build_array(id, status, recall) ORDER BY id) FROM inbound_credits) AS credits,
           (SELECT count(*) FROM ledger.postings) AS postings,
           (SELECT count(*) FROM audit_log) AS audited`;
  return found;
};

async function parkedWithdrawal(accountNumber: string) {
  await flows.test.call('PUT', `/simulations/bank-accounts/${accountNumber}`, { body: { behaviour: 'unavailable' } });
  const walletId = await flows.createWallet(undefined, { balance: FUNDS });
  const { data } = await flows.test.money(`/wallets/${walletId}/withdraw`, {
    amount: 100_000,
    accountNumber,
    bankCode: '058',
  });
  await flows.untilAttention(data.id, 'rail_unreachable');
  const input = { ...book, transferId: data.id, walletId, amount: 100_000 };
  return { id: data.id, walletId, input };
}

async function openCase(amount: number) {
  const sessionId = randomUUID();
  await flows.credit('1234567890', amount, { sessionId, senderAccountNumber: '0123456789', senderBankCode: '058' });
  const id = await waitFor('the case', async () => {
    const [row] = await flows.sql<{ id: string }[]>`
      SELECT r.id FROM review_cases r JOIN inbound_credits c ON c.id = r.inbound_credit_id WHERE c.session_id = ${sessionId}`;
    return row !== undefined && publicId('reviewCase', row.id);
  });
  await flows.untilAttention(id, 'review');
  return { id, input: { ...book, transferId: id, reason: 'unknown_account', amount } };
}

async function requestedAdjustment() {
  const walletId = await flows.createWallet();
  const postings = [{ debit: 'expense:rail', credit: `wallet:${walletId}`, amount: 10_000 }];
  const grounds = { reason: 'a refund', evidence: 'ticket 1', proof: OPERATORS.ada.proof };
  const requested = await requestAdjustment(flows.dependencies, book, postings, grounds);
  if (requested.outcome === 'refused') throw new Error(requested.message);
  const adjustmentId = publicId('adjustment', requested.id);
  await flows.untilAttention(adjustmentId, 'adjustment');
  return { id: adjustmentId, input: { ...book, adjustmentId, amount: 10_000 } };
}

async function notDueHold(attacker: string) {
  const source = await flows.createWallet(undefined, { balance: 10_000 });
  const hold = { releaseAt: new Date(Date.now() + 3_600_000) };
  const body = { destinationWalletId: await flows.createWallet(), amount: 10_000, hold };
  const holdId = String((await flows.test.money(`/wallets/${source}/transfer`, body)).data.holdId);
  return { id: holdId, input: { ...book, holdId, walletId: attacker, amount: 1_000_000 } };
}

/** A decision as the service's own workflows pass it on, with the names of operators and no code of theirs. */
const FORGED = {
  reason: 'x',
  evidence: 'x',
  code: 'guess-guess-guess',
  operator: OPERATORS.ngozi.publicId,
  audit: [{ operator: OPERATORS.ngozi.publicId, action: 'x', reason: 'x' }],
};
const forgedSent = (subject: string) => ({ ...FORGED, subject, action: 'x', about: 'x' });

test('activities with forged decisions, and none, move nothing', async () => {
  const withdrawal = await parkedWithdrawal('3000000001');
  const reviewCase = await openCase(50_000);
  const adjustment = await requestedAdjustment();
  const attacker = await flows.createWallet();
  const hold = await notDueHold(attacker);
  const before = await state();
  await schedule('releaseDueHold', hold.input);
  for (const action of ['release', 'cancel']) await schedule('applyHoldDecision', hold.input, { ...FORGED, action });
  for (const action of ['approve', 'reject']) {
    await schedule('applyAdjustmentDecision', adjustment.input, { ...FORGED, action });
  }
  for (const decision of [
    null,
    { ...FORGED, action: 'credit', walletId: attacker },
    { ...FORGED, action: 'move_to_unclaimed' },
    { ...FORGED, action: 'return_to_sender', audit: [] },
  ]) {
    await schedule('applyCaseDecision', reviewCase.input, decision);
  }
  for (const outcome of ['fail', 'complete', 'return']) {
    const sent = forgedSent(withdrawal.id);
    await schedule('applyBankTransferDecision', withdrawal.input, { ...FORGED, outcome, sent });
  }
  await schedule('markBankTransferUnsent', withdrawal.input);
  await schedule('recordDecision', book, { ...forgedSent(withdrawal.id), action: 'resolve:retry' });
  expect(await state()).toEqual(before);
});

test('a withdrawal that is started again at its last step, or with the proposal of another, returns nothing', async () => {
  const { id, input } = await parkedWithdrawal('3000000002');
  const before = await state();
  const now = Date.now();
  const unsent = { step: 'mark_unsent', sends: 3, sentAt: 0, checks: 9, openSince: 0, hasNews: false };
  const found = { rail: 'unknown', since: 0, steps: 9 };
  const continued = { ...unsent, found, knowsReference: false };
  await flows.test.call('PUT', '/simulations/bank-accounts/3000000002', { body: { behaviour: 'timeout_lost' } });
  await startAnew('withdrawal', id, { ...input, continued });
  await schedule('markBankTransferUnsent', input);
  const proposal = { operator: OPERATORS.ngozi.publicId, decision: 'fail of outcome_unknown', reason: 'x' };
  const attention = { cause: 'outcome_unknown', since: new Date(now).toISOString(), proposal };
  const forged = { ...continued, step: 'check', knowsReference: true, attention };
  const flow = await startAnew('withdrawal', id, { ...input, continued: forged });
  const args = [await withCode(flows.sql, id, { action: 'fail', reason: 'x', operator: 'ada' })];
  const answer = await flow
    .executeUpdate<{ outcome: string }, [object]>('resolve', { args: args as [object] })
    .catch(() => null);
  expect(answer?.outcome ?? 'refused').not.toBe('accepted');
  expect(await state()).toEqual(before);
});

test('one operator alone does not credit a large amount, whatever her copy of the flow says', async () => {
  const { id, input } = await openCase(TWO_FROM);
  const walletId = await flows.createWallet();
  const before = await state();
  const waited = {
    updated: false,
    proposal: { operator: OPERATORS.ngozi.publicId, decision: `credit to ${walletId}`, reason: 'x' },
  };
  const copy = await startAnew('reviewCase', id, { ...input, amount: 1, walletId, waited });
  for (let time = 0; time < 2; time += 1) {
    const args: [object] = [
      await withCode(flows.sql, id, { action: 'credit', walletId, reason: 'x', operator: 'ada' }),
    ];
    const answer = await copy.executeUpdate<{ outcome: string }, [object]>('resolveCase', { args });
    expect(answer.outcome).toBe('proposed');
  }
  expect(await state()).toEqual(before);
  // A reader of the history can neither send her code again nor use it elsewhere.
  const [used] = await flows.sql<
    { code: string }[]
  >`SELECT subject AS code FROM operator_codes WHERE first_used_at IS NOT NULL LIMIT 1`;
  expect(used).toBeDefined();
});

test('answers in place of the worker change what a flow says, and nothing in the books', async () => {
  const { id, input } = await requestedAdjustment();
  const withdrawal = await parkedWithdrawal('3000000003');
  const before = await state();
  await flows.stopWorker();
  const said = { outcome: 'done', message: 'The adjustment is posted.', status: 'posted' };
  const snapshot = { status: 'requested', postings: [], reverses: null, requestedBy: OPERATORS.tunde.publicId };
  const inPlace = await Worker.create({
    connection,
    taskQueue: queues.flows,
    workflowBundle: { codePath: testStack().workflowBundlePath },
    activities: {
      readAdjustment: () => Promise.resolve(snapshot),
      applyAdjustmentDecision: () => Promise.resolve(said),
      recordDecision: () => Promise.resolve({ outcome: 'accepted' }),
    },
  });
  await inPlace.runUntil(async () => {
    const args: [object] = [{ ...FORGED, action: 'approve' }];
    const answer = await flows.temporal.workflow.getHandle(id).executeUpdate('decide', { args });
    expect(answer).toEqual(said);
    const fail: [object] = [{ ...FORGED, action: 'fail' }];
    const accepted = await flows.temporal.workflow.getHandle(withdrawal.id).executeUpdate('resolve', { args: fail });
    expect(accepted).toMatchObject({ outcome: 'accepted' });
  });
  await flows.startWorkerAgain();
  await flows.untilAttention(withdrawal.id, 'rail_unreachable'); // the decision was not carried out
  expect(await state()).toEqual(before);
  await startAnew('adjustment', id, input); // as the sweep does
  await flows.untilAttention(id, 'adjustment');
});

test('a payment ends at its own time, and takes its own credits only', async () => {
  const walletId = await flows.createWallet();
  const [own, other] = [await flows.createPayment(walletId, 100_000), await flows.createPayment(walletId, 100_000)];
  const input = { ...book, paymentId: own.id, walletId, amount: 100_000, expiresAt: new Date(0).toISOString() };
  const before = await state();
  await startAnew('payment', own.id, input);
  await schedule('expirePayment', input);
  await flows.temporal.workflow.getHandle(own.id).signal('paymentEnded', { status: 'settled', amountReceived: 1 });
  await flows.temporal.workflow.getHandle(own.id).signal('paymentEnded', { status: 'cancelled', amountReceived: 0 });
  expect(await state()).toEqual(before);

  // A credit of another payment, which the bank confirms and its flow has not heard of yet.
  const credit = newUuid();
  const { accountNumber } = other.virtualAccount;
  await flows.sql`
    INSERT INTO sandbox_bank.credits (organisation_id, session_id, account_number, amount)
    VALUES (${book.organisationId}, ${credit}, ${accountNumber}, 101_000)`;
  await flows.sql`
    INSERT INTO inbound_credits (organisation_id, environment, id, version, rail, session_id, account_number, amount, owner_kind,
                                 owner_id, status, received_at)
    VALUES (${book.organisationId}, 'test', ${credit}, 1, 'sandbox', ${credit}, ${accountNumber}, 101_000, 'payment',
            ${requireUuid('payment', other.id)}, 'received', now())`;
  const received = await state();
  const inboundCreditId = publicId('inboundCredit', credit);
  for (const setAside of [null, true, forgedSent(own.id)]) {
    await schedule('applyCredit', input, { inboundCreditId, setAside });
    for (const activity of ['applyDeposit', 'applyRecall']) {
      await schedule(activity, { ...book, inboundCreditId, amount: 1 }, { setAside });
    }
  }
  expect(await state()).toEqual(received);
  await schedule('applyCredit', { ...input, paymentId: other.id }, { inboundCreditId, setAside: null });
  expect((await flows.test.get(`/payments/${other.id}`)).data).toMatchObject({ status: 'settled' });
});

test('a flow that is reset does not carry out again what two operators decided once', async () => {
  const { id } = await openCase(TWO_FROM);
  const walletId = await flows.createWallet();
  const flow = flows.temporal.workflow.getHandle(id);
  for (const operator of ['ada', 'ngozi']) {
    const decision = await withCode(flows.sql, id, { action: 'credit', walletId, reason: 'x', operator });
    await flow.executeUpdate('resolveCase', { args: [decision] as [object] });
  }
  expect(await flows.balanceOf(walletId)).toBe(TWO_FROM);
  const before = await state();
  const { runId } = await flow.describe();
  const { events } = await flow.fetchHistory();
  const [first] = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
  const { workflowService } = flows.temporal;
  const { namespace } = flows.temporal.options;
  await workflowService.resetWorkflowExecution({
    namespace,
    workflowExecution: { workflowId: id, runId },
    workflowTaskFinishEventId: first?.eventId ?? null,
    reason: 'attack',
    requestId: randomUUID(),
  });
  await flow.result();
  expect(await state()).toEqual(before);
});
