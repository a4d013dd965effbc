// What a transfer through the sandbox bank can come to, seen through the rail port: real Postgres, real callbacks.
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { newUuid } from '../../src/ids.ts';
import { type InboundCreditReport, RailRefusedError } from '../../src/rail/port.ts';
import { BANKS } from '../../src/rail/sandbox/banks.ts';
import { BEHAVIOURS, type Behaviour, OUTCOMES, type Outcome } from '../../src/rail/sandbox/destinations.ts';
import { waitFor } from '../support/waitFor.ts';
import { instruct, newReference, startSandbox, type TestSandbox, UNKNOWN_IS_FINAL_AFTER_MS } from './sandbox.ts';

let sandbox: TestSandbox;

beforeAll(async () => {
  sandbox = await startSandbox();
});

afterAll(async () => {
  await sandbox.close();
});

const NOTHING_YET = { status: 'processing', reason: null };
const TIMED_OUT = expect.objectContaining({ name: 'RailUnavailable', timedOut: true });
const UNREACHABLE = expect.objectContaining({ name: 'RailUnavailable', timedOut: false });

const to = (accountNumber: string, more: object = {}) => instruct(sandbox.organisationId, { accountNumber, ...more });
const statusOf = (reference: string) =>
  sandbox.rail.transferStatus({ organisationId: sandbox.organisationId, reference });
const resolveName = (accountNumber: string, bankCode = '058') =>
  sandbox.rail.resolveAccount({ organisationId: sandbox.organisationId, accountNumber, bankCode });
const end = (reference: string, outcome: Outcome) =>
  sandbox.bank.transfers.resolve(sandbox.organisationId, reference, outcome);
const record = (reference: string) => sandbox.bank.transfers.find(sandbox.organisationId, reference);
const behave = (accountNumber: string, behaviour: Behaviour, more: { bankCode?: string; name?: string } = {}) =>
  sandbox.bank.transfers.setDestination(
    { organisationId: sandbox.organisationId, accountNumber, bankCode: more.bankCode ?? null },
    { name: more.name ?? null, behaviour },
  );
const untilTold = (reference: string, times = 1) =>
  waitFor(`${times} callbacks about ${reference}`, () => sandbox.newsOf(reference) >= times);

/** An account number that no other test uses. */
let lastAccountNumber = 1_000_000_000;
function newAccountNumber(): string {
  lastAccountNumber += 1;
  return String(lastAccountNumber);
}

describe('a transfer ends as its account says', () => {
  test('any account: processing at once, completed and told a moment later, with a session id of NIBSS form', async () => {
    const instruction = to('0123456789');
    const sent = await sandbox.rail.sendTransfer(instruction);
    expect(sent).toEqual({
      reference: instruction.reference,
      sessionId: expect.stringMatching(/^000999[0-9]{24}$/),
      ...NOTHING_YET,
    });
    await untilTold(instruction.reference);
    expect(await statusOf(instruction.reference)).toEqual({ ...sent, status: 'completed' });
    expect(await record(instruction.reference)).toMatchObject({ timesPaid: 1, timesReturned: 0, narration: 'Rent' });
  });

  test('but not before its time', async () => {
    const slow = to('0123456789');
    await sandbox.openBranch(3_600_000).transfers.send(slow);
    const quick = to('0123456789');
    await sandbox.rail.sendTransfer(quick);
    await sandbox.untilStatus(quick.reference, 'completed');
    expect(await statusOf(slow.reference)).toMatchObject(NOTHING_YET);
  });

  test('and its callback comes again until the customer takes it', async () => {
    const instruction = to('0123456789');
    sandbox.refuseNewsOf(instruction.reference);
    await sandbox.rail.sendTransfer(instruction);
    await untilTold(instruction.reference, 2);
    expect(await record(instruction.reference)).toMatchObject({ timesPaid: 1 });
  });

  test('9999999001: taken, then failed with a reason; nothing was paid', async () => {
    const instruction = to('9999999001');
    expect(await sandbox.rail.sendTransfer(instruction)).toMatchObject(NOTHING_YET);
    await untilTold(instruction.reference);
    expect(await statusOf(instruction.reference)).toMatchObject({
      status: 'failed',
      reason: 'The receiving bank rejected the transfer',
    });
    expect(await record(instruction.reference)).toMatchObject({ timesPaid: 0, timesReturned: 0 });
  });

  test('9999999002: taken, paid, and returned with a reason', async () => {
    const instruction = to('9999999002');
    expect(await sandbox.rail.sendTransfer(instruction)).toMatchObject(NOTHING_YET);
    await untilTold(instruction.reference);
    expect(await statusOf(instruction.reference)).toMatchObject({
      status: 'returned',
      reason: 'The receiving bank returned the money',
    });
    expect(await record(instruction.reference)).toMatchObject({ timesPaid: 1, timesReturned: 1 });
  });

  test.each([
    ['complete', 'completed'],
    ['reject', 'failed'],
    ['return', 'returned'],
  ] as const)('9999999003: held until somebody says %s', async (outcome, status) => {
    const held = to('9999999003');
    await sandbox.rail.sendTransfer(held);
    const later = to('0123456789');
    await sandbox.rail.sendTransfer(later);
    await sandbox.untilStatus(later.reference, 'completed');
    expect(await statusOf(held.reference)).toMatchObject(NOTHING_YET);
    expect(sandbox.newsOf(held.reference)).toBe(0);

    expect(await end(held.reference, outcome)).toBe(true);
    expect(await statusOf(held.reference)).toMatchObject({ status });
    await untilTold(held.reference);
  });

  test('9999999004: the answer times out, but the bank took it and completes it', async () => {
    const instruction = to('9999999004');
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toEqual(TIMED_OUT);
    const report = await sandbox.untilStatus(instruction.reference, 'completed');
    await untilTold(instruction.reference);
    expect(await sandbox.rail.sendTransfer(instruction)).toEqual(report);
    expect(await record(instruction.reference)).toMatchObject({ timesSent: 2, timesPaid: 1 });
  });

  test('9999999005: the answer times out and the bank never hears of it, however often it is sent', async () => {
    const instruction = to('9999999005');
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toEqual(TIMED_OUT);
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toEqual(TIMED_OUT);
    expect(await statusOf(instruction.reference)).toBeNull();
    expect(await record(instruction.reference)).toBeNull();
    expect(sandbox.rail.unknownIsFinalAfterMs).toBe(UNKNOWN_IS_FINAL_AFTER_MS);
  });

  test('9999999006: name enquiry finds nobody, and a transfer there fails', async () => {
    expect(await resolveName('9999999006')).toBeNull();
    const instruction = to('9999999006');
    await sandbox.rail.sendTransfer(instruction);
    await sandbox.untilStatus(instruction.reference, 'failed');
  });

  test('9999999007: name enquiry finds somebody else, and a transfer there completes', async () => {
    expect(await resolveName('9999999007')).toEqual({ accountName: 'SOMEBODY ELSE' });
    const instruction = to('9999999007');
    await sandbox.rail.sendTransfer(instruction);
    await sandbox.untilStatus(instruction.reference, 'completed');
  });

  test('9999999008: the bank answers neither a send nor a question about it, but does tell the name', async () => {
    const instruction = to('9999999008');
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toEqual(UNREACHABLE);
    await expect(statusOf(instruction.reference)).rejects.toEqual(UNREACHABLE);
    expect(await resolveName('9999999008')).toEqual({ accountName: expect.any(String) });
  });

  test('a bank that nobody knows: no name, and a transfer is refused for good', async () => {
    expect(await resolveName('0123456789', '998')).toBeNull();
    const instruction = to('0123456789', { bankCode: '998' });
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toBeInstanceOf(RailRefusedError);
    expect(await statusOf(instruction.reference)).toBeNull();
  });
});

describe('an account behaves as its customer chose', () => {
  test('an unavailable bank that comes back takes the next send of the same reference', async () => {
    const accountNumber = newAccountNumber();
    await behave(accountNumber, 'unavailable');
    const instruction = to(accountNumber);
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toEqual(UNREACHABLE);
    await expect(statusOf(instruction.reference)).rejects.toEqual(UNREACHABLE);
    await behave(accountNumber, 'complete');
    expect(await statusOf(instruction.reference)).toBeNull();
    await sandbox.rail.sendTransfer(instruction);
    await sandbox.untilStatus(instruction.reference, 'completed');
    expect(await record(instruction.reference)).toMatchObject({ timesSent: 2, timesPaid: 1 });
  });

  test('a bank that goes away after it took a transfer does not answer about it, and is right when it is back', async () => {
    const accountNumber = newAccountNumber();
    const instruction = to(accountNumber);
    await sandbox.rail.sendTransfer(instruction);
    await behave(accountNumber, 'unavailable');
    await expect(statusOf(instruction.reference)).rejects.toEqual(UNREACHABLE);
    await expect(sandbox.rail.sendTransfer(instruction)).rejects.toEqual(UNREACHABLE);
    await behave(accountNumber, 'complete');
    await sandbox.untilStatus(instruction.reference, 'completed');
    expect(await record(instruction.reference)).toMatchObject({ timesPaid: 1 });
  });

  test.each([
    ['complete', 'completed'],
    ['reject', 'failed'],
    ['return', 'returned'],
  ] as const)('an account that is set to %s lets go of what it holds', async (behaviour, status) => {
    const accountNumber = newAccountNumber();
    await behave(accountNumber, 'hold');
    const instruction = to(accountNumber);
    await sandbox.rail.sendTransfer(instruction);
    await behave(accountNumber, 'hold');
    expect(await statusOf(instruction.reference)).toMatchObject(NOTHING_YET);
    await behave(accountNumber, behaviour);
    await sandbox.untilStatus(instruction.reference, status);
    await untilTold(instruction.reference);
  });

  test('a choice for one bank goes before the choice for every bank, whichever came first', async () => {
    const accountNumber = newAccountNumber();
    const [here, there] = [to(accountNumber, { bankCode: '044' }), to(accountNumber, { bankCode: '057' })];
    await behave(accountNumber, 'hold', { bankCode: '044', name: 'ADA OBI' });
    await behave(accountNumber, 'hold', { name: 'BOLA ADE' });
    expect(await resolveName(accountNumber, '044')).toEqual({ accountName: 'ADA OBI' });
    expect(await resolveName(accountNumber, '057')).toEqual({ accountName: 'BOLA ADE' });
    await Promise.all([here, there].map((instruction) => sandbox.rail.sendTransfer(instruction)));
    await behave(accountNumber, 'reject');
    await sandbox.untilStatus(there.reference, 'failed');
    expect(await statusOf(here.reference)).toMatchObject(NOTHING_YET);
    await behave(accountNumber, 'complete', { bankCode: '044' });
    await sandbox.untilStatus(here.reference, 'completed');
  });

  test('a choice without a name leaves the usual one, also where none was found before', async () => {
    expect(await behave('9999999006', 'complete')).toEqual({ behaviour: 'complete', name: expect.any(String) });
    expect(await behave('9999999007', 'hold')).toEqual({ behaviour: 'hold', name: 'SOMEBODY ELSE' });
    expect(await behave('0123456789', 'complete', { name: 'ADA OBI' })).toMatchObject({ name: 'ADA OBI' });
    expect(await behave('0123456789', 'complete')).not.toMatchObject({ name: 'ADA OBI' });
  });

  test('choices and references belong to one organisation', async () => {
    const accountNumber = newAccountNumber();
    await behave(accountNumber, 'reject', { name: 'ADA OBI' });
    const ours = to(accountNumber);
    const theirs = { ...ours, organisationId: newUuid() };
    await sandbox.rail.sendTransfer(ours);
    await sandbox.rail.sendTransfer(theirs);
    await sandbox.untilStatus(ours.reference, 'failed');
    await waitFor('their transfer to complete', async () => {
      const report = await sandbox.rail.transferStatus(theirs);
      return report?.status === 'completed';
    });
    const { organisationId } = theirs;
    expect(await sandbox.rail.resolveAccount({ organisationId, accountNumber, bankCode: '058' })).not.toEqual({
      accountName: 'ADA OBI',
    });
    expect(await sandbox.bank.transfers.find(newUuid(), ours.reference)).toBeNull();
    expect(await sandbox.bank.transfers.resolve(newUuid(), ours.reference, 'reject')).toBe(false);
  });
});

describe('a reference is one transfer', () => {
  test('50 sends at once through two processes, both of which also end what is due: paid once', async () => {
    const branch = sandbox.openBranch();
    const clock = branch.clock();
    const instruction = to(newAccountNumber());
    clock.start();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, position) =>
        (position % 2 === 0 ? sandbox.bank : branch).transfers.send(instruction),
      ),
    );
    const sessionIds = answers.map((answer) => (answer.answer === 'known' ? answer.transfer.sessionId : answer.answer));
    expect(new Set(sessionIds).size).toBe(1);
    await sandbox.untilStatus(instruction.reference, 'completed');
    await clock.stop();
    expect(await record(instruction.reference)).toMatchObject({ timesSent: 50, timesPaid: 1, timesReturned: 0 });
  });

  test('100 transfers are due when four processes wake up: each is paid once and told once', async () => {
    const asleep = await startSandbox({ clock: 'stopped' });
    const branches = Array.from({ length: 4 }, () => asleep.openBranch());
    const clocks = branches.map((branch) => branch.clock());
    try {
      const { organisationId } = asleep;
      const references = Array.from({ length: 100 }, newReference);
      await Promise.all(
        references.map((reference) => asleep.rail.sendTransfer(instruct(organisationId, { reference }))),
      );
      // Each has its connection by now, so that they all look at the same moment.
      await Promise.all(branches.map((branch) => branch.transfers.find(organisationId, references[0] ?? '')));
      for (const clock of clocks) clock.start();
      await waitFor('every transfer to be told', () => references.every((reference) => asleep.newsOf(reference) > 0));
      for (const reference of references) {
        expect(await asleep.bank.transfers.find(organisationId, reference)).toMatchObject({ timesPaid: 1 });
        expect(asleep.newsOf(reference)).toBe(1);
      }
    } finally {
      await Promise.all(clocks.map((clock) => clock.stop()));
      await asleep.close();
    }
  });

  test('50 sends at once of which the first answer is lost: one times out, the others tell where it stands', async () => {
    const instruction = to('9999999004');
    const answers = await Promise.allSettled(Array.from({ length: 50 }, () => sandbox.rail.sendTransfer(instruction)));
    expect(answers.filter((answer) => answer.status === 'rejected').map((answer) => answer.reason)).toEqual([
      TIMED_OUT,
    ]);
    await sandbox.untilStatus(instruction.reference, 'completed');
    expect(await record(instruction.reference)).toMatchObject({ timesSent: 50, timesPaid: 1 });
  });

  test('a second instruction under the same reference changes nothing of the first', async () => {
    const first = to('9999999003');
    const sent = await sandbox.rail.sendTransfer(first);
    const second = { ...first, amount: 1, accountNumber: '0123456789' };
    expect(await sandbox.rail.sendTransfer(second)).toEqual(sent);
    expect(await record(first.reference)).toMatchObject({ amount: first.amount, accountNumber: '9999999003' });
  });

  test('whatever is sent, chosen and resolved, in whatever order: paid at most once, and never returned unpaid', async () => {
    const step = fc.oneof(
      fc.constant({ do: 'send' } as const),
      fc.record({ do: fc.constant('behave' as const), behaviour: fc.constantFrom(...BEHAVIOURS) }),
      fc.record({ do: fc.constant('resolve' as const), outcome: fc.constantFrom(...OUTCOMES) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), fc.boolean(), async (steps, together) => {
        const instruction = to(newAccountNumber());
        const take = async (wanted: (typeof steps)[number]): Promise<void> => {
          if (wanted.do === 'behave') await behave(instruction.accountNumber, wanted.behaviour);
          else if (wanted.do === 'resolve') await end(instruction.reference, wanted.outcome);
          else await sandbox.bank.transfers.send(instruction);
        };
        if (together) await Promise.all(steps.map(take));
        else for (const wanted of steps) await take(wanted);
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

describe('a transfer is resolved', () => {
  const sendHeld = async (): Promise<string> => {
    const instruction = to('9999999003');
    await sandbox.rail.sendTransfer(instruction);
    return instruction.reference;
  };

  test('again: nothing moves and the callback comes once more', async () => {
    const reference = await sendHeld();
    await end(reference, 'complete');
    await untilTold(reference, 1);
    expect(await end(reference, 'complete')).toBe(true);
    await untilTold(reference, 2);
    expect(await record(reference)).toMatchObject({ status: 'completed', timesPaid: 1 });
  });

  test('late: a completed transfer comes back, and that is told too', async () => {
    const reference = await sendHeld();
    await end(reference, 'complete');
    expect(await end(reference, 'return')).toBe(true);
    expect(await end(reference, 'return')).toBe(true);
    await untilTold(reference, 3);
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
  ] as const)('%s and then %s: refused, and nothing changes', async (first, second) => {
    const reference = await sendHeld();
    await end(reference, first);
    const before = await record(reference);
    expect(await end(reference, second)).toBe(false);
    expect(await record(reference)).toEqual(before);
  });

  test('by 50 at once who disagree: one ending, and what it cost is counted once', async () => {
    const reference = await sendHeld();
    const done = await Promise.all(
      Array.from({ length: 50 }, (_, position) => end(reference, OUTCOMES[position % 3] as Outcome)),
    );
    expect(done).toContain(true);
    const found = await record(reference);
    expect(found?.timesPaid).toBe(found?.status === 'failed' ? 0 : 1);
    expect(found?.timesReturned).toBe(found?.status === 'returned' ? 1 : 0);
    await untilTold(reference, done.filter(Boolean).length);
  });

  test('by five whose statements all began before any of them was done: each sees what the one before it did', async () => {
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
    await untilTold(reference, 5);
  });

  test('that the bank never took: nothing to resolve', async () => {
    expect(await end(newReference(), 'complete')).toBe(false);
  });
});

describe('a transfer to an account of the sandbox bank itself', () => {
  const openAccount = (organisationId: string) =>
    sandbox.rail.openVirtualAccount({
      organisationId,
      reference: newReference(),
      accountName: 'Ada Obi',
      expiresAt: null,
    });
  const arrivalsAt = (accountNumber: string): InboundCreditReport[] =>
    sandbox.callbacks
      .map((callback) => (callback.kind === 'inbound_credit' ? callback.credit : null))
      .filter((credit) => credit !== null && credit.accountNumber === accountNumber) as InboundCreditReport[];

  test('arrives there when it completes, under its own session id, and both sides are told', async () => {
    const { accountNumber, bankName } = await openAccount(sandbox.organisationId);
    const bankCode = BANKS.find(({ name }) => name === bankName)?.code ?? '';
    expect(await resolveName(accountNumber, bankCode)).toEqual({ accountName: 'Ada Obi' });
    const instruction = to(accountNumber, { bankCode });
    const { sessionId } = await sandbox.rail.sendTransfer(instruction);
    await untilTold(instruction.reference);
    const [arrival] = await waitFor('the arrival', () => {
      const arrivals = arrivalsAt(accountNumber);
      return arrivals.length > 0 && arrivals;
    });
    expect(arrival).toMatchObject({ sessionId, amount: instruction.amount, organisationId: sandbox.organisationId });
    const asked = { organisationId: sandbox.organisationId, sessionId: sessionId ?? '' };
    expect(await sandbox.rail.findInboundCredit(asked)).toMatchObject({ accountNumber, amount: instruction.amount });
  });

  test('cannot be returned once it is there: the money would be in two places', async () => {
    const { accountNumber } = await openAccount(sandbox.organisationId);
    const instruction = to(accountNumber, { bankCode: '999' });
    await sandbox.rail.sendTransfer(instruction);
    await sandbox.untilStatus(instruction.reference, 'completed');
    expect(await end(instruction.reference, 'return')).toBe(false);
    expect(await end(instruction.reference, 'complete')).toBe(true);
    await untilTold(instruction.reference, 2);
    expect(arrivalsAt(accountNumber)).toHaveLength(1);
  });

  test.each([
    ['reject', 'failed'],
    ['return', 'returned'],
  ] as const)('does not arrive when the account is set to %s', async (behaviour, status) => {
    const { accountNumber } = await openAccount(sandbox.organisationId);
    await behave(accountNumber, behaviour);
    const instruction = to(accountNumber, { bankCode: '999' });
    const { sessionId } = await sandbox.rail.sendTransfer(instruction);
    await sandbox.untilStatus(instruction.reference, status);
    const asked = { organisationId: sandbox.organisationId, sessionId: sessionId ?? '' };
    expect(await sandbox.rail.findInboundCredit(asked)).toBeNull();
  });

  test('of another organisation is a transfer to a stranger: nothing arrives with us', async () => {
    const { accountNumber } = await openAccount(newUuid());
    const instruction = to(accountNumber, { bankCode: '999' });
    const { sessionId } = await sandbox.rail.sendTransfer(instruction);
    await sandbox.untilStatus(instruction.reference, 'completed');
    const asked = { organisationId: sandbox.organisationId, sessionId: sessionId ?? '' };
    expect(await sandbox.rail.findInboundCredit(asked)).toBeNull();
  });

  test('whose session id a simulated credit took before: both are that one credit, and no other transfer has to wait', async () => {
    const { accountNumber } = await openAccount(sandbox.organisationId);
    await behave(accountNumber, 'hold');
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
    await behave(accountNumber, 'complete');
    await sandbox.untilStatus(instruction.reference, 'completed');
    const asked = { organisationId: sandbox.organisationId, sessionId: sessionId ?? '' };
    expect(await sandbox.rail.findInboundCredit(asked)).toMatchObject({ amount: 1 });
  });
});
