// Each documented response has one outcome; and whatever field is missing, null or of another type, an outcome becomes
// unknown or stays what it was: never another one.
import { describe, expect, test } from '@jest/globals';
import { isAbout } from '../../../src/rail/adapterCalls.ts';
import { type HttpResponse, parseJson } from '../../../src/rail/http.ts';
import {
  CODES,
  callOutcome,
  FAILURE_FINAL_AFTER_MS,
  failureOf,
  MESSAGES,
  PAYMENT_STATUSES,
  paymentStatusOf,
  readTransfer,
  STATUSES,
  sendOutcome,
} from '../../../src/rail/monnify/outcomes.ts';
import { replyOf, type Transfer, transferBody } from '../../../src/rail/monnify/wire.ts';
import type { Documented } from '../documented.ts';
import { mutations } from '../mutations.ts';
import { INSTRUCTION, SENDS, SUMMARIES } from './documented.ts';

const CREATED = new Date('2026-06-27T08:32:49Z');
const aged = (ms: number): Date => new Date(CREATED.getTime() + ms);
const LATER = aged(3_600_000);

const responseOf = ({ status, text }: Pick<Documented, 'status' | 'text'>): HttpResponse => ({
  status,
  json: parseJson(Buffer.from(text)),
  retryAfterMs: null,
});

/** What becomes of a transfer, in one word. */
function transferWord(transfer: Transfer, now: Date): string {
  const { report } = readTransfer(transfer, now);
  return isAbout(report, INSTRUCTION) ? report.status : 'unknown';
}

function sendWord(response: HttpResponse, now = LATER): string {
  const outcome = sendOutcome(response);
  if (outcome.kind === 'report') return transferWord(outcome.transfer, now);
  if (outcome.kind === 'ask') return `ask, else ${outcome.ifAbsent}`;
  return outcome.kind === 'not_ready' ? outcome.why : outcome.kind;
}

function summaryWord(response: HttpResponse, now = LATER): string {
  const outcome = callOutcome(response);
  if ('why' in outcome) return outcome.why;
  if (outcome.kind !== 'ok') return outcome.kind === 'absent' ? 'absent' : 'unknown';
  const { data: transfer } = transferBody.safeParse(replyOf(response)?.body);
  return transfer === undefined ? 'unknown' : transferWord(transfer, now);
}

const transferOf = (text: string): Transfer => transferBody.parse(replyOf(responseOf({ status: 200, text }))?.body);

const named = (list: readonly Documented[], name: string): Documented => {
  const found = list.find((one) => one.name === name);
  if (found === undefined) throw new Error(`no documented response ${name}`);
  return found;
};

describe('the end of a send', () => {
  test.each([
    ['paid at once', 'completed'],
    ['accepted, asynchronously', 'processing'],
    ['waits for a one-time password', 'processing'],
    ['failed for good', 'failed'],
    ['failed for the balance', 'failed'],
    ['D01', 'ask, else refused'],
    ['D02', 'unknown'],
    ['D03', 'ask, else refused'],
    ['D04', 'underfunded'],
    ['D05', 'ask, else unknown'],
    ['D06', 'unauthorised'],
    ['D07', 'ask, else duplicate_guard'],
    ['99 as a number', 'unknown'],
    ['a feature that is off', 'feature_off'],
  ])('%s: %s', (name, word) => expect(sendWord(responseOf(named(SENDS, name)))).toBe(word));

  test.each([
    ['D04', 'underfunded'],
    ['D05', 'ask, else unknown'],
    ['D06', 'unauthorised'],
    ['D07', 'ask, else duplicate_guard'],
  ])('%s is %s under every HTTP status', (name, word) => {
    for (const status of [200, 400, 401, 403, 422, 429, 500])
      expect(sendWord(responseOf({ ...named(SENDS, name), status }))).toBe(word);
  });

  test.each([
    [401, 'unauthorised'],
    [403, 'feature_off'],
    [429, 'rate_limited'],
  ])('HTTP %d means that nothing was accepted, and so a refusal of the transfer is not believed', (status, word) => {
    for (const name of ['D01', 'D03', '99 as a number', 'paid at once'])
      expect(sendWord(responseOf({ ...named(SENDS, name), status }))).toBe(word);
  });
});

describe('the status of a transfer', () => {
  test.each([
    ['paid', 'completed'],
    ['completed', 'completed'],
    ['pending', 'processing'],
    ['in progress', 'processing'],
    ['failed for good', 'failed'],
    ['failed, to be queried again', 'failed'],
    ['reversed', 'returned'],
    ['expired', 'failed'],
    ['unknown', 'absent'],
  ])('%s: %s', (name, word) => expect(summaryWord(responseOf(named(SUMMARIES, name)))).toBe(word));

  test.each([
    ['failed for good', FAILURE_FINAL_AFTER_MS.final],
    ['failed, to be queried again', FAILURE_FINAL_AFTER_MS.query_again],
  ])('%s is believed when the transfer is old enough, and not before', (name, ms) => {
    const response = responseOf(named(SUMMARIES, name));
    expect(summaryWord(response, aged(ms - 1))).toBe('processing');
    expect(summaryWord(response, aged(ms))).toBe('failed');
  });

  test('a failure with other words is one to query again, and a failure without a time is never believed', () => {
    const text = named(SUMMARIES, 'failed for good').text;
    const other = { status: 200, text: text.replace('Rejected by destination institution', 'Something new') };
    expect(summaryWord(responseOf(other), aged(FAILURE_FINAL_AFTER_MS.query_again - 1))).toBe('processing');
    expect(summaryWord(responseOf(other), aged(FAILURE_FINAL_AFTER_MS.query_again))).toBe('failed');
    const timeless = { status: 200, text: text.replace('createdOn', 'createdAt') };
    expect(summaryWord(responseOf(timeless), aged(86_400_000))).toBe('processing');
  });

  test('an expired transfer has failed only if it waited for a one-time password', () => {
    const text = named(SUMMARIES, 'expired').text.replace('"twoFaEnabled":true', '"twoFaEnabled":false');
    expect(summaryWord(responseOf({ status: 200, text }))).toBe('processing');
  });

  test('a 404 of a proxy, or with other words, does not make a transfer absent', () => {
    const page = { status: 404, json: undefined, retryAfterMs: null };
    expect(summaryWord(page)).toBe('unknown');
    const other = named(SUMMARIES, 'unknown').text.replace('"D02"', '"99"').replace('Could not find', 'No');
    expect(summaryWord(responseOf({ status: 404, text: other }))).toBe('unknown');
  });

  test('a word that is not documented is in progress, and is counted', () => {
    const text = named(SUMMARIES, 'paid').text.replace('"SUCCESS"', '"QUEUED_FOR_CLEARING"');
    const { report, isUnknownWord } = readTransfer(transferOf(text), LATER);
    expect(isUnknownWord).toBe(true);
    expect(report).toMatchObject({ status: 'processing', reason: expect.stringMatching(/^QUEUED_FOR_CLEARING/) });
    expect(report).not.toHaveProperty('awaitsApproval');
  });

  test.each([
    ['failed, to be queried again', 'FAILED', /^FAILED: [A-Z]/],
    ['pending', 'PENDING_AUTHORIZATION', /^PENDING_AUTHORIZATION/],
    ['pending', 'OTP_EMAIL_DISPATCH_FAILED', /^OTP_EMAIL_DISPATCH_FAILED/],
    ['pending', 'QUEUED_FOR_CLEARING', /^QUEUED_FOR_CLEARING/],
    ['pending', 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0', /^\*\*\*: /],
    ['pending', 'PENDING', /^nothing$/],
    ['in progress', 'IN_PROGRESS', /^nothing$/],
    ['paid', 'SUCCESS', /^nothing$/],
  ])('%s, as %s: operators read the words of what is not simply on its way', (name, word, reason) => {
    const text = named(SUMMARIES, name).text.replace(/"status":"[^"]+"/, `"status":"${word}"`);
    const transfer = transferOf(text);
    expect(readTransfer(transfer, aged(0)).report.reason ?? 'nothing').toMatch(reason);
  });
});

describe('a field that is missing, null or of another type makes an outcome unknown, or leaves it as it is', () => {
  /** Outcomes that move no money and end nothing. */
  const HARMLESS = new Set(['unknown', 'processing', 'pending', 'ask, else unknown', 'feature_off']);

  const cases = [
    ...SENDS.map((one) => ['send', one, sendWord] as const),
    ...SUMMARIES.map((one) => ['status', one, summaryWord] as const),
  ];

  test.each(cases.map(([call, one, word]) => [`${call}: ${one.name}`, one, word] as const))('%s', (_, one, word) => {
    const original = word(responseOf(one));
    const tree = parseJson(Buffer.from(one.text));
    const wrong = [...mutations(tree)]
      .map(({ what, value }) => [what, word({ status: one.status, json: value, retryAfterMs: null })] as const)
      .filter(([, outcome]) => outcome !== original && !HARMLESS.has(outcome))
      .map(([what, outcome]) => `${what}: ${original} became ${outcome}`);
    expect(wrong).toEqual([]);
  });

  test('the check finds a wrong outcome', () => {
    const tree = parseJson(Buffer.from(named(SENDS, 'paid at once').text));
    expect([...mutations(tree)].length).toBeGreaterThan(80);
  });
});

describe('every code, status word and message has the outcome that is written here', () => {
  const EXPECTED_CODES: Record<string, string> = {
    '0': 'unknown', // a success that does not say of what
    D01: 'ask, else refused',
    D02: 'unknown',
    D03: 'ask, else refused',
    D04: 'underfunded',
    D05: 'ask, else unknown',
    D06: 'unauthorised',
    D07: 'ask, else duplicate_guard',
    '99': 'unknown',
  };
  const EXPECTED_STATUSES: Record<string, string> = {
    PENDING: 'processing',
    AWAITING_PROCESSING: 'processing',
    IN_PROGRESS: 'processing',
    PENDING_AUTHORIZATION: 'processing, waits for a password',
    PENDING_BATCH_AUTHORIZATION: 'processing, waits for a password',
    OTP_EMAIL_DISPATCH_FAILED: 'processing, waits for a password',
    SUCCESS: 'completed',
    COMPLETED: 'completed',
    FAILED: 'failed', // an old one: see above
    EXPIRED: 'failed', // of a transfer that waited for a password: see above
    REVERSED: 'returned',
  };
  const FINAL = [
    'Invalid destination account number',
    'Dormant beneficiary account',
    'Beneficiary account name mismatch',
    'Unknown destination bank code',
    'Invalid amount',
    'Post no credit restriction on beneficiary account',
    'Rejected by destination institution',
    'Suspected fraud',
    'Beneficiary account limit exceeded',
    'Sender not permitted to credit beneficiary',
    'You do not have sufficient balance to process this request. Please fund your account and try again.',
  ];
  const QUERY_AGAIN = [
    'Transaction timed out while waiting for destination bank',
    'Delayed processing from NIP',
    'Beneficiary bank not available',
    'Invalid session ID',
    'Invalid response code from beneficiary Institution',
    'System malfunction by destination institution',
    'Unable to complete the transaction at this time',
    'Transaction could not be processed at this time. Please try again.',
    'Transaction processing in progress',
    'Account number could not be validated',
    'Transaction failed',
    'System malfunction - Internal service failure',
    'System malfunction - Transaction transmission unsuccessful',
    'Processor Malfunction - Transaction transmission failed',
  ];
  const EXPECTED_PAYMENTS: Record<string, string> = {
    PAID: 'received',
    PENDING: 'pending',
    PARTIALLY_PAID: 'received',
    OVERPAID: 'received',
    REVERSED: 'recalled',
    EXPIRED: 'failed',
    FAILED: 'failed',
    CANCELLED: 'failed',
  };

  test('the tables have no other entry', () => {
    const sorted = (words: readonly string[]): string[] => words.map((word) => word.toLowerCase()).toSorted();
    expect(sorted(Object.keys(CODES))).toEqual(sorted(Object.keys(EXPECTED_CODES)));
    expect(sorted(Object.keys(STATUSES))).toEqual(sorted(Object.keys(EXPECTED_STATUSES)));
    expect(Object.keys(MESSAGES).toSorted()).toEqual(
      sorted([...FINAL, ...QUERY_AGAIN].map((message) => message.replace(/\.$/, ''))),
    );
    expect(sorted(Object.keys(PAYMENT_STATUSES))).toEqual(sorted(Object.keys(EXPECTED_PAYMENTS)));
  });

  test.each(Object.entries(EXPECTED_CODES))('the code %s of a send: %s', (code, word) => {
    const text = named(SENDS, 'D01').text.replace('D01', code);
    expect(sendWord(responseOf({ status: 422, text }))).toBe(word);
  });

  test.each(Object.entries(EXPECTED_STATUSES))('the status %s: %s', (word, expected) => {
    for (const written of [word, word.toLowerCase()]) {
      const text = named(SUMMARIES, 'expired').text.replace('"EXPIRED"', `"${written}"`);
      const { report, isUnknownWord } = readTransfer(transferOf(text), LATER);
      expect(`${report.status}${report.awaitsApproval ? ', waits for a password' : ''}`).toBe(expected);
      expect(isUnknownWord).toBe(false);
    }
  });

  test.each(FINAL)('the message "%s" is final', (message) => {
    for (const written of [message, ` ${message.toUpperCase()} `]) expect(failureOf(written)).toBe('final');
  });

  test.each(QUERY_AGAIN)('the message "%s" is to be queried again', (message) => {
    for (const written of [message, ` ${message.toUpperCase()} `]) expect(failureOf(written)).toBe('query_again');
  });

  test.each(Object.entries(EXPECTED_PAYMENTS))('the status %s of a collection: %s', (word, expected) => {
    expect(paymentStatusOf(word)).toBe(expected);
  });
});

test('what is in no table is not a failure', () => {
  for (const strange of ['constructor', '__proto__', 'toString', '']) {
    expect(failureOf(strange)).toBe('query_again');
    expect(paymentStatusOf(strange)).toBeUndefined();
    const text = named(SENDS, 'D01').text.replace('D01', strange);
    expect(sendWord(responseOf({ status: 422, text }))).toBe('unknown');
    const status = named(SUMMARIES, 'paid').text.replace('"SUCCESS"', `"${strange}"`);
    expect(HARMLESS_STATUS).toContain(summaryWord(responseOf({ status: 200, text: status })));
  }
});

const HARMLESS_STATUS = ['processing', 'unknown'];
