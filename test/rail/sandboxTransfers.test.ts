// Outcomes of transfers through the sandbox bank, as seen through the rail port, with a real Postgres and real
// callbacks.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { newUuid } from '../../src/ids.ts';
import { RailCallError, RailRefusedError } from '../../src/rail/errors.ts';
import { explainFailure, NIP_WORDS_OF, RAIL_FAILURES, type RailFailureCode } from '../../src/rail/failures.ts';
import { BANKS } from '../../src/rail/sandbox/banks.ts';
import { BEHAVIOURS, type Behaviour, OUTCOMES, type Outcome } from '../../src/rail/sandbox/destinations.ts';
import { waitFor } from '../support/waitFor.ts';
import {
  accountRequest,
  instruct,
  NOT_VISIBLE_FOR_MS,
  newReference,
  startSandbox,
  type TestSandbox,
} from './sandbox.ts';

let sandbox: TestSandbox;

beforeAll(async () => {
  sandbox = await startSandbox();
});

afterAll(() => sandbox.close());

const PROCESSING = { status: 'processing', reason: null };
const TIMED_OUT = expect.objectContaining({ name: 'RailUnavailableError', timedOut: true });
const UNREACHABLE = expect.objectContaining({ name: 'RailUnavailableError', timedOut: false });

const to = (accountNumber: string, more: object = {}) => instruct(sandbox.organisationId, { accountNumber, ...more });
const statusOf = (reference: string) =>
  sandbox.rail.transferStatus({ organisationId: sandbox.organisationId, reference });
const resolveName = (accountNumber: string, bankCode = '058') =>
  sandbox.rail.resolveAccount({ organisationId: sandbox.organisationId, accountNumber, bankCode });
const end = (reference: string, outcome: Outcome, contradict = false) =>
  sandbox.bank.transfers.resolve(sandbox.organisationId, reference, outcome, { contradict });
const record = (reference: string) => sandbox.bank.transfers.find(sandbox.organisationId, reference);
const setBehaviour = (accountNumber: string, behaviour: Behaviour, more: { bankCode?: string; name?: string } = {}) =>
  sandbox.bank.transfers.setDestination(
    { organisationId: sandbox.organisationId, accountNumber, bankCode: more.bankCode ?? null },
    { name: more.name ?? null, behaviour },
  );
const untilCallbacks = (reference: string, times = 1) =>
  waitFor(`${times} callbacks about ${reference}`, () => sandbox.newsOf(reference) >= times);

/** An account number that no other test uses. */
let lastAccountNumber = 1_000_000_000;
function newAccountNumber(): string {
  lastAccountNumber += 1;
  return String(lastAccountNumber);
}

test.each(['reject', 'return'] as const)('a held transfer can %s with each code of NIP', async (outcome) => {
  for (const code of Object.keys(NIP_WORDS_OF) as RailFailureCode[]) {
    const { reference } = await sandbox.rail.sendTransfer(to('9999999003'));
    await sandbox.bank.transfers.resolve(sandbox.organisationId, reference, outcome, { failureCode: code });
    const report = await statusOf(reference);
    const change = outcome === 'reject' ? 'fail' : 'return';
    expect(explainFailure(change, report?.reason ?? null, sandbox.rail.failures).code).toBe(code);
  }
  const general = ['bank_refused', 'bank_returned'];
  expect([...Object.keys(NIP_WORDS_OF), ...general].toSorted()).toEqual(Object.keys(RAIL_FAILURES).toSorted());
});

describe('transfers to the preset accounts', () => {
  test('a transfer is processing at first, then completed with a callback, and has a session id of NIBSS form', async () => {
    const instruction = to('0123456789');
    const sent = await sandbox.rail.sendTransfer(instruction);
    expect(sent).toEqual({
      reference: instruction.reference,
      sessionId: expect.stringMatching(/^000999[0-9]{24}$/),
      amount: instruction.amount,
      accountNumber: '0123456789',
      bankCode: instruction.bankCode,
      charge: 0,
      ...PROCESSING,
    });
    await untilCallbacks(instruction.reference);
    expect(await statusOf(instruction.reference)).toEqual({ ...sent, status: 'completed' });
    expect(await record(instruction.reference)).toMatchObject({ timesPaid: 1, timesReturned: 0, narration: 'Rent' });
  });

  test('a transfer does not complete before the configured delay', async () => {
    const slow = to('0123456789');
    await sandbox.openBranch(3_600_000).transfers.send(slow);
    const quick = to('0123456789');
    await sandbox.rail.sendTransfer(quick);
    await sandbox.untilStatus(quick.reference, 'completed');
    expect(await statusOf(slow.reference)).toMatchObject(PROCESSING);
  });

  test('a callback is repeated until the customer accepts it', async () => {
    const instruction = to('0123456789');
    sandbox.refuseNewsOf(instruction.reference);
    await sandbox.rail.sendTransfer(instruction);
    await untilCallbacks(instruction.reference, 2);
    expect(await record(instruction.reference)).toMatchObject({ timesPaid: 1 });
  });

  test.each([
    ['9999999001', 'failed', 'The receiving bank rejected the transfer', { timesPaid: 0, timesReturned: 0 }],
    ['9999999002', 'returned', 'The receiving bank returned the money', { timesPaid: 1, timesReturned: 1 }],
  ])('a transfer to %s is accepted, then %s with a reason', async (accountNumber, status, reason, counts) => {
    const instruction = to(accountNumber);
    expect(await sandbox.rail.sendTransfer(instruction)).toMatchObject(PROCESSING);
    await untilCallbacks(instruction.reference);
    expect(await statusOf(instruction.reference)).toMatchObject({ status, reason });
    expect(await record(instruction.reference)).toMatchObject(counts);
  });

  test.each([
    ['complete', 'completed'],
    ['reject', 'failed'],
    ['return', 'returned'],
  ] as const)('a transfer to 9999999003 is held until it is resolved with %s', async (outcome, status) => {
    const held = to('9999999003');
    await sandbox.rail.sendTransfer(held);
    const later = to('0123456789');
    await sandbox.rail.sendTransfer(later);
    await sandbox.untilStatus(later.reference, 'completed');
    expect(await statusOf(held.reference)).toMatchObject(PROCESSING);
    expect(sandbox.newsOf(held.reference)).toBe(0);

    expect(await end(held.reference, outcome)).toBe(true);
    expect(await statusOf(held.reference)).toMatchObject({ status });
    await untilCallbacks(held.reference);
  });

  test('the send to 9999999004 times out, but the bank accepts and completes it', async () => {
    const instruction = to('9999999004');
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toEqual(TIMED_OUT);
    const report = await sandbox.untilStatus(instruction.reference, 'completed');
    await untilCallbacks(instruction.reference);
    expect(await sandbox.rail.sendTransfer(instruction)).toEqual(report);
    expect(await record(instruction.reference)).toMatchObject({ timesSent: 2, timesPaid: 1 });
  });

  test('the send to 9999999005 times out and never reaches the bank, however often it is sent', async () => {
    const instruction = to('9999999005');
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toEqual(TIMED_OUT);
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toEqual(TIMED_OUT);
    expect(await statusOf(instruction.reference)).toBeNull();
    expect(await record(instruction.reference)).toBeNull();
    expect(sandbox.rail.capabilities.transfers.notVisibleForMs).toBe(NOT_VISIBLE_FOR_MS);
  });

  test('name enquiry for 9999999006 finds no account, and a transfer to it fails', async () => {
    expect(await resolveName('9999999006')).toBeNull();
    const instruction = to('9999999006');
    await sandbox.rail.sendTransfer(instruction);
    await sandbox.untilStatus(instruction.reference, 'failed');
  });

  test('name enquiry for 9999999007 returns another name, and a transfer to it completes', async () => {
    expect(await resolveName('9999999007')).toEqual({ accountName: 'SOMEBODY ELSE' });
    const instruction = to('9999999007');
    await sandbox.rail.sendTransfer(instruction);
    await sandbox.untilStatus(instruction.reference, 'completed');
  });

  test('sends and status polls for 9999999008 are unavailable, and name enquiry works', async () => {
    const instruction = to('9999999008');
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toEqual(UNREACHABLE);
    await expect(statusOf(instruction.reference)).rejects.toEqual(UNREACHABLE);
    expect(await resolveName('9999999008')).toEqual({ accountName: expect.any(String) });
  });

  test('for an unknown bank, name enquiry finds no account and a send is refused', async () => {
    expect(await resolveName('0123456789', '998')).toBeNull();
    const instruction = to('0123456789', { bankCode: '998' });
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toBeInstanceOf(RailRefusedError);
    expect(await statusOf(instruction.reference)).toBeNull();
  });
});

describe('transfers to configured accounts', () => {
  test('after an outage of its bank, the next send of the same reference is accepted', async () => {
    const accountNumber = newAccountNumber();
    await setBehaviour(accountNumber, 'unavailable');
    const instruction = to(accountNumber);
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toEqual(UNREACHABLE);
    await expect(statusOf(instruction.reference)).rejects.toEqual(UNREACHABLE);
    await setBehaviour(accountNumber, 'complete');
    expect(await statusOf(instruction.reference)).toBeNull();
    await sandbox.rail.sendTransfer(instruction);
    await sandbox.untilStatus(instruction.reference, 'completed');
    expect(await record(instruction.reference)).toMatchObject({ timesSent: 2, timesPaid: 1 });
  });

  test('an outage after the send makes status polls unavailable until it ends', async () => {
    const accountNumber = newAccountNumber();
    const instruction = to(accountNumber);
    await sandbox.rail.sendTransfer(instruction);
    await setBehaviour(accountNumber, 'unavailable');
    await expect(statusOf(instruction.reference)).rejects.toEqual(UNREACHABLE);
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toEqual(UNREACHABLE);
    await setBehaviour(accountNumber, 'complete');
    await sandbox.untilStatus(instruction.reference, 'completed');
    expect(await record(instruction.reference)).toMatchObject({ timesPaid: 1 });
  });

  test.each([
    ['complete', 'completed'],
    ['reject', 'failed'],
    ['return', 'returned'],
  ] as const)('setting an account to %s also ends its held transfers', async (behaviour, status) => {
    const accountNumber = newAccountNumber();
    await setBehaviour(accountNumber, 'hold');
    const instruction = to(accountNumber);
    await sandbox.rail.sendTransfer(instruction);
    await setBehaviour(accountNumber, 'hold');
    expect(await statusOf(instruction.reference)).toMatchObject(PROCESSING);
    await setBehaviour(accountNumber, behaviour);
    await sandbox.untilStatus(instruction.reference, status);
    await untilCallbacks(instruction.reference);
  });

  test('a setting for one bank takes precedence over one for every bank, whichever came first', async () => {
    const accountNumber = newAccountNumber();
    const [here, there] = [to(accountNumber, { bankCode: '044' }), to(accountNumber, { bankCode: '057' })];
    await setBehaviour(accountNumber, 'hold', { bankCode: '044', name: 'ADA OBI' });
    await setBehaviour(accountNumber, 'hold', { name: 'BOLA ADE' });
    expect(await resolveName(accountNumber, '044')).toEqual({ accountName: 'ADA OBI' });
    expect(await resolveName(accountNumber, '057')).toEqual({ accountName: 'BOLA ADE' });
    await Promise.all([here, there].map((instruction) => sandbox.rail.sendTransfer(instruction)));
    await setBehaviour(accountNumber, 'reject');
    await sandbox.untilStatus(there.reference, 'failed');
    expect(await statusOf(here.reference)).toMatchObject(PROCESSING);
    await setBehaviour(accountNumber, 'complete', { bankCode: '044' });
    await sandbox.untilStatus(here.reference, 'completed');
  });

  test('a setting without a name keeps the default name, also where name enquiry found none', async () => {
    expect(await setBehaviour('9999999006', 'complete')).toEqual({ behaviour: 'complete', name: expect.any(String) });
    expect(await setBehaviour('9999999007', 'hold')).toEqual({ behaviour: 'hold', name: 'SOMEBODY ELSE' });
    expect(await setBehaviour('0123456789', 'complete', { name: 'ADA OBI' })).toMatchObject({ name: 'ADA OBI' });
    expect(await setBehaviour('0123456789', 'complete')).not.toMatchObject({ name: 'ADA OBI' });
  });

  test('settings and references are per organisation', async () => {
    const accountNumber = newAccountNumber();
    await setBehaviour(accountNumber, 'reject', { name: 'ADA OBI' });
    const own = to(accountNumber);
    const foreign = { ...own, organisationId: newUuid() };
    await sandbox.rail.sendTransfer(own);
    await sandbox.rail.sendTransfer(foreign);
    await sandbox.untilStatus(own.reference, 'failed');
    await waitFor('the other transfer to complete', async () => {
      const report = await sandbox.rail.transferStatus(foreign);
      return report?.status === 'completed';
    });
    const { organisationId } = foreign;
    expect(await sandbox.rail.resolveAccount({ organisationId, accountNumber, bankCode: '058' })).not.toEqual({
      accountName: 'ADA OBI',
    });
    expect(await sandbox.bank.transfers.find(newUuid(), own.reference)).toBeNull();
    expect(await sandbox.bank.transfers.resolve(newUuid(), own.reference, 'reject')).toBe(false);
  });
});

describe('one transfer per reference', () => {
  test('50 concurrent sends through two processes, both with a running clock, pay once', async () => {
    const branch = sandbox.openBranch();
    const clock = branch.clock();
    const instruction = to(newAccountNumber());
    clock.start();
    const sent = await Promise.all(
      Array.from({ length: 50 }, (_, position) =>
        (position % 2 === 0 ? sandbox.bank : branch).transfers.send(instruction),
      ),
    );
    expect(new Set(sent.map(({ sessionId }) => sessionId)).size).toBe(1);
    await sandbox.untilStatus(instruction.reference, 'completed');
    await clock.stop();
    expect(await record(instruction.reference)).toMatchObject({ timesSent: 50, timesPaid: 1, timesReturned: 0 });
  });

  test('100 due transfers are each paid once and reported once by four processes of the bank', async () => {
    const stopped = await startSandbox({ clock: 'stopped' });
    const branches = Array.from({ length: 4 }, () => stopped.openBranch());
    const clocks = branches.map((branch) => branch.clock());
    try {
      const { organisationId } = stopped;
      const references = Array.from({ length: 100 }, newReference);
      await Promise.all(
        references.map((reference) => stopped.rail.sendTransfer(instruct(organisationId, { reference }))),
      );
      // Each has its connection by then, so that they all start at the same moment.
      await Promise.all(branches.map((branch) => branch.transfers.find(organisationId, references[0] ?? '')));
      for (const clock of clocks) clock.start();
      await waitFor('a callback about every transfer', () =>
        references.every((reference) => stopped.newsOf(reference) > 0),
      );
      for (const reference of references) {
        expect(await stopped.bank.transfers.find(organisationId, reference)).toMatchObject({ timesPaid: 1 });
        expect(stopped.newsOf(reference)).toBe(1);
      }
    } finally {
      await Promise.all(clocks.map((clock) => clock.stop()));
      await stopped.close();
    }
  });

  test('of 50 concurrent sends whose first response is lost, one times out and the others return the status', async () => {
    const instruction = to('9999999004');
    const answers = await Promise.allSettled(Array.from({ length: 50 }, () => sandbox.rail.sendTransfer(instruction)));
    expect(answers.filter((answer) => answer.status === 'rejected').map((answer) => answer.reason)).toEqual([
      TIMED_OUT,
    ]);
    await sandbox.untilStatus(instruction.reference, 'completed');
    expect(await record(instruction.reference)).toMatchObject({ timesSent: 50, timesPaid: 1 });
  });

  test('a second instruction with the same reference changes nothing', async () => {
    const first = to('9999999003');
    const sent = await sandbox.rail.sendTransfer(first);
    const second = { ...first, amount: 1, accountNumber: '0123456789' };
    expect(await sandbox.rail.sendTransfer(second)).toEqual(sent);
    expect(await record(first.reference)).toMatchObject({ amount: first.amount, accountNumber: '9999999003' });
  });

  test('a bank that changes its mind pays a failed transfer, or has the money of a completed one back, on its statement', async () => {
    const { reference } = await sandbox.rail.sendTransfer(to('9999999003'));
    await end(reference, 'reject');
    expect(await end(reference, 'complete')).toBe(false);
    expect(await end(reference, 'complete', true)).toBe(true);
    expect(await record(reference)).toMatchObject({ status: 'completed', reason: null, timesPaid: 1 });
    expect(await end(reference, 'reject', true)).toBe(true);
    expect(await record(reference)).toMatchObject({ status: 'failed', timesPaid: 1, timesReturned: 1 });
    await untilCallbacks(reference, 3);
  });

  test('random sends, settings and resolutions pay a transfer at most once and return only paid ones', async () => {
    const step = fc.oneof(
      fc.constant({ do: 'send' } as const),
      fc.record({ do: fc.constant('behave' as const), behaviour: fc.constantFrom(...BEHAVIOURS) }),
      fc.record({ do: fc.constant('resolve' as const), outcome: fc.constantFrom(...OUTCOMES) }),
    );
    const anyCallError = (error: unknown): void => expect(error).toBeInstanceOf(RailCallError);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), fc.boolean(), async (steps, together) => {
        const instruction = to(newAccountNumber());
        const run = async (action: (typeof steps)[number]): Promise<void> => {
          if (action.do === 'behave') await setBehaviour(instruction.accountNumber, action.behaviour);
          else if (action.do === 'resolve') await end(instruction.reference, action.outcome);
          else await sandbox.bank.transfers.send(instruction).catch(anyCallError);
        };
        if (together) await Promise.all(steps.map(run));
        else for (const action of steps) await run(action);
        const found = await record(instruction.reference);
        if (found === null) return;
        const { status, timesPaid, timesReturned } = found;
        expect([status, timesPaid, timesReturned]).toEqual(
          {
            processing: ['processing', 0, 0],
            completed: ['completed', 1, 0],
            failed: ['failed', 0, 0],
            returned: ['returned', 1, 1],
          }[status],
        );
      }),
      { numRuns: 40 },
    );
  });
});

describe('resolved transfers', () => {
  const sendHeld = async (): Promise<string> => {
    const instruction = to('9999999003');
    await sandbox.rail.sendTransfer(instruction);
    return instruction.reference;
  };

  test('resolving again moves nothing and repeats the callback', async () => {
    const reference = await sendHeld();
    await end(reference, 'complete');
    await untilCallbacks(reference, 1);
    expect(await end(reference, 'complete')).toBe(true);
    await untilCallbacks(reference, 2);
    expect(await record(reference)).toMatchObject({ status: 'completed', timesPaid: 1 });
  });

  test('a completed transfer can be returned later, with a callback', async () => {
    const reference = await sendHeld();
    await end(reference, 'complete');
    expect(await end(reference, 'return')).toBe(true);
    expect(await end(reference, 'return')).toBe(true);
    await untilCallbacks(reference, 3);
    expect(await statusOf(reference)).toMatchObject({
      status: 'returned',
      reason: 'The receiving bank returned the money',
    });
    expect(await record(reference)).toMatchObject({ timesPaid: 1, timesReturned: 1 });
  });

  test.each([
    ['complete', 'reject'],
    ['reject', 'complete'],
    ['reject', 'return'],
    ['return', 'complete'],
    ['return', 'reject'],
  ] as const)('resolving with %s and then with %s is refused and changes nothing', async (first, second) => {
    const reference = await sendHeld();
    await end(reference, first);
    const before = await record(reference);
    expect(await end(reference, second)).toBe(false);
    expect(await record(reference)).toEqual(before);
  });

  test('50 concurrent resolutions with different outcomes have exactly one effect', async () => {
    const reference = await sendHeld();
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, position) => end(reference, OUTCOMES[position % 3] as Outcome)),
    );
    expect(results).toContain(true);
    const found = await record(reference);
    expect(found?.timesPaid).toBe(found?.status === 'failed' ? 0 : 1);
    expect(found?.timesReturned).toBe(found?.status === 'returned' ? 1 : 0);
    await untilCallbacks(reference, results.filter(Boolean).length);
  });

  test("five concurrent resolutions that wait for the same row each see the previous one's result", async () => {
    const reference = await sendHeld();
    const { sql, organisationId } = sandbox;
    let ending: Promise<boolean[]> | undefined;
    await sql.begin(async (holder) => {
      await holder`
        SELECT FROM sandbox_bank.transfers
        WHERE organisation_id = ${organisationId} AND reference = ${reference} FOR UPDATE`;
      ending = Promise.all(Array.from({ length: 5 }, () => end(reference, 'complete')));
      await waitFor('all five to wait for the row', async () => {
        const [waiting] = await sql<{ count: number }[]>`
          SELECT count(*)::int AS count FROM pg_locks JOIN pg_stat_activity USING (pid)
          WHERE datname = current_database() AND NOT granted`;
        return waiting?.count === 5;
      });
    });
    expect(await ending).toEqual([true, true, true, true, true]);
    expect(await record(reference)).toMatchObject({ status: 'completed', timesPaid: 1 });
    await untilCallbacks(reference, 5);
  });

  test('an unknown transfer cannot be resolved', async () => {
    expect(await end(newReference(), 'complete')).toBe(false);
  });
});

describe('transfers to an account at the sandbox bank itself', () => {
  const openAccount = (organisationId: string) => sandbox.rail.openVirtualAccount(accountRequest(organisationId));
  const arrivalsAt = (accountNumber: string) =>
    sandbox.callbacks
      .filter((callback) => callback.kind === 'inbound_credit')
      .map(({ sessionId, hint }) => ({ sessionId, ...hint }))
      .filter((credit) => credit.accountNumber === accountNumber);

  test('a completed transfer arrives under its own session id, with callbacks to both sides', async () => {
    const { accountNumber, bankName } = await openAccount(sandbox.organisationId);
    const bankCode = BANKS.find(({ name }) => name === bankName)?.code ?? '';
    expect(await resolveName(accountNumber, bankCode)).toEqual({ accountName: 'Ada Obi' });
    const instruction = to(accountNumber, { bankCode });
    const { sessionId } = await sandbox.rail.sendTransfer(instruction);
    await untilCallbacks(instruction.reference);
    const [arrival] = await waitFor('the arrival', () => {
      const arrivals = arrivalsAt(accountNumber);
      return arrivals.length > 0 && arrivals;
    });
    expect(arrival).toMatchObject({ sessionId, amount: instruction.amount });
    const request = { organisationId: sandbox.organisationId, sessionId: sessionId ?? '', accountReference: null };
    expect(await sandbox.rail.findInboundCredit(request)).toMatchObject({ accountNumber, amount: instruction.amount });
  });

  test('an arrived transfer cannot be returned, which would duplicate the money', async () => {
    const { accountNumber } = await openAccount(sandbox.organisationId);
    const instruction = to(accountNumber, { bankCode: '999' });
    await sandbox.rail.sendTransfer(instruction);
    await sandbox.untilStatus(instruction.reference, 'completed');
    expect(await end(instruction.reference, 'return')).toBe(false);
    expect(await end(instruction.reference, 'complete')).toBe(true);
    await untilCallbacks(instruction.reference, 2);
    expect(arrivalsAt(accountNumber)).toHaveLength(1);
  });

  test.each([
    ['reject', 'failed'],
    ['return', 'returned'],
  ] as const)('a transfer to an account set to %s does not arrive', async (behaviour, status) => {
    const { accountNumber } = await openAccount(sandbox.organisationId);
    await setBehaviour(accountNumber, behaviour);
    const instruction = to(accountNumber, { bankCode: '999' });
    const { sessionId } = await sandbox.rail.sendTransfer(instruction);
    await sandbox.untilStatus(instruction.reference, status);
    const request = { organisationId: sandbox.organisationId, sessionId: sessionId ?? '', accountReference: null };
    expect(await sandbox.rail.findInboundCredit(request)).toBeNull();
  });

  test("a transfer to an account of another organisation does not arrive in the sender's own", async () => {
    const { accountNumber } = await openAccount(newUuid());
    const instruction = to(accountNumber, { bankCode: '999' });
    const { sessionId } = await sandbox.rail.sendTransfer(instruction);
    await sandbox.untilStatus(instruction.reference, 'completed');
    const request = { organisationId: sandbox.organisationId, sessionId: sessionId ?? '', accountReference: null };
    expect(await sandbox.rail.findInboundCredit(request)).toBeNull();
  });

  test('a transfer whose session id a simulated credit already has is not credited again, and does not block others', async () => {
    const { accountNumber } = await openAccount(sandbox.organisationId);
    await setBehaviour(accountNumber, 'hold');
    const instruction = to(accountNumber, { bankCode: '999' });
    const { sessionId } = await sandbox.rail.sendTransfer(instruction);
    await sandbox.bank.receiveCredit({
      organisationId: sandbox.organisationId,
      sessionId: sessionId ?? '',
      accountNumber,
      amount: 1,
      senderName: null,
      senderAccountNumber: null,
      senderBankCode: null,
    });
    await setBehaviour(accountNumber, 'complete');
    await sandbox.untilStatus(instruction.reference, 'completed');
    const request = { organisationId: sandbox.organisationId, sessionId: sessionId ?? '', accountReference: null };
    expect(await sandbox.rail.findInboundCredit(request)).toMatchObject({ amount: 1 });
  });
});
