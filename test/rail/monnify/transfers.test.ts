// Transfers through Monnify: whatever becomes of a request or a response, a reference is paid at most once, and never
// reported as failed or completed when it is not.
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { DESTINATIONS, UNKNOWN_ACCOUNT } from '../../../dev/monnify/destinations.ts';
import { FAULTS, REFUSALS } from '../../../dev/monnify/faults.ts';
import { registry } from '../../../src/telemetry/metrics.ts';
import {
  expectFailure,
  failureOf,
  instruct,
  type MonnifyHarness,
  ORGANISATION,
  onceAsked,
  startMonnify,
} from './harness.ts';

const SEND = 'POST /api/v2/disbursements/single';
const SUMMARY = 'GET /api/v2/disbursements/single/summary';

let harness: MonnifyHarness;

beforeEach(async () => {
  harness = await startMonnify();
});

afterEach(() => harness.close());

const statusOf = (reference: string, since?: Date, lastSentAt?: Date) =>
  harness.rail.transferStatus({ organisationId: ORGANISATION, reference, since, lastSentAt });
const sends = (): number => harness.fake.requests.filter((route) => route === SEND).length;

test('a transfer is accepted, in progress and paid, with its amount, charge and name', async () => {
  const instruction = instruct({ narration: 'Café – “rent” for #12' });
  const about = {
    reference: instruction.reference,
    amount: 250_037,
    accountNumber: instruction.accountNumber,
    bankCode: '058',
    charge: 1_000,
    sessionId: null,
    reason: null,
  };
  expect(await harness.rail.sendTransfer(instruction)).toMatchObject({ ...about, status: 'processing' });
  await harness.fake.advance(instruction.reference);
  expect(await statusOf(instruction.reference)).toMatchObject({ ...about, status: 'processing' });
  await harness.fake.advance(instruction.reference);
  expect(await statusOf(instruction.reference)).toMatchObject({
    ...about,
    status: 'completed',
  });
  expect(harness.fake.transfer(instruction.reference)).toMatchObject({
    timesPaid: 1,
    narration: 'Cafe rent for 12',
    accountName: `ADA ${instruction.accountNumber.slice(-4)} OBI`,
  });
});

test.each([1, 99, 100, 101, 2_001, 999_999_999_999])('%d kobo arrive exactly', async (amount) => {
  await harness.close();
  harness = await startMonnify({ balance: BigInt(Number.MAX_SAFE_INTEGER) });
  const instruction = instruct({ amount });
  expect(await harness.rail.sendTransfer(instruction)).toMatchObject({ amount });
  expect(harness.fake.transfer(instruction.reference).amount).toBe(BigInt(amount));
});

test('a failure is believed by the age of the transfer, which is not older than its reference and its last send', async () => {
  const instruction = instruct({ accountNumber: '8000000001' });
  await harness.rail.sendTransfer(instruction);
  const { reference } = instruction;
  await harness.fake.end(reference, 'FAILED', 'Dormant beneficiary account');
  harness.pass(60_000);
  // As if Monnify's times were of another zone than that of its documentation: the transfer is an hour old for it.
  harness.fake.transfer(reference).createdAt = new Date(harness.now().getTime() - 3_600_000);
  const since = new Date(harness.now().getTime() - 59_999);
  expect(await statusOf(reference, since)).toMatchObject({ status: 'processing' });
  harness.pass(1);
  expect(await statusOf(reference, since, harness.now())).toMatchObject({ status: 'processing' });
  expect(await statusOf(reference, since)).toMatchObject({ status: 'failed' });
});

test('so is a failure that the answer to a second send reports', async () => {
  const instruction = instruct({ accountNumber: '8000000001' });
  await harness.rail.sendTransfer(instruction);
  await harness.fake.end(instruction.reference, 'FAILED', 'Dormant beneficiary account');
  harness.fake.transfer(instruction.reference).createdAt = new Date(harness.now().getTime() - 3_600_000);
  expect(await harness.rail.sendTransfer(instruction)).toMatchObject({ status: 'processing' });
});

test('a transfer without a narration has the default one', async () => {
  const instruction = instruct({ narration: '“”' });
  await harness.rail.sendTransfer(instruction);
  expect(harness.fake.transfer(instruction.reference).narration).toBe('Transfer');
});

describe('a send whose response goes wrong', () => {
  const cases = FAULTS.flatMap((fault) => [
    [fault, 'was not acted upon', false] as const,
    ...(REFUSALS.has(fault) ? [] : [[fault, 'was acted upon', true] as const]),
  ]).filter(([fault]) => fault !== 'expired_token');

  test.each(cases)('%s, where it %s', async (fault, _, acts) => {
    const instruction = instruct();
    harness.fake.break(SEND, fault, { acts });
    const isSlow = fault === 'hang' || fault === 'trickle';
    const error = await failureOf(
      harness.rail.sendTransfer(instruction, isSlow ? onceAsked(harness.fake, SEND) : undefined),
    );
    expect(error.knowsReference ?? false).toBe(false);
    const expected = REFUSALS.has(fault) ? 'RailNotReadyError' : 'RailUnavailableError';
    expect(error.name).toBe(isSlow ? 'TimeoutError' : expected);

    const known = await statusOf(instruction.reference);
    expect(known?.status ?? null).toBe(acts ? 'processing' : null);
    const again = await harness.rail.sendTransfer(instruction);
    expect(again).toMatchObject({ status: 'processing', reference: instruction.reference });
    await harness.fake.end(instruction.reference, 'SUCCESS');
    expect(await harness.rail.sendTransfer(instruction)).toMatchObject({ status: 'completed' });
    expect(harness.fake.transfer(instruction.reference)).toMatchObject({ timesPaid: 1 });
  });

  test('a token that was refused is renewed, and the send is repeated once', async () => {
    await harness.rail.sendTransfer(instruct());
    harness.fake.expireTokens();
    expect(await harness.rail.sendTransfer(instruct())).toMatchObject({ status: 'processing' });
    expect(harness.fake.logins).toBe(2);
  });

  test('a token that is refused twice is a matter of the credentials', async () => {
    harness.fake.break(SEND, 'expired_token', { times: 2 });
    await expectFailure(harness.rail.sendTransfer(instruct()), 'RailNotReadyError', { why: 'unauthorised' });
    expect(sends()).toBe(2);
  });
});

test('200 transfers after a token has expired log in once, and each of them is sent once', async () => {
  await harness.rail.balance({ organisationId: ORGANISATION });
  harness.pass(3_600_000);
  const instructions = Array.from({ length: 200 }, (_, index) => instruct({ amount: 100_000 + index }));
  await Promise.all(instructions.map((instruction) => harness.rail.sendTransfer(instruction)));
  expect(harness.fake.logins).toBe(2);
  expect(sends()).toBe(200);
});

describe('D05, the reference is known', () => {
  test('the status is the truth, and no second reference is sent', async () => {
    const instruction = instruct();
    await harness.rail.sendTransfer(instruction);
    await harness.fake.end(instruction.reference, 'SUCCESS');
    expect(await harness.rail.sendTransfer(instruction)).toMatchObject({ status: 'completed' });
    expect(harness.fake.transfer(instruction.reference)).toMatchObject({ timesSent: 2, timesPaid: 1 });
    expect(harness.fake.book.transfers.size).toBe(1);
  });

  test('a status that does not show it yet is unknown, not refused', async () => {
    harness.fake.hiddenFor = 1;
    const instruction = instruct();
    await harness.rail.sendTransfer(instruction);
    await expectFailure(harness.rail.sendTransfer(instruction), 'RailUnavailableError', { knowsReference: true });
    expect(await harness.rail.sendTransfer(instruction)).toMatchObject({ status: 'processing' });
  });

  test('the fake says it only of a reference that it has', async () => {
    harness.fake.refuse(SEND, 422, 'D05', 'Supplied reference already exists!', true);
    await expectFailure(harness.rail.sendTransfer(instruct({ amount: 9_000_000_000_000 })), 'RailNotReadyError', {
      why: 'underfunded',
    });
  });

  test('a transfer of another amount under the reference is neither paid nor failed', async () => {
    const instruction = instruct();
    await harness.rail.sendTransfer(instruction);
    await harness.fake.end(instruction.reference, 'SUCCESS');
    for (const other of [{ amount: 1 }, { accountNumber: '0000000001' }, { bankCode: '044' }]) {
      await expectFailure(harness.rail.sendTransfer({ ...instruction, ...other }), 'RailUnavailableError', {
        knowsReference: true,
        providerMessage: 'the response has another amount, account or bank than the instruction',
      });
    }
    // A bank may be named by its code of NIP.
    harness.fake.transfer(instruction.reference).bankCode = '000013';
    await harness.rail.banks();
    expect(await harness.rail.sendTransfer(instruction)).toMatchObject({ status: 'completed', bankCode: '058' });
    harness.fake.transfer(instruction.reference).bankCode = '000014';
    await expectFailure(harness.rail.sendTransfer(instruction), 'RailUnavailableError');
  });
});

describe('D07, an equal transfer less than two minutes ago', () => {
  test('the same reference is sent again later, and is paid once', async () => {
    const first = instruct();
    const second = instruct({ accountNumber: first.accountNumber });
    await harness.rail.sendTransfer(first);
    await expectFailure(harness.rail.sendTransfer(second), 'RailNotReadyError', {
      why: 'duplicate_guard',
      retryAfterMs: 120_000,
    });
    expect(harness.fake.book.transfers.has(second.reference)).toBe(false);
    harness.pass(120_000);
    expect(await harness.rail.sendTransfer(second)).toMatchObject({
      reference: second.reference,
      status: 'processing',
    });
    expect([...harness.fake.book.transfers.keys()]).toEqual([first.reference, second.reference]);
  });

  test('of our own transfer, the status decides, and while it is not found the same reference is sent again', async () => {
    harness.fake.guardFirst = true;
    harness.fake.hiddenFor = 1;
    const instruction = instruct();
    await harness.rail.sendTransfer(instruction);
    expect(await failureOf(harness.rail.sendTransfer(instruction))).toMatchObject({ why: 'duplicate_guard' });
    expect(await harness.rail.sendTransfer(instruction)).toMatchObject({
      status: 'processing',
      reference: instruction.reference,
    });
    expect(harness.fake.guarded).toBe(2);
    expect(harness.fake.transfer(instruction.reference)).toMatchObject({ timesSent: 1 });
  });
});

test('a wallet that is too low is not ready, and the same reference is paid once it is funded', async () => {
  await harness.close();
  harness = await startMonnify({ balance: 250_037n });
  const instruction = instruct();
  await expectFailure(harness.rail.sendTransfer(instruction), 'RailNotReadyError', {
    why: 'underfunded',
    providerMessage: expect.stringMatching(/balance/i),
  });
  expect(await statusOf(instruction.reference)).toBeNull();
  harness.fake.book.balance += 1_000n;
  expect(await harness.rail.sendTransfer(instruction)).toMatchObject({ status: 'processing' });
  expect(await harness.rail.balance({ organisationId: ORGANISATION })).toEqual(0);
});

test('an address that is not listed is not ready, and nothing fails', async () => {
  harness.fake.listed = false;
  await expectFailure(harness.rail.sendTransfer(instruct()), 'RailNotReadyError', { why: 'unauthorised' });
});

test('a wrong secret key is a matter of the credentials', async () => {
  harness.fake.break('POST /api/v1/auth/login', 'expired_token', { times: 10 });
  expect(await failureOf(harness.rail.sendTransfer(instruct()))).toMatchObject({ why: 'unauthorised' });
});

test('an account that does not exist is not sent to', async () => {
  const instruction = instruct({ accountNumber: UNKNOWN_ACCOUNT });
  await expectFailure(harness.rail.sendTransfer(instruction), 'RailUnavailableError', { ofOneAccount: true });
  expect(sends()).toBe(0);
});

test('an account that the send itself refuses is refused, unless the status has the transfer', async () => {
  const instruction = instruct({ accountNumber: UNKNOWN_ACCOUNT, accountName: 'ADA OBI' });
  await expectFailure(harness.rail.sendTransfer(instruction), 'RailRefusedError', {
    message: 'Invalid account details supplied',
  });
});

describe('the status words', () => {
  test.each([
    ['8000000001', ['processing', 'processing', 'processing', 'failed']],
    ['8000000002', ['processing', 'processing', 'completed']],
    ['8000000003', ['processing', 'completed', 'returned']],
    ['8000000004', ['processing', 'failed']],
    ['8000000005', ['processing', 'completed']],
    ['8000000007', ['processing']],
    ['8000000008', ['completed']],
    ['8000000009', ['processing', 'processing', 'failed']],
  ])('of a transfer to %s', async (accountNumber, expected) => {
    expect(Object.keys(DESTINATIONS)).toContain(accountNumber);
    const instruction = instruct({ accountNumber });
    const seen = [(await harness.rail.sendTransfer(instruction)).status];
    for (const _ of expected.slice(1)) {
      await harness.fake.advance(instruction.reference);
      const report = await statusOf(instruction.reference);
      seen.push(report?.status ?? 'processing');
      // A failure is believed when the transfer is a minute old.
      if (harness.fake.transfer(instruction.reference).steps[0]?.status === 'FAILED') harness.pass(60_000);
    }
    expect(seen).toEqual(expected);
    expect(harness.fake.transfer(instruction.reference).timesPaid).toBeLessThanOrEqual(1);
  });

  test('a one-time password that is switched on is counted', async () => {
    const count = async (): Promise<number> =>
      (await registry.getSingleMetric('manilla_rail_unknown_answers_total')?.get())?.values.find(
        ({ labels }) => labels.kind === 'otp',
      )?.value ?? 0;
    const before = await count();
    harness.fake.otp = true;
    expect(await harness.rail.sendTransfer(instruct())).toMatchObject({ status: 'processing' });
    expect(await count()).toBe(before + 1);
  });
});

describe('the status of a reference that Monnify does not know', () => {
  const since = (): Date => new Date(harness.now().getTime() - 15 * 60_000);

  test('is null, and after 15 minutes only if the wallet did not pay it', async () => {
    const instruction = instruct();
    await harness.rail.sendTransfer(instruction);
    await harness.fake.end(instruction.reference, 'SUCCESS');
    const transfer = harness.fake.transfer(instruction.reference);
    transfer.hiddenFor = 2;
    expect(await statusOf(instruction.reference, harness.now())).toBeNull();
    await expectFailure(statusOf(instruction.reference, since()), 'RailUnavailableError', { knowsReference: true });
    expect(await statusOf(instruction.reference, since())).toMatchObject({ status: 'completed' });
    expect(await statusOf('svc_01kb0000000000000000000009_wth', since())).toBeNull();
  });

  /** A transfer that was paid and is not found by its reference; `rows` more were booked after it. */
  async function paidAndHidden(rows: number) {
    const { reference } = instruct();
    await harness.rail.sendTransfer(instruct({ reference }));
    await harness.fake.end(reference, 'SUCCESS');
    harness.fake.transfer(reference).hiddenFor = Number.POSITIVE_INFINITY;
    for (let row = 0; row < rows; row += 1) harness.fake.fund(1n);
    return reference;
  }

  test.each([501, 999])('is unknown where the wallet paid it %d rows ago', async (rows) => {
    const reference = await paidAndHidden(rows);
    await expectFailure(statusOf(reference, since()), 'RailUnavailableError', { knowsReference: true });
  });

  test('is unknown where the wallet has more rows than are searched, paid or not', async () => {
    const reference = await paidAndHidden(1_000);
    for (const one of [reference, instruct().reference]) {
      await expectFailure(statusOf(one, since()), 'RailUnavailableError', {
        knowsReference: false,
        providerMessage: 'the wallet statement is too long to be searched for the reference',
      });
      // Monnify takes a reference once.
      const query = { organisationId: ORGANISATION, reference: one, since: since(), mayEnd: false };
      expect(await harness.rail.transferStatus(query)).toBeNull();
    }
  });

  test.each([
    ['ten minutes behind', 600_000],
    ['in UTC, where a time without a zone is read as Lagos time', 3_600_000],
  ])('is unknown where the wallet paid it by a clock that is %s', async (_, ms) => {
    const reference = await paidAndHidden(0);
    for (const row of harness.fake.book.wallet) row.at = new Date(since().getTime() - ms);
    expect(await failureOf(statusOf(reference, since()))).toMatchObject({ knowsReference: true });
  });

  test('is unknown when the answer is about another transfer', async () => {
    const instruction = instruct();
    await harness.rail.sendTransfer(instruction);
    harness.fake.book.transfers.set('other', harness.fake.transfer(instruction.reference));
    await expectFailure(statusOf('other'), 'RailUnavailableError');
  });

  test.each(FAULTS.filter((fault) => fault !== 'expired_token'))('is not concluded from %s', async (fault) => {
    harness.fake.break(SUMMARY, fault);
    const limit = fault === 'hang' || fault === 'trickle' ? onceAsked(harness.fake, SUMMARY) : undefined;
    const error = await failureOf(
      harness.rail.transferStatus({ organisationId: ORGANISATION, reference: 'svc_x' }, limit),
    );
    expect(error.name).toMatch(/^(RailUnavailableError|RailNotReadyError|TimeoutError)$/);
  });
});

test('name enquiry reports no account from no response', async () => {
  const at = (accountNumber: string, bankCode = '058') =>
    harness.rail.resolveAccount({ organisationId: ORGANISATION, accountNumber, bankCode });
  expect(await at('0123456789')).toEqual({ accountName: 'ADA 6789 OBI' });
  expect(await at(UNKNOWN_ACCOUNT)).toBeNull();
  expect(await at('0123456789', '999')).toBeNull();
  harness.fake.break('GET /api/v1/disbursements/account/validate', 'code_99');
  await expectFailure(at('0123456789'), 'RailUnavailableError', {
    ofOneAccount: true,
    providerMessage: 'HTTP 400, code 99: An unexpected error occurred, BVN ***, client *** Bearer ***',
  });
});

test('the list of banks is read once a day, and used for longer while it cannot be read', async () => {
  const reads = (): number => harness.fake.requests.filter((route) => route === 'GET /api/v1/banks').length;
  const banks = await harness.rail.banks();
  expect(banks).toContainEqual({ code: '058', name: 'GTBank', nipCode: '000013' });
  await Promise.all([harness.rail.banks(), harness.rail.banks()]);
  expect(reads()).toBe(1);
  harness.pass(24 * 3_600_000);
  harness.fake.break('GET /api/v1/banks', 'html_502', { times: 1 });
  expect(await harness.rail.banks()).toBe(banks);
  expect(await harness.rail.banks()).toBe(banks);
  expect(reads()).toBe(2);
  harness.pass(60_000);
  expect(await harness.rail.banks()).toEqual(banks);
  expect(reads()).toBe(3);
});
