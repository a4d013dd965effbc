// A rail that does not accept a transfer for now, for a reason that is not the transfer's: the flow waits and sends the
// same reference again as often as needed, which counts as no send, and shows it to operators after a limit.

import { afterAll, expect, test } from '@jest/globals';
import type { RailNotice } from '../../src/rail/port.ts';
import { postEntry } from '../../src/resources/statementEntries/movements.ts';
import { SENDS_MAX } from '../../src/workflows/bankTransfer/decide.ts';
import { runAs } from '../cli/run.ts';
import { sendCallback } from '../support/callbacks.ts';
import { changedRail } from '../support/changedRail.ts';
import { endFlows } from '../support/endFlows.ts';
import { startTestFlows } from '../support/flows.ts';
import { waitFor } from '../support/waitFor.ts';

const FUNDS = 1_000_000;
const HELD = 103_000;

const flows = await startTestFlows({
  settings: {
    railNotReadyMs: 1_000,
    probeMs: 1_000,
    notVisibleForMs: 100,
  },
});

afterAll(async () => {
  expect(await endFlows(flows)).toEqual([]);
});

async function withdraw(accountNumber: string) {
  await flows.setBehaviour(accountNumber, 'underfunded');
  const withdrawal = await flows.withdraw(accountNumber, FUNDS);
  const details = await flows.untilAttention(withdrawal.id, 'rail_not_ready');
  return { ...withdrawal, details, fundBank: () => flows.setBehaviour(accountNumber, 'complete') };
}

/** How often the bank was sent this transfer, accepted or not. */
async function sendsOf(reference: string): Promise<number> {
  const [row] = await flows.sql<{ times: number }[]>`
    SELECT times FROM sandbox_bank.requests WHERE reference = ${reference}`;
  return row?.times ?? 0;
}

test.concurrent('a transfer waits for the balance of the rail however often it is sent, and is paid once', async () => {
  const { walletId, id, path, details, fundBank } = await withdraw('3333333301');
  expect(details).toMatch(/balance that the rail pays from is too low/);
  expect(details).toMatch(/Nothing was paid out/);
  await waitFor('more sends than a transfer has', async () => (await sendsOf(id)) > SENDS_MAX);
  expect((await flows.test.get(path)).data.status).toBe('processing');
  await fundBank();
  await flows.untilStatus(path, 'completed');
  const { data } = await flows.test.get(`/simulations/bank-transfers/${id}`);
  expect(data).toMatchObject({ timesPaid: 1 });
  expect(await flows.balanceOf(walletId)).toBe(FUNDS - HELD);
});

test.concurrent('two operators can give up a transfer that the rail did not accept, and the money is back', async () => {
  const { walletId, id, path } = await withdraw('3333333302');
  for (const operator of ['ngozi', 'tunde'] as const) {
    await flows.decide('resolve', id, { action: 'fail', reason: 'the customer is paid otherwise' }, operator);
  }
  await flows.untilStatus(path, 'failed');
  expect(await flows.balanceOf(walletId)).toBe(FUNDS);
  const { status } = await flows.test.get(`/simulations/bank-transfers/${id}`);
  expect(status).toBe(404);
});

test('a transfer that waits for money of a book with a shortfall names it, and says what to do', async () => {
  const book = { organisationId: flows.organisation.organisationId, environment: 'test' } as const;
  const charge = {
    rail: 'sandbox',
    kind: 'charge',
    reference: 'too much',
    amount: 100_000_000,
    at: new Date(),
  } as const;
  expect(await flows.dependencies.journal.post(postEntry(book, charge))).toEqual({ outcome: 'posted' });
  const { details, path, fundBank } = await withdraw('3333333305');
  expect(details).toMatch(/too low, and the banks hold ₦[\d,]+\.\d\d less than customers and the state are owed/);
  expect(details).toMatch(/Pay ₦[\d,]+\.\d\d of own money in at the provider: its statement has that as funding/);
  await fundBank();
  await flows.untilStatus(path, 'completed');
});

test('operators read the message of the provider', async () => {
  const { id, path, fundBank } = await withdraw('3333333303');
  const { output, errors } = await runAs(flows, 'ada', 'attention', 'show', id);
  expect(errors).toBe('');
  expect(output).toMatch(
    /Nothing was paid out.*\nLast message of the provider, at [-0-9: ]+ UTC: Insufficient balance\.\n$/s,
  );
  await fundBank();
  await flows.untilStatus(path, 'completed');
});

test('a notice about the balance wakes the transfers that wait for it, once for several notices', async () => {
  /** The sandbox bank, which reports its balance as providers do. */
  const reporting = changedRail(() => ({
    parseCallback: ({ body }) => {
      const { notice } = JSON.parse(body.toString()) as { notice: RailNotice };
      return Array.from({ length: 3 }, () => ({ kind: 'notice', notice, reference: null }));
    },
  }));
  const other = await startTestFlows({ rails: reporting });
  const accountNumber = '3333333304';
  await other.setBehaviour(accountNumber, 'underfunded');
  const { path, flow } = await other.withdraw(accountNumber, FUNDS);
  await other.setBehaviour('3333333306', 'hold');
  const accepted = await other.withdraw('3333333306', FUNDS);
  /** Activities that have ended and signals, in order. */
  const happened = async (handle = flow): Promise<string[]> => {
    const { events } = await handle.fetchHistory().catch(() => ({ events: [] })); // not started yet
    return (events ?? []).flatMap(
      (event) =>
        (event.activityTaskCompletedEventAttributes && 'step') ??
        event.workflowExecutionSignaledEventAttributes?.signalName ??
        [],
    );
  };
  // From the fourth step on it would send again after five minutes.
  await waitFor('four steps', async () => (await happened()).length >= 4);
  await other.setBehaviour(accountNumber, 'complete');
  const resumes = async () => {
    const query = `WorkflowType = 'railResume' AND TaskQueue = '${other.dependencies.config.temporal.taskQueue}'`;
    return (await other.temporal.workflow.count(query)).count;
  };
  await sendCallback(other, { notice: 'payment_rejected' });
  await sendCallback(other, { notice: 'settled' });
  await other.untilStatus(path, 'completed');
  expect((await happened()).slice(0, 6)).toEqual(['step', 'step', 'step', 'step', 'railResumed', 'step']);
  await waitFor('the flow to be listed', async () => (await resumes()) > 0);
  expect(await resumes()).toBe(1);
  expect(await happened(accepted.flow)).not.toContain('railResumed'); // the bank has accepted it
  await other.setBehaviour('3333333306', 'complete');
  await other.untilStatus(accepted.path, 'completed');
  expect(await endFlows(other)).toEqual([]);
});
