// What Nomba's documentation leaves open is unknown to the adapter, a reference is paid at most once, and a callback
// moves nothing by itself.
import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { FAULTS, type Fault, REFUSALS } from '../../../dev/monnify/faults.ts';
import { NombaFake } from '../../../dev/nomba/fake.ts';
import { FAKE_CREDENTIALS } from '../../../dev/nomba/fakeCredentials.ts';
import { newUuid } from '../../../src/ids.ts';
import { parseJson } from '../../../src/rail/http.ts';
import { parseCallback } from '../../../src/rail/nomba/callbacks.ts';
import { outcomeOf, STATUSES, transferStatusOf } from '../../../src/rail/nomba/outcomes.ts';
import { createNombaRail } from '../../../src/rail/nomba/rail.ts';
import { replyOf, sendData, transactionsData } from '../../../src/rail/nomba/wire.ts';
import type { AccountRequest, TransferInstruction } from '../../../src/rail/port.ts';
import type { ClosableRail } from '../../../src/rail/provider.ts';
import type { Documented } from '../documented.ts';
import { mutations } from '../mutations.ts';
import { INSTRUCTION, LISTS, SENDS, SIGNED_EXAMPLE } from './documented.ts';

const SEND = 'POST /v2/transfers/bank';
const LIST = 'POST /v1/transactions/accounts';
const ORGANISATION = newUuid();

let now: Date;
let fake: NombaFake;
let rail: ClosableRail;

beforeEach(async () => {
  now = new Date('2026-11-22T09:30:00Z');
  fake = await new NombaFake(() => now).start();
  rail = createNombaRail(fake.credentials, () => now);
});

afterEach(async () => {
  await rail.close();
  await fake.close();
  if (fake.complaints.length > 0) throw new Error(fake.complaints.join('\n'));
});

const instruct = (more: Partial<TransferInstruction> = {}): TransferInstruction => ({ ...INSTRUCTION, ...more });
const statusOf = (reference: string) => rail.transferStatus({ organisationId: ORGANISATION, reference });

async function failureOf(work: Promise<unknown>): Promise<Error & Record<string, unknown>> {
  const error = await work.then(
    (result) => {
      throw new Error(`no failure, but ${inspect(result)}`);
    },
    (thrown: unknown) => thrown,
  );
  const { clientSecret, signatureKey } = FAKE_CREDENTIALS;
  expect(inspect(error, { depth: 20 })).not.toMatch(new RegExp(`${clientSecret}|${signatureKey}|eyJhbGci|22222222226`));
  return error as Error & Record<string, unknown>;
}

test('the fake calls only a reference that it has a duplicate', async () => {
  fake.refuse(SEND, [409, '409', 'Duplicate merchantTxRef'], { acts: true });
  expect(await failureOf(rail.sendTransfer(instruct({ amount: 9_000_000_000_000 })))).toMatchObject({
    name: 'RailNotReadyError',
    why: 'underfunded',
  });
});

describe('documented answers', () => {
  const responseOf = ({ status, text }: Documented, json: unknown = parseJson(Buffer.from(text))) => ({
    status,
    json,
    retryAfterMs: null,
  });

  function sendWord(one: Documented, json?: unknown): string {
    const response = responseOf(one, json);
    const outcome = outcomeOf(response);
    if (outcome.kind !== 'ok') return 'why' in outcome ? outcome.why : outcome.kind;
    const sent = sendData.safeParse(replyOf(response)?.body);
    if (!sent.success || sent.data.amount !== INSTRUCTION.amount) return 'unknown';
    const reference = sent.data.meta?.merchantTxRef ?? INSTRUCTION.reference;
    return reference === INSTRUCTION.reference ? transferStatusOf(sent.data.status) : 'unknown';
  }

  function listWord(one: Documented, json?: unknown): string {
    const response = responseOf(one, json);
    const { kind } = outcomeOf(response);
    if (kind !== 'ok') return kind;
    const list = transactionsData.safeParse(replyOf(response)?.body);
    if (!list.success) return 'unknown';
    const [row] = list.data.results;
    if (row === undefined) return 'none';
    const isIt = row.merchantTxRef === INSTRUCTION.reference && row.amount === INSTRUCTION.amount;
    return isIt ? transferStatusOf(row.status) : 'unknown';
  }

  test.each([
    ['paid at once', 'completed'],
    ['on its way', 'processing'],
    ['new', 'processing'],
    ['a generic error', 'unknown'],
    ['a validation error', 'refused'],
    ['not permitted', 'refused'],
    ['no balance', 'underfunded'],
    ['too many', 'rate_limited'],
    ['forbidden', 'feature_off'],
    ['an internal error', 'unknown'],
  ])('a send: %s is %s', (name, word) => {
    expect(SENDS.filter((one) => one.name === name).map((one) => sendWord(one))).toEqual([word]);
  });

  test.each([
    ['SUCCESS', 'completed'],
    ['PENDING_BILLING', 'processing'],
    ['REFUND', 'returned'],
    ['none', 'none'],
  ])('a status: %s is %s', (name, word) => {
    expect(LISTS.filter((one) => one.name === name).map((one) => listWord(one))).toEqual([word]);
  });

  const cases = [
    ...SENDS.map((one) => [`send: ${one.name}`, one, sendWord] as const),
    ...LISTS.map((one) => [`status: ${one.name}`, one, listWord] as const),
  ];

  test.each(cases)('a changed field makes nothing but unknown of %s', (_, one, word) => {
    const original = word(one);
    // A description decides between two refusals; an emptied list is a list without the transfer, which is never final.
    const harmless = new Set([original, 'unknown', 'processing', ...(original === 'underfunded' ? ['refused'] : [])]);
    const wrong = [...mutations(parseJson(Buffer.from(one.text)))]
      .filter(({ what }) => what !== 'data.results is an array')
      .map(({ what, value }) => [what, word(one, value)] as const)
      .filter(([, outcome]) => !harmless.has(outcome))
      .map(([what, outcome]) => `${what}: ${original} became ${outcome}`);
    expect(wrong).toEqual([]);
  });

  test('no status word is a failure, and an unknown one is in progress', () => {
    expect(Object.values(STATUSES)).not.toContain('failed');
    for (const word of ['BRAND_NEW', 'constructor', '']) expect(transferStatusOf(word)).toBe('processing');
  });
});

describe('a send whose response goes wrong', () => {
  const slow = new Set<Fault>(['hang', 'trickle']);
  const cases = FAULTS.filter((fault) => fault !== 'expired_token').flatMap((fault) => [
    [fault, false] as const,
    ...(REFUSALS.has(fault) ? [] : [[fault, true] as const]),
  ]);

  test.each(cases)('%s, acted upon: %s', async (fault, acts) => {
    await rail.balance({ organisationId: ORGANISATION }); // logs in, which takes its time on a busy machine
    fake.break(SEND, fault, acts);
    const signal = slow.has(fault) ? AbortSignal.timeout(300) : undefined;
    const error = await failureOf(rail.sendTransfer(instruct(), signal));
    expect(error.name).toMatch(/^(RailUnavailableError|RailNotReadyError|TimeoutError)$/);
    expect((await statusOf(INSTRUCTION.reference))?.status ?? null).toBe(acts ? 'processing' : null);
    expect(await rail.sendTransfer(instruct())).toMatchObject({ status: 'processing' });
    fake.end(INSTRUCTION.reference, 'SUCCESS');
    expect(await rail.sendTransfer(instruct())).toMatchObject({ status: 'completed' });
    expect(fake.rows).toHaveLength(1);
    expect(fake.transferOf(INSTRUCTION.reference)?.timesPaid).toBe(1);
  });
});

test('a reference that was used for another transfer is neither paid nor refused', async () => {
  await rail.sendTransfer(instruct());
  expect(await failureOf(rail.sendTransfer(instruct({ amount: 1 })))).toMatchObject({ name: 'RailUnavailableError' });
  expect(await failureOf(rail.sendTransfer(instruct({ accountNumber: '0000000001' })))).toMatchObject({
    name: 'RailUnavailableError',
  });
});

test('a balance that is too low is not ready', async () => {
  fake.balance = 250_000n;
  expect(await failureOf(rail.sendTransfer(instruct()))).toMatchObject({ why: 'underfunded' });
});

test('a status is not concluded from a list that ignored the filter', async () => {
  await rail.sendTransfer(instruct());
  const row = fake.transferOf(INSTRUCTION.reference);
  if (row !== undefined) fake.rows.push({ ...row, id: 'API-TRANSFER-2' });
  expect(await failureOf(statusOf(INSTRUCTION.reference))).toMatchObject({ name: 'RailUnavailableError' });
});

test.each(FAULTS.filter((fault) => fault !== 'expired_token'))('a status is not concluded from %s', async (fault) => {
  fake.break(LIST, fault, false);
  const call = rail.transferStatus({ organisationId: ORGANISATION, reference: 'x' }, AbortSignal.timeout(300));
  expect((await failureOf(call)).name).toMatch(/^(RailUnavailableError|RailNotReadyError|TimeoutError)$/);
});

const payment = (): Extract<AccountRequest, { kind: 'one_off' }> => ({
  kind: 'one_off',
  organisationId: ORGANISATION,
  reference: 'svc_01kb0000000000000000000001_pay',
  holder: { name: 'Ada', email: 'ada@example.com', bvn: null },
  amount: 200_000,
  expiresAt: new Date(now.getTime() + 60_000),
});

test('a token that has expired is renewed, and the call is repeated once', async () => {
  await rail.sendTransfer(instruct());
  fake.expireTokens();
  expect(await rail.sendTransfer(instruct())).toMatchObject({ status: 'processing' });
  expect([fake.logins, fake.rows.length]).toEqual([2, 1]);
});

test('a token that has expired by code 02 under HTTP 200 is renewed too, and the call is repeated once', async () => {
  await rail.sendTransfer(instruct());
  fake.expireTokens();
  fake.expiredStatus = 200;
  expect(await rail.sendTransfer(instruct())).toMatchObject({ status: 'processing' });
  expect([fake.logins, fake.rows.length]).toEqual([2, 1]);
});

test('a token that is refused twice by code 02 is a matter of the credentials, and no transfer fails', async () => {
  fake.refuse(SEND, [200, '02', 'Token expired'], { times: 2 });
  expect(await failureOf(rail.sendTransfer(instruct()))).toMatchObject({
    name: 'RailNotReadyError',
    why: 'unauthorised',
  });
  expect(await rail.sendTransfer(instruct())).toMatchObject({ status: 'processing' });
});

test('code 02 in other words may be an old token: it is renewed once, and no sooner than a minute after a login', async () => {
  const refused = [400, '02', 'Invalid request'] as const;
  await rail.balance({ organisationId: ORGANISATION });
  fake.refuse(SEND, refused);
  expect(await failureOf(rail.sendTransfer(instruct()))).toMatchObject({ name: 'RailRefusedError' });
  expect(fake.logins).toBe(1);
  now = new Date(now.getTime() + 60_000);
  fake.refuse(SEND, refused);
  expect(await rail.sendTransfer(instruct())).toMatchObject({ status: 'processing' });
  expect(fake.logins).toBe(2);
});

describe('a name enquiry', () => {
  const LOOKUP = 'POST /v1/transfers/bank/lookup';
  const resolve = () =>
    rail.resolveAccount({ organisationId: ORGANISATION, accountNumber: '0123456789', bankCode: '058' });

  test.each([
    [404, '02', 'Account not found'],
    [404, '06', 'Error'],
    [400, '02', 'Account not found'],
    [200, '06', 'The account number does not exist.'],
    [200, '06', 'ACCOUNT_NOT_FOUND'],
    [400, '400', 'ACCOUNT_NOT_FOUND'],
    [400, '02', 'Bank not found'],
    [400, '400', 'Invalid bank code'],
  ])('that ends in HTTP %d, code %s, "%s" finds no account', async (...answer) => {
    fake.refuse(LOOKUP, answer);
    expect(await resolve()).toBeNull();
  });

  test.each([
    [400, '02', 'bankCode can not be null'],
    [200, '05', 'Transaction not permitted'],
    [200, '06', 'Error — do not retry'],
    [422, '06', 'Error'],
    [200, '01', 'Generic error'],
  ])('that ends in HTTP %d, code %s, "%s" is unknown', async (...answer) => {
    fake.refuse(LOOKUP, answer);
    expect(await failureOf(resolve())).toMatchObject({ name: 'RailUnavailableError', ofOneAccount: true });
    expect(await resolve()).toEqual({ accountName: 'ADA 6789 OBI' });
  });

  test('whose token has expired by code 02 finds the account', async () => {
    await resolve();
    fake.expireTokens();
    fake.expiredStatus = 200;
    expect(await resolve()).toEqual({ accountName: 'ADA 6789 OBI' });
  });
});

test('an account number accepts parts and surplus, and late money for a week after its payment has expired', async () => {
  const account = await rail.openVirtualAccount(payment());
  expect(account.expiresAt).toEqual(payment().expiresAt);
  expect(fake.pay(account.accountNumber, 50_000n)).not.toBeNull();
  expect(fake.pay(account.accountNumber, 300_000n)).not.toBeNull();
  now = new Date(now.getTime() + 60_000 + 7 * 86_400_000 - 1_000);
  expect(fake.pay(account.accountNumber, 1n)).not.toBeNull();
  now = new Date(now.getTime() + 1_000);
  expect(fake.pay(account.accountNumber, 1n)).toBeNull();
});

test('a payment that ends does not close its account number, and a wallet does', async () => {
  const one = payment();
  const wallet = { ...one, kind: 'permanent' as const, reference: 'svc_01kb0000000000000000000001_wlt' };
  for (const [request, accepts] of [[one, true] as const, [wallet, false] as const]) {
    const account = await rail.openVirtualAccount(request);
    await rail.closeVirtualAccount({ ...request, accountNumber: account.accountNumber });
    expect(fake.pay(account.accountNumber, 1n) !== null).toBe(accepts);
  }
});

test('an account number that may be open already is not refused', async () => {
  const account = await rail.openVirtualAccount(payment());
  fake.break('GET /v1/accounts/virtual/*', 'code_99', false);
  expect(await failureOf(rail.openVirtualAccount(payment()))).toMatchObject({ name: 'RailUnavailableError' });
  expect(await rail.openVirtualAccount(payment())).toEqual(account);
});

test('a period ends before its end', async () => {
  const account = await rail.openVirtualAccount(payment());
  fake.pay(account.accountNumber, 50_000n);
  const list = async (from: Date, to: Date) =>
    (await rail.listInboundCredits({ organisationId: ORGANISATION, from, to, cursor: null })).credits.length;
  const hour = 3_600_000;
  expect(await list(new Date(now.getTime() - hour), now)).toBe(0);
  expect(await list(now, new Date(now.getTime() + hour))).toBe(1);
});

describe('a callback', () => {
  const { key, timestamp, signature, body } = SIGNED_EXAMPLE;
  const parse = (
    change: { body?: string; timestamp?: string; signature?: string; at?: Date } = {},
  ): ReturnType<typeof parseCallback> =>
    parseCallback(
      key,
      {
        headers: { 'nomba-signature': change.signature ?? signature, 'nomba-timestamp': change.timestamp ?? timestamp },
        body: Buffer.from(change.body ?? body),
      },
      change.at ?? new Date(timestamp),
    );

  test('has the signature of the example', () => {
    expect(parse()).toMatchObject([
      { kind: 'inbound_credit', hint: { amount: 1_000, accountReference: 'sampleAccountReference' }, sender: null },
    ]);
  });

  test.each([
    ['an altered event', { body: body.replace('payment_success', 'payout_success') }],
    ['an altered transaction', { body: body.replace('B7B10', 'B7B11') }],
    ['another time of signing', { timestamp: '2025-09-29T10:51:45Z' }],
    ['an old one', { at: new Date('2025-09-29T10:56:45Z') }],
    ['one of the future', { at: new Date('2025-09-29T10:46:43Z') }],
    ['another signature', { signature: `A${signature.slice(1)}` }],
    ['no signature', { signature: '' }],
    ['no time', { timestamp: 'now' }],
    ['no JSON', { body: '<html>' }],
  ])('that is %s is refused', (_, change) => {
    expect(() => parse(change)).toThrow(expect.objectContaining({ name: 'RailCallbackInvalidError' }));
  });

  test('with another amount has the same signature, so the amount is looked up', () => {
    expect(parse({ body: body.replace('"transactionAmount":10', '"transactionAmount":99') })).toMatchObject([
      { kind: 'inbound_credit', hint: { amount: 9_900 } },
    ]);
  });

  test.each(['sessionId', 'transactionAmount'])('of a credit without %s has nothing to look up', (field) => {
    const event = JSON.parse(body);
    delete event.data.transaction[field];
    expect(parse({ body: JSON.stringify(event) })).toEqual([{ kind: 'ignored', event: 'payment_success' }]);
  });

  test('whose signed fields are missing is signed over empty texts', () => {
    const event = { event_type: 'payment_failed', requestId: 'r', data: { transaction: { transactionId: 't' } } };
    const text = ['payment_failed', 'r', '', '', 't', '', '', '', timestamp].join(':');
    const signed = createHmac('sha256', key).update(text).digest('base64');
    expect(parse({ body: JSON.stringify(event), signature: signed })).toEqual([
      { kind: 'ignored', event: 'payment_failed' },
    ]);
  });
});
