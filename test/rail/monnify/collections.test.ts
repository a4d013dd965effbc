// Account numbers, credits, callbacks and the statement of Monnify.
import { createHmac } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { lowBalanceEvent, signEvent } from '../../../dev/monnify/events.ts';
import { FAKE_CREDENTIALS } from '../../../dev/monnify/fakeCredentials.ts';
import { FAULTS, REFUSALS } from '../../../dev/monnify/faults.ts';
import { createMonnifyRail } from '../../../src/rail/monnify/rail.ts';
import type { CreditPage, InboundCreditReport, StatementLine, VirtualAccount } from '../../../src/rail/port.ts';
import { SIGNED_EXAMPLE } from './documented.ts';
import {
  BVN,
  expectFailure,
  failureOf,
  instruct,
  type MonnifyHarness,
  ORGANISATION,
  onceAsked,
  oneOff,
  permanent,
  startMonnify,
} from './harness.ts';

const CREATE = 'POST /api/v1/invoice/create';

let harness: MonnifyHarness;

beforeEach(async () => {
  harness = await startMonnify();
});

afterEach(() => harness.close());

const parse = (headers: Record<string, string>, body: Buffer | string) =>
  harness.rail.parseCallback({ organisationId: ORGANISATION, headers, body: Buffer.from(body) });
const lastCallback = () => {
  const event = harness.fake.events.at(-1);
  if (event === undefined) throw new Error('no callback');
  return parse(event.headers, event.body);
};
const close = (account: VirtualAccount, kind: 'one_off' | 'permanent', reference: string) =>
  harness.rail.closeVirtualAccount({
    organisationId: ORGANISATION,
    kind,
    reference,
    accountNumber: account.accountNumber,
  });

async function payOneOff(amount = 202_037): Promise<{ account: VirtualAccount; sessionId: string; reference: string }> {
  const request = oneOff(harness.now(), { amount });
  const account = await harness.rail.openVirtualAccount(request);
  const paid = await harness.fake.pay(account.accountNumber, BigInt(amount));
  if (typeof paid === 'string') throw new Error(paid);
  return { account, sessionId: paid.transactionReference, reference: request.reference };
}

describe('an account number for one payment', () => {
  test('has the amount to the kobo, its bank and its expiry; the same reference has the same number', async () => {
    const request = oneOff(harness.now());
    await harness.rail.banks();
    const account = await harness.rail.openVirtualAccount(request);
    expect(account).toEqual({
      accountNumber: expect.stringMatching(/^[0-9]{10}$/),
      bankName: 'Wema bank',
      bankCode: '035',
      accountName: 'Ada Obi',
      expiresAt: request.expiresAt,
    });
    expect(harness.fake.book.invoices.get(request.reference)?.amount).toBe(202_037n);
    expect(await harness.rail.openVirtualAccount(request)).toEqual(account);
    expect(harness.fake.book.invoices.size).toBe(1);
  });

  test('an expiry with a part of a second is a second later', async () => {
    const expiresAt = new Date(harness.now().getTime() + 60_001);
    const account = await harness.rail.openVirtualAccount(oneOff(harness.now(), { expiresAt }));
    expect(account.expiresAt).toEqual(new Date(harness.now().getTime() + 61_000));
  });

  test.each(FAULTS.filter((fault) => !REFUSALS.has(fault)))(
    'is found when its response was lost to %s',
    async (fault) => {
      const request = oneOff(harness.now());
      harness.fake.break(CREATE, fault, { acts: true });
      if (fault === 'hang' || fault === 'trickle') {
        await failureOf(harness.rail.openVirtualAccount(request, onceAsked(harness.fake, CREATE)));
      }
      const account = await harness.rail.openVirtualAccount(request);
      expect(harness.fake.book.invoices.get(request.reference)?.accountNumber).toBe(account.accountNumber);
    },
  );

  test.each(FAULTS.filter((fault) => !REFUSALS.has(fault) && fault !== 'hang' && fault !== 'trickle'))(
    'is unknown when %s hid that it was not opened',
    async (fault) => {
      harness.fake.break(CREATE, fault);
      await expectFailure(harness.rail.openVirtualAccount(oneOff(harness.now())), 'RailUnavailableError');
    },
  );

  test('an amount that Monnify refuses is refused; a wrong contract code is a matter of the settings', async () => {
    const tooLittle = harness.rail.openVirtualAccount(oneOff(harness.now(), { amount: 2_000 }));
    await expectFailure(tooLittle, 'RailRefusedError', { message: 'Amount must be greater than 20.' });
    expect(await harness.rail.openVirtualAccount(oneOff(harness.now(), { amount: 2_001 }))).toBeDefined();
  });

  test('a number of the reference for another amount is not this account', async () => {
    const request = oneOff(harness.now());
    await harness.rail.openVirtualAccount(request);
    await expectFailure(harness.rail.openVirtualAccount({ ...request, amount: 202_038 }), 'RailUnavailableError');
  });

  test('closes, and closes again; after payment and when it never existed it is closed already', async () => {
    const request = oneOff(harness.now());
    const account = await harness.rail.openVirtualAccount(request);
    await close(account, 'one_off', request.reference);
    await close(account, 'one_off', request.reference);
    expect(await harness.fake.pay(account.accountNumber, 202_037n)).toBe('rejected');
    const paid = await payOneOff();
    await close(paid.account, 'one_off', paid.reference);
    await close(account, 'one_off', 'svc_01kb0000000000000000000009_pay');
  });

  test('whose closing is unknown is not closed', async () => {
    const request = oneOff(harness.now());
    const account = await harness.rail.openVirtualAccount(request);
    harness.fake.break('DELETE /api/v1/invoice/{reference}/cancel', 'code_99');
    await expectFailure(close(account, 'one_off', request.reference), 'RailUnavailableError');
  });
});

describe('an account number of a wallet', () => {
  test('is opened with the BVN, of one bank, once; it closes twice', async () => {
    const request = permanent();
    const account = await harness.rail.openVirtualAccount(request);
    expect(account).toMatchObject({ bankName: 'Moniepoint Microfinance Bank', expiresAt: null });
    expect(await harness.rail.openVirtualAccount(request)).toEqual(account);
    await close(account, 'permanent', request.reference);
    await close(account, 'permanent', request.reference);
    expect(await harness.fake.pay(account.accountNumber, 100n)).toBe('no_account');
  });

  test('an invalid BVN is refused, and is not in the error', async () => {
    const request = permanent();
    const holder = { ...request.holder, bvn: '00000000000' };
    const error = await failureOf(harness.rail.openVirtualAccount({ ...request, holder }));
    expect(error).toMatchObject({ name: 'RailRefusedError' });
    expect(error.message).not.toContain('00000000000');
  });

  test('of the organisation itself is opened with the BVN of the contract, and not without one', async () => {
    const request = permanent();
    const ours = { ...request, holder: { ...request.holder, bvn: null } };
    const before = harness.fake.requests.length;
    const notReady = { name: 'RailNotReadyError', why: 'feature_off' };
    expect(await failureOf(harness.rail.openVirtualAccount(ours))).toMatchObject(notReady);
    expect(harness.fake.requests.length).toBe(before);
    const rail = createMonnifyRail({ ...harness.fake.credentials, bvn: BVN }, harness.now);
    expect((await rail.openVirtualAccount(ours)).accountNumber).toMatch(/^[0-9]{10}$/);
    await rail.close();
  });
});

describe('a callback', () => {
  test('has the signature of the documentation over the bytes, and of no other text', async () => {
    const { body, signature } = SIGNED_EXAMPLE;
    const headers = { 'monnify-signature': signature };
    // Paid in cash: not into an account number of ours.
    expect(parse(headers, body)).toEqual([{ kind: 'ignored', event: 'SUCCESSFUL_TRANSACTION' }]);
    expect(parse({ 'monnify-signature': signature.toUpperCase() }, body)).toHaveLength(1);
    const pretty = JSON.stringify(JSON.parse(body), null, 2);
    for (const [given, text] of [
      [headers, pretty],
      [headers, body.replace('78000', '78001')],
      [headers, body.slice(0, -1)],
      [{}, body],
      [{ 'monnify-signature': '' }, body],
      [{ 'monnify-signature': signature.slice(1) }, body],
      [{ 'monnify-signature': 'f'.repeat(128) }, body],
      [{ 'monnify-signature': createHmac('sha512', 'other').update(body).digest('hex') }, body],
    ] as const) {
      expect(() => parse(given, text)).toThrow(expect.objectContaining({ name: 'RailCallbackInvalidError' }));
    }
  });

  test('of a credit reports its account, amount and payer', async () => {
    const { account, sessionId, reference } = await payOneOff();
    await harness.rail.banks();
    expect(lastCallback()).toEqual([
      {
        kind: 'inbound_credit',
        sessionId,
        hint: {
          accountReference: reference,
          accountNumber: account.accountNumber,
          amount: 202_037,
          receivedAt: harness.now(),
        },
        sender: {
          senderName: 'CHIDI EZE',
          senderAccountNumber: '0065432190',
          senderBankCode: '044',
          senderSessionId: 'e6cV1smlpkwG38Cg6d5F9B2PRnIq5FqA',
        },
      },
    ]);
  });

  test.each([
    ['an object', { bankCode: '058', accountName: 'CHIDI EZE', accountNumber: '0065432190' }, '0065432190'],
    ['an empty object', {}, null],
    ['an empty array', [], null],
    ['null', null, null],
    ['masked', [{ bankCode: '', accountName: 'CHIDI EZE', accountNumber: '******2190' }], null],
  ])('of a credit whose payer is %s', async (_, paymentSourceInformation, senderAccountNumber) => {
    await payOneOff();
    const event = JSON.parse(String(harness.fake.events.at(-1)?.body));
    event.eventData.paymentSourceInformation = paymentSourceInformation;
    const { headers, body } = signEvent(event, FAKE_CREDENTIALS.secretKey);
    expect(parse(headers, body)).toMatchObject([{ kind: 'inbound_credit', sender: { senderAccountNumber } }]);
  });

  test('of a credit by card, in another currency or without an exact amount is no credit', async () => {
    await payOneOff();
    const original = JSON.parse(String(harness.fake.events.at(-1)?.body));
    const kindOf = (change: object): string | undefined => {
      const event = { ...original, eventData: { ...original.eventData, ...change } };
      const { headers, body } = signEvent(event, FAKE_CREDENTIALS.secretKey);
      return parse(headers, body)[0]?.kind;
    };
    expect(kindOf({ paymentMethod: 'CARD' })).toBe('ignored');
    expect(kindOf({ paymentMethod: 'CARD', amountPaid: null, paidOn: 'yesterday', product: null })).toBe('ignored');
    expect(() => kindOf({ paymentMethod: null })).toThrow(/paymentMethod/);
    expect(kindOf({ currency: 'USD' })).toBe('ignored');
    expect(kindOf({ paymentStatus: 'PENDING' })).toBe('ignored');
    expect(kindOf({ product: { type: 'WEB_SDK', reference: 'x' } })).toBe('ignored');
    expect(() => kindOf({ amountPaid: '20.005' })).toThrow('eventData' in original ? /amountPaid/ : /never/);
    expect(() => kindOf({ amountPaid: null })).toThrow(/amountPaid/);
    expect(() => kindOf({ paidOn: 'yesterday' })).toThrow(/paidOn/);
  });

  test('of a transfer names the transfer only', async () => {
    const instruction = instruct();
    await harness.rail.sendTransfer(instruction);
    for (const status of ['SUCCESS', 'REVERSED'] as const) {
      await harness.fake.end(instruction.reference, status);
      expect(lastCallback()).toEqual([{ kind: 'transfer_update', reference: instruction.reference }]);
    }
  });

  test('of a settlement of 2,000 transactions, a rejected payment and a low balance are notices', async () => {
    const { account, reference } = await openAnother();
    expect(await harness.fake.pay(account.accountNumber, 1n)).toBe('rejected');
    const rejection = { kind: 'notice', notice: 'payment_rejected', reference, providerMessage: 'UNDER_PAYMENT' };
    expect(lastCallback()).toEqual([rejection]);

    for (let index = 0; index < 2_000; index += 1) {
      await harness.fake.collect({
        transactionReference: `MNFY|1|${index}`,
        productType: 'INVOICE',
        productReference: 'other',
        accountNumber: '0000000000',
        amount: 10_000n,
        payer: { name: 'x', accountNumber: '0065432190', bankCode: '058' },
        createdAt: harness.now(),
      });
    }
    await harness.fake.settle();
    expect(harness.fake.events.at(-1)?.body.length).toBeGreaterThan(500_000);
    expect(lastCallback()).toEqual([{ kind: 'notice', notice: 'settled', reference: expect.stringMatching(/^STL/) }]);

    const low = signEvent(lowBalanceEvent(FAKE_CREDENTIALS.walletAccountNumber), FAKE_CREDENTIALS.secretKey);
    expect(parse(low.headers, low.body)).toEqual([{ kind: 'notice', notice: 'low_balance', reference: null }]);
    const other = signEvent(lowBalanceEvent('8000000000'), FAKE_CREDENTIALS.secretKey);
    expect(parse(other.headers, other.body)).toEqual([{ kind: 'ignored', event: 'LOW_BALANCE_ALERT' }]);
  });

  test.each(['ACCOUNT_ACTIVITY', 'SUCCESSFUL_REFUND', 'MANDATE_UPDATE', 'BRAND_NEW'])(
    'of %s is ignored',
    (eventType) => {
      const { headers, body } = signEvent({ eventType, eventData: {} }, FAKE_CREDENTIALS.secretKey);
      expect(parse(headers, body)).toEqual([{ kind: 'ignored', event: eventType }]);
    },
  );
});

async function openAnother() {
  const request = oneOff(harness.now());
  return { account: await harness.rail.openVirtualAccount(request), reference: request.reference };
}

describe('the look-up of a credit', () => {
  const find = (sessionId: string) =>
    harness.rail.findInboundCredit({ organisationId: ORGANISATION, sessionId, accountReference: null });

  test('confirms the account by our reference, and the amount', async () => {
    const { sessionId, reference } = await payOneOff();
    expect(await find(sessionId)).toEqual({
      sessionId,
      accountReference: reference,
      accountNumber: null,
      amount: 202_037,
      senderName: 'CHIDI EZE',
      senderAccountNumber: null, // masked
      senderBankCode: '044',
      senderSessionId: null, // only callbacks have it
      receivedAt: harness.now(),
      recalledAt: null,
    });
  });

  test.each([
    ['PENDING', 'pending'],
    ['ON_THE_WAY', 'pending'],
    ['FAILED', 'failed'],
    ['EXPIRED', 'failed'],
  ])('of a transaction that is %s: %s', async (status, expected) => {
    const { sessionId } = await payOneOff();
    const collection = harness.fake.book.collections.get(sessionId);
    if (collection !== undefined) collection.status = status;
    expect(await find(sessionId)).toBe(expected);
  });

  test('of another transaction, or in another currency, is unknown', async () => {
    const { sessionId } = await payOneOff();
    const collection = harness.fake.book.collections.get(sessionId);
    if (collection !== undefined) harness.fake.book.collections.set('MNFY|9|9|9', collection);
    await expectFailure(find('MNFY|9|9|9'), 'RailUnavailableError');
  });

  test('of a transaction that does not exist is null, and no fault is read as that', async () => {
    expect(await find('MNFY|0|0|0')).toBeNull();
    const { sessionId } = await payOneOff();
    for (const fault of FAULTS.filter((one) => !['hang', 'trickle', 'expired_token'].includes(one))) {
      harness.fake.break('GET /api/v2/transactions/{reference}', fault);
      await failureOf(find(sessionId));
    }
    expect(await find(sessionId)).toMatchObject({ amount: 202_037 });
  });
});

describe('the list of credits', () => {
  const HOUR_MS = 3_600_000;
  const sinceAnHour = () => ({
    from: new Date(harness.now().getTime() - HOUR_MS),
    to: new Date(harness.now().getTime() + 1),
  });

  async function all(period = sinceAnHour()): Promise<InboundCreditReport[]> {
    const credits: InboundCreditReport[] = [];
    let cursor: string | null = null;
    do {
      const page: CreditPage = await harness.rail.listInboundCredits({
        organisationId: ORGANISATION,
        ...period,
        cursor,
      });
      credits.push(...page.credits);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return credits;
  }

  test('has a payment of an invoice that was created long before', async () => {
    const request = oneOff(harness.now(), { expiresAt: new Date(harness.now().getTime() + 24 * HOUR_MS) });
    const account = await harness.rail.openVirtualAccount(request);
    harness.pass(24 * HOUR_MS - 1_000);
    await harness.fake.pay(account.accountNumber, 202_037n);
    expect(await all()).toMatchObject([{ accountReference: request.reference, amount: 202_037 }]);
    harness.pass(2 * HOUR_MS);
    expect(await all()).toEqual([]);
  });

  test('of several pages has each credit once, also when one arrives between two pages; cards are not in it', async () => {
    const request = permanent();
    const account = await harness.rail.openVirtualAccount(request);
    const pay = () => harness.fake.pay(account.accountNumber, 50_000n);
    for (let index = 0; index < 120; index += 1) await pay();
    const [first] = [...harness.fake.book.collections.values()];
    if (first !== undefined) first.paymentMethod = 'CARD';

    const period = sinceAnHour();
    const at = { organisationId: ORGANISATION, ...period };
    const one = await harness.rail.listInboundCredits({ ...at, cursor: null });
    await pay();
    const two = await harness.rail.listInboundCredits({ ...at, cursor: one.nextCursor });
    expect(two.nextCursor).toBeNull();
    const sessions = [...one.credits, ...two.credits].map(({ sessionId }) => sessionId);
    expect(sessions).toHaveLength(119);
    expect(new Set(sessions).size).toBe(119);
  });

  test('does not look up a credit again that it has looked up', async () => {
    await payOneOff();
    await all();
    const before = harness.fake.requests.length;
    expect(await all()).toHaveLength(1);
    expect(harness.fake.requests.slice(before)).toEqual(['GET /api/v1/transactions/search']);
  });

  test.each(['html_502', 'null_body', 'reset_in_body'] as const)('is not empty after %s', async (fault) => {
    harness.fake.break('GET /api/v1/transactions/search', fault);
    await expectFailure(all(), 'RailUnavailableError');
  });
});

describe('the statement', () => {
  async function all(): Promise<StatementLine[]> {
    const lines: StatementLine[] = [];
    const from = new Date(harness.now().getTime() - 3_600_000);
    const to = new Date(harness.now().getTime() + 1);
    let cursor: string | null = null;
    do {
      const page = await harness.rail.statement({ organisationId: ORGANISATION, from, to, cursor });
      lines.push(...page.lines);
      cursor = page.nextCursor;
    } while (cursor !== null);
    return lines;
  }

  test.each(['in_amount', 'own_row'] as const)(
    'has what was done once, and adds up, with charges %s',
    async (feeRows) => {
      harness.fake.book.feeRows = feeRows;
      const before = harness.fake.book.balance + harness.fake.book.collected;
      const { sessionId } = await payOneOff();
      const paid = instruct();
      const returned = instruct({ accountNumber: '8000000003' });
      const failed = instruct({ accountNumber: '8000000001' });
      for (const one of [paid, returned, failed]) await harness.rail.sendTransfer(one);
      await harness.fake.end(paid.reference, 'SUCCESS');
      harness.pass(1_000);
      await harness.fake.advance(returned.reference);
      await harness.fake.advance(returned.reference);
      await harness.fake.end(failed.reference, 'FAILED', 'Dormant beneficiary account');
      const settled = await harness.fake.settle();
      harness.fake.book.book(
        'CREDIT',
        5_000_000n,
        'TOPUP_CREDIT_0',
        ' MFY-WT/#/TRF|2MPT61/#/2026-11-22/#/VA-6927004623',
      );
      harness.fake.book.book('DEBIT', 700n, 'X_DEBIT_0', 'moved by hand');

      const lines = await all();
      const of = (kind: StatementLine['kind']) =>
        lines
          .filter((line) => line.kind === kind)
          .map(({ reference, amount, charge }) => ({ reference, amount, charge }));
      const charge = feeRows === 'in_amount' ? 1_000 : 0;
      expect(of('credit')).toEqual([{ reference: sessionId, amount: 202_037, charge: 3_031 }]);
      expect(of('sent')).toEqual([
        { reference: paid.reference, amount: 250_037, charge },
        { reference: returned.reference, amount: 250_037, charge },
      ]);
      expect(of('returned')).toEqual([{ reference: returned.reference, amount: 250_037, charge: 0 }]);
      expect(of('charge').map(({ amount }) => amount)).toEqual(feeRows === 'in_amount' ? [] : [1_000, 1_000]);
      expect(of('settlement')).toMatchObject([{ amount: Number(settled), charge: 0 }]);
      expect(of('funding')).toMatchObject([{ amount: 5_000_000 }]);
      expect(of('other_out')).toMatchObject([{ amount: 700 }]);

      const inward = new Set(['credit', 'returned', 'funding', 'other_in']);
      const moved = lines
        .filter(({ kind }) => kind !== 'settlement') // from one account to the other
        .reduce((sum, { kind, amount, charge: taken }) => sum + (inward.has(kind) ? amount : -amount) - taken, 0);
      expect(before + BigInt(moved)).toBe(harness.fake.book.balance + harness.fake.book.collected);
    },
  );

  test('of more than a page of transfers has each of them once', async () => {
    const instructions = Array.from({ length: 60 }, (_, index) => instruct({ amount: 100_000 + index }));
    for (const instruction of instructions) {
      await harness.rail.sendTransfer(instruction);
      await harness.fake.end(instruction.reference, 'SUCCESS');
    }
    const references = (await all()).map(({ reference }) => reference);
    expect(references.toSorted()).toEqual(instructions.map(({ reference }) => reference).toSorted());
  });

  test('is unknown when the amount of a collection is not exact, and not without it', async () => {
    const { sessionId } = await payOneOff();
    const collection = harness.fake.book.collections.get(sessionId);
    if (collection !== undefined) collection.status = 'PAID';
    harness.fake.break('GET /api/v1/transactions/search', 'not_utf8');
    await expectFailure(all(), 'RailUnavailableError');
  });
});
