// A paused rail: requests are accepted and wait without doing anything, nothing is sent, nothing fails or parks however
// long the pause lasts, and everything continues after `rail resume`, which signals the waiting flows.
// `PAUSED_FLOWS=1400 npm run test:slow -- railPause -t 'all of many'` measures it with more flows.
import { tmpdir } from 'node:os';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { publicId } from '../../src/ids.ts';
import { pauseRail, resumeRail } from '../../src/resources/rails/pauses.ts';
import { ATTENTION } from '../../src/workflows/searchAttributes.ts';
import { operate, runCli } from '../cli/run.ts';
import type { Resource } from '../support/api.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows, type TestFlows } from '../support/flows.ts';
import { OPERATORS } from '../support/operators.ts';
import { waitFor } from '../support/waitFor.ts';

/** A flow parks when the rail has been unreachable for a second. */
const LIMIT_MS = 1_000;
/** An account whose bank cannot be reached. */
const UNAVAILABLE = '9999999008';
const TAKES = '0123456789';

const SETTINGS = {
  WORKER_ROLES: 'flows,payouts,relay',
  ATTENTION_RAIL_UNREACHABLE_SECONDS: String(LIMIT_MS / 1000),
  notVisibleForMs: 100,
};

let flows: TestFlows;

beforeAll(async () => {
  flows = await startTestFlows({ settings: SETTINGS });
});

afterEach(() => resume());

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

const cli = (...words: string[]): Promise<unknown> => operate(flows, 'ada', ...words);
const rail = (...words: string[]): Promise<unknown> => cli('rail', ...words);
/** The effect of the commands, without a process for each. */
const act = { proof: OPERATORS.ngozi.proof, reason: 'maintenance at the bank' };
const pause = () => pauseRail(flows.sql, 'test', act);
const resume = () => resumeRail(flows.sql, 'test', act);

/** Whether the list of flows, which the resume reads and which lags, has this flow with the cause. */
async function isListed(id: string, cause: string): Promise<boolean> {
  const query = `WorkflowId = '${id}' AND Attention = '${cause}'`;
  return (await flows.temporal.workflow.count(query)).count > 0;
}

/** The details of a flow that has this attention cause, once the list of flows has it too. */
async function untilAttention(id: string, cause: string): Promise<string> {
  await waitFor(`${id} to be listed with ${cause}`, () => isListed(id, cause));
  return await flows.untilAttention(id, cause);
}

/** How often any of these transfers was sent to the bank. */
async function sendsOf(...references: string[]): Promise<number> {
  const [row] = await flows.sql<{ sends: number }[]>`
    SELECT coalesce(sum(times), 0)::int AS sends FROM sandbox_bank.requests WHERE reference = ANY (${references})`;
  return row?.sends ?? 0;
}

/** What the flow has done so far: the activities that it scheduled and the signals that it received, in order. */
async function deedsOf(id: string): Promise<string[]> {
  const { events } = await flows.flow(id).fetchHistory();
  return (events ?? []).flatMap((event) => {
    const activity = event.activityTaskScheduledEventAttributes?.activityType?.name;
    const signal = event.workflowExecutionSignaledEventAttributes?.signalName;
    return activity ?? signal ?? [];
  });
}

describe('flows while the rail is paused', () => {
  test('withdrawals, refunds and payouts are accepted during a pause, nothing is sent, and all are paid after the resume', async () => {
    const seller = await flows.createWallet();
    const payment = await flows.createPayment(seller, 200_000);
    await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount, {
      senderAccountNumber: TAKES,
      senderBankCode: '058',
    });
    await flows.untilStatus(`/payments/${payment.id}`, 'settled');

    await pause();
    const withdrawal = await flows.withdraw(TAKES);
    const acceptedAt = Date.now();
    const { data: refund } = await flows.test.money(`/payments/${payment.id}/refund`, { amount: 50_000 });
    const sourceWalletId = await flows.createWallet(undefined, { balance: 206_000 });
    const bankAccount = { accountNumber: TAKES, bankCode: '058' };
    const items = [
      { amount: 100_000, bankAccount },
      { amount: 100_000, bankAccount },
    ];
    const { status, data: payout } = await flows.test.money('/payouts', { sourceWalletId, items });
    expect(status).toBe(202);
    const itemIds = (payout.items as Resource[]).map(({ id }) => id);
    const references = [withdrawal.id, refund.id, ...itemIds];
    for (const id of references) {
      expect(await untilAttention(id, 'rail_paused')).toMatch(/an operator has paused the rail/);
    }
    // The money of an item stays in the reserve, and every flow is older than the limit after which it would park.
    expect(await flows.accountBalance(`reserve:payout:${payout.id}`)).toBe(206_000);
    await waitFor('the limit to pass', () => Date.now() - acceptedAt > LIMIT_MS);
    for (const id of references) await untilAttention(id, 'rail_paused');
    expect(await sendsOf(...references)).toBe(0);
    expect(await deedsOf(withdrawal.id)).toEqual(['sendBankTransfer']);
    expect((await flows.test.get(`/withdrawals/${withdrawal.id}`)).data.status).toBe('processing');

    const listed = await cli('attention', 'list', '--query', `WalletId = '${withdrawal.walletId}'`);
    expect(listed).toEqual([expect.objectContaining({ id: withdrawal.id, attention: 'rail_paused', amount: 100_000 })]);

    await resume();
    await flows.untilStatus(`/withdrawals/${withdrawal.id}`, 'completed');
    await flows.untilStatus(`/refunds/${refund.id}`, 'completed');
    await flows.untilStatus(`/payouts/${payout.id}`, 'completed');
    expect(await sendsOf(...references)).toBe(references.length);
    for (const id of references) expect((await deedsOf(id))[1]).toBe('railResumed');
    await waitFor('the attention to be cleared', async () => {
      const flow = await flows.flow(withdrawal.id).describe();
      return flow.typedSearchAttributes.get(ATTENTION) === undefined;
    });
  }, 600_000);

  test('inbound credits are placed as usual during a pause', async () => {
    await pause();
    const walletId = await flows.createWallet();
    const payment = await flows.createPayment(walletId, 10_000);
    await flows.credit(payment.virtualAccount.accountNumber, payment.payableAmount);
    await flows.untilStatus(`/payments/${payment.id}`, 'settled');
    expect(await flows.balanceOf(walletId)).toBe(10_000);
  });

  test('the return of a review case is accepted during a pause and sent once after the resume', async () => {
    await flows.credit('1234567890', 5_000, { senderAccountNumber: TAKES, senderBankCode: '058' });
    const untilCase = (is: (one: { reason: string; status: string }) => boolean) =>
      waitFor('the review case', async () => (await flows.reviewCases()).some(is));
    await untilCase(({ reason }) => reason === 'unknown_account');
    const listed = (await cli('reviews', 'list')) as { id: string; reason: string }[];
    const id = listed.find(({ reason }) => reason === 'unknown_account')?.id ?? '';
    await untilAttention(id, 'review');
    const show = async () => (await cli('reviews', 'show', id)) as { status: string; attempts: number };

    await pause();
    await cli('reviews', 'resolve', id, '--action', 'return_to_sender', '--reason', 'the payer called');
    expect(await untilAttention(id, 'rail_paused')).toMatch(/an operator has paused the rail/);
    expect([await sendsOf(id), (await show()).status]).toEqual([0, 'returning']);
    expect(await flows.accountBalance('in_transit:returns')).toBe(5_000);

    await resume();
    await untilCase(({ status }) => status === 'returned_to_sender');
    expect([await sendsOf(id), await show()]).toEqual([
      1,
      expect.objectContaining({ status: 'returned_to_sender', attempts: 1 }),
    ]);
    expect(await flows.accountBalance('in_transit:returns')).toBe(0);
  });

  test('a transfer sent before the pause is still polled and ends during the pause', async () => {
    const accountNumber = '9999999003'; // the bank holds transfers to it
    const { id } = await flows.withdraw(accountNumber);
    await waitFor('the bank to have the transfer', async () => (await sendsOf(id)) > 0);
    await pause();
    await flows.endTransfer(id, 'complete');
    await flows.untilStatus(`/withdrawals/${id}`, 'completed');
    expect(await sendsOf(id)).toBe(1);
  });

  test('resolving a flow that waits for the resume is refused with the reason', async () => {
    await pause();
    const { id } = await flows.withdraw(TAKES);
    await untilAttention(id, 'rail_paused');
    const resolution = ['--action', 'fail', '--reason', 'x'];
    await expect(cli('attention', 'resolve', id, ...resolution)).rejects.toThrow(/after `rail resume`/);
    await resume();
    await flows.untilStatus(`/withdrawals/${id}`, 'completed');
  });
});

test('a flow that parked before the pause waits for the resume after a batch retry, and then completes', async () => {
  const { id } = await flows.withdraw(UNAVAILABLE);
  await untilAttention(id, 'rail_unreachable');
  await pause();
  await flows.setBehaviour(UNAVAILABLE, 'complete');
  const organisation = publicId('organisation', flows.organisation.organisationId);
  const query = `Attention = 'rail_unreachable' AND OrganisationId = '${organisation}'`;
  const retry = ['attention', 'retry', '--query', query, '--reason', 'the bank is back'];
  await waitFor('the parked flow to be found', async () => ((await cli(...retry)) as { flows: number }).flows > 0);
  await untilAttention(id, 'rail_paused');
  await resume();
  await flows.untilStatus(`/withdrawals/${id}`, 'completed');
  expect(await sendsOf(id)).toBeGreaterThanOrEqual(1);
  await flows.setBehaviour(UNAVAILABLE, 'unavailable');
});

test('an unreachable rail parks nothing during a pause, and its limit counts from the resume', async () => {
  await pause();
  const { id } = await flows.withdraw(UNAVAILABLE);
  await untilAttention(id, 'rail_paused');
  await waitFor('the limit to pass', async () => {
    const { startTime } = await flows.flow(id).describe();
    return Date.now() - startTime.getTime() > LIMIT_MS;
  });
  await untilAttention(id, 'rail_paused');
  await resume();
  await untilAttention(id, 'rail_unreachable');
  for (const operator of ['ngozi', 'tunde'] as const) {
    await operate(flows, operator, 'attention', 'resolve', id, '--action', 'fail', '--reason', 'by letter');
  }
  await flows.untilStatus(`/withdrawals/${id}`, 'failed');
});

test('all of many waiting flows are signalled once by a resume, and complete', async () => {
  const count = Number(process.env.PAUSED_FLOWS ?? 30);
  await pause();
  const walletId = await flows.createWallet(undefined, { balance: 30_000_000 });
  const body = { amount: 1_000, accountNumber: TAKES, bankCode: '058' };
  const ids: string[] = [];
  for (let made = 0; made < count; made += 1) {
    ids.push((await flows.test.money(`/wallets/${walletId}/withdraw`, body)).data.id);
  }
  const limitMs = 120_000 + count * 1_000;
  const { taskQueue } = flows.dependencies.config.temporal;
  const waiting = async () =>
    (await flows.temporal.workflow.count(`Attention = 'rail_paused' AND TaskQueue = '${taskQueue}'`)).count;
  await waitFor('all to wait', async () => (await waiting()) === count, limitMs);
  const sample = ids.filter((_id, index) => index % Math.ceil(count / 20) === 0);
  const resumedAt = Date.now();
  await resume();
  await waitFor('none to wait', async () => (await waiting()) === 0, limitMs);
  const continuedMs = Date.now() - resumedAt;
  await waitFor(
    'all to be completed',
    async () => {
      const [row] = await flows.sql<{ open: number }[]>`
          SELECT count(*)::int AS open FROM withdrawals WHERE status = 'processing'`;
      return row?.open === 0;
    },
    limitMs,
  );
  const wentOnMs: number[] = [];
  for (const id of sample) {
    const deeds = await deedsOf(id);
    // Waiting costs nothing: each has tried to send, and looked once more if it has waited for a minute.
    const before = deeds.slice(0, deeds.indexOf('railResumed'));
    expect(before).toEqual(['sendBankTransfer', 'sendBankTransfer'].slice(0, before.length));
    expect(deeds.filter((deed) => deed === 'railResumed')).toHaveLength(1);
    wentOnMs.push((await timeOfStepAfterResume(id)) - resumedAt);
  }
  const slowestMs = Math.max(...wentOnMs);
  if (process.env.PAUSED_FLOWS) console.log({ count, slowestMs, continuedMs, completedMs: Date.now() - resumedAt });
  expect(slowestMs).toBeLessThan(process.env.PAUSED_FLOWS ? 60_000 : limitMs);
}, 1_800_000);

/** When the flow began its first step after the signal of the resume, in milliseconds since 1970. */
async function timeOfStepAfterResume(id: string): Promise<number> {
  const { events } = await flows.flow(id).fetchHistory();
  const all = events ?? [];
  const signalled = all.findIndex((event) => event.workflowExecutionSignaledEventAttributes != null);
  const step = all.slice(signalled).find((event) => event.activityTaskScheduledEventAttributes != null);
  return Number(step?.eventTime?.seconds) * 1_000;
}

test('a waiting flow that no signal reaches looks by itself whether the rail is resumed', async () => {
  const looking = await startTestFlows({ settings: { ...SETTINGS, pausedLookMs: 1_000 } });
  await pauseRail(looking.sql, 'test', act);
  const { path, flow } = await looking.withdraw(TAKES);
  await waitFor('three looks', async () => {
    const { events } = await flow.fetchHistory().catch(() => ({ events: [] })); // not started yet
    return (events ?? []).filter((event) => event.activityTaskCompletedEventAttributes).length >= 3;
  });
  await looking.sql`DELETE FROM rail_pauses`;
  await looking.untilStatus(path, 'completed');
  expect(await endFlows(looking)).toEqual([]);
});

describe('rail commands', () => {
  test('rail pause and resume report changes, keep the first reason, and are audited once each', async () => {
    const words = ['test', '--reason'];
    const before = await auditLog();
    expect(await rail('pause', ...words, ' maintenance ')).toEqual({
      environment: 'test',
      paused: true,
      changed: true,
    });
    expect(await rail('pause', ...words, 'again')).toEqual({ environment: 'test', paused: true, changed: false });
    expect(await rail('show')).toEqual([
      {
        environment: 'test',
        paused: true,
        since: expect.any(String),
        operator: 'ada',
        reason: 'maintenance',
        contracts: [],
      },
      {
        environment: 'live',
        paused: false,
        since: null,
        operator: null,
        reason: null,
        contracts: [],
      },
    ]);
    expect(await rail('resume', ...words, 'over')).toEqual({ environment: 'test', paused: false, changed: true });
    expect(await rail('resume', ...words, 'over')).toEqual({ environment: 'test', paused: false, changed: false });
    expect((await auditLog()).slice(before.length)).toEqual([
      'ada rail.pause rail:test test maintenance',
      'ada rail.resume rail:test test over',
    ]);
  });

  test.each([
    ['no reason', ['pause', 'test'], /required option '--reason <text>'/],
    ['an empty reason', ['pause', 'test', '--reason', ' '], /--reason .* It must have 1 to 500 characters/],
    ['an unknown environment', ['pause', 'prod', '--reason', 'x'], /Allowed choices are test, live/],
  ])('rail pause with %s changes nothing and reports the error', async (_name, words, message) => {
    const result = await runCli(['rail', ...words], { databaseUrl: flows.databaseUrl, home: tmpdir() });
    expect(result).toMatchObject({ exitCode: 2, errors: expect.stringMatching(message) });
    expect(await flows.sql`SELECT FROM rail_pauses`).toHaveLength(0);
  });
});

const auditLog = async (): Promise<string[]> =>
  (
    await flows.sql<{ operator: string; action: string; subject: string; environment: string; reason: string }[]>`
      SELECT operator, action, subject, environment, reason FROM audit_log WHERE action LIKE 'rail.%' ORDER BY id`
  ).map(({ operator, action, subject, environment, reason }) =>
    [operator, action, subject, environment, reason].join(' '),
  );
