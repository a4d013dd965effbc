// Each documented response and callback, through the whole adapter, has one outcome; and whatever one field of it is
// changed to, the adapter concludes the same, or that it does not know.
import { createHmac } from 'node:crypto';
import { beforeAll } from '@jest/globals';
import { FAKE_CREDENTIALS } from '../../../dev/monnify/fakeCredentials.ts';
import { createBankList } from '../../../src/rail/bankList.ts';
import { parseCallback } from '../../../src/rail/monnify/callbacks.ts';
import { createMonnifyRail } from '../../../src/rail/monnify/rail.ts';
import type { RailCallback, StatementLine } from '../../../src/rail/port.ts';
import type { ClosableRail } from '../../../src/rail/provider.ts';
import {
  type Answers,
  caseOf,
  type DocumentedCase,
  named,
  testCallbacks,
  testResponses,
  testSources,
} from '../documented.ts';
import { INSTRUCTION, SENDS, SUMMARIES, TRANSACTIONS } from './documented.ts';
import {
  BALANCES,
  BANKS,
  CANCELLATIONS,
  ENQUIRIES,
  EVENTS,
  INVOICE_DETAILS,
  INVOICES,
  LOGINS,
  RESERVATIONS,
  RESERVED_ACCOUNTS,
  SEARCH_PAGES,
  WALLET,
  WALLET_PAGES,
} from './documentedCalls.ts';
import { ORGANISATION, oneOff, permanent } from './harness.ts';

/** Soon after the times of all responses. */
const NOW = new Date('2026-06-27T08:40:00Z');

const LIST_OF_BANKS = 'GET /api/v1/banks';
const LOGIN = 'POST /api/v1/auth/login';
const CREATE = 'POST /api/v1/invoice/create';
const DETAILS = 'GET /api/v1/invoice/*/details';
const CANCEL = 'DELETE /api/v1/invoice/*/cancel';
const RESERVE = 'POST /api/v2/bank-transfer/reserved-accounts';
const RESERVED = 'GET /api/v2/bank-transfer/reserved-accounts/*';
const DEALLOCATE = 'DELETE /api/v1/bank-transfer/reserved-accounts/reference/*';
const BALANCE = 'GET /api/v2/disbursements/wallet-balance';
const SEARCH = 'GET /api/v1/transactions/search';
const TRANSACTION = 'GET /api/v2/transactions/*';
const PAGE = 'GET /api/v1/disbursements/wallet/*/statement';

const USUAL: Answers = {
  [LOGIN]: named(LOGINS, 'a token'),
  [LIST_OF_BANKS]: named(BANKS, 'three banks'),
  [DETAILS]: named(INVOICE_DETAILS, 'unknown'),
  [RESERVED]: named(INVOICE_DETAILS, 'unknown'),
  [BALANCE]: named(BALANCES, 'as numbers'),
  [TRANSACTION]: named(TRANSACTIONS, 'paid'),
  'GET /api/v2/disbursements/single/summary': named(SUMMARIES, 'paid'),
};

const INVOICE = 'svc_01kb0000000000000000000001_pay';
const opened = (kind: 'one_off' | 'permanent') => ({
  organisationId: ORGANISATION,
  kind,
  reference: kind === 'one_off' ? INVOICE : WALLET,
  accountNumber: '1003440679',
});
const PERIOD = { from: new Date('2026-06-27T00:00:00Z'), to: new Date('2026-06-28T00:00:00Z') };
const statement = (cursor: string | null) => async (rail: ClosableRail) => {
  const { lines } = await rail.statement({ organisationId: ORGANISATION, ...PERIOD, cursor });
  return lines.map(({ row: _row, ...line }) => line);
};

const open = (rail: ClosableRail) => rail.openVirtualAccount(oneOff(NOW, { reference: INVOICE, amount: 202_037 }));
const reserve = (rail: ClosableRail) => rail.openVirtualAccount(permanent(WALLET));
const close = (kind: 'one_off' | 'permanent') => async (rail: ClosableRail) => {
  await rail.closeVirtualAccount(opened(kind));
  return 'closed';
};
const balance = (rail: ClosableRail) => rail.balance({ organisationId: ORGANISATION });
const credits = async (rail: ClosableRail) =>
  (await rail.listInboundCredits({ organisationId: ORGANISATION, ...PERIOD, cursor: null })).credits;
const find = (rail: ClosableRail) =>
  rail.findInboundCredit({
    organisationId: ORGANISATION,
    sessionId: 'MNFY|17|20260627090811|000340',
    accountReference: INVOICE,
  });

const NUMBER = {
  accountNumber: '1003440679',
  accountName: 'ADA OBI',
  bankName: 'Wema bank',
  bankCode: '035',
  expiresAt: new Date('2026-06-27T09:08:11Z'),
};
const RESERVED_NUMBER = {
  ...NUMBER,
  accountNumber: '6839490147',
  bankName: 'Moniepoint Microfinance Bank',
  bankCode: '50515',
  expiresAt: null,
};
const CREDIT = {
  sessionId: 'MNFY|17|20260627090811|000340',
  accountReference: INVOICE,
  accountNumber: null,
  amount: 202_037,
  senderName: 'CHIDI EZE',
  senderAccountNumber: null,
  senderBankCode: '058',
  senderSessionId: null,
  receivedAt: new Date('2026-06-27T08:12:00Z'),
};
const LINE = { amount: 250_000, charge: 0, at: new Date('2026-06-27T08:32:49Z') };
const OWN = 'MFDS87620260627093249000027JDW8UZ';
const SETTLEMENT = 'SETTLEMENT_LB8HG1PNZT4ATJGZXQBY_CREDIT_0';
const FUNDING = 'MFY_WTP_TRF_2MPT61CFP_1896839989128998912_CBA_CREDIT_0';
const NAMES = ['accountName', 'bankName', 'senderName', 'senderSessionId', 'name'];

/** A row whose narration or word is another one is left to a person, with its amount. */
const leftToAPerson = (line: StatementLine, reference: string, amount = line.amount): StatementLine[][] => [
  [
    {
      ...line,
      kind: line.kind === 'sent' || line.kind === 'charge' ? 'other_out' : 'other_in',
      reference,
      amount,
      charge: 0,
    },
  ],
];

const walletCase = (name: string, line: StatementLine, harmless: readonly unknown[] = []): DocumentedCase =>
  caseOf(PAGE, WALLET_PAGES, name, statement('{"list":"wallet","page":0,"seen":[]}'), [line], {
    passedOn: ['reference'],
    // A row that is not completed is no line yet.
    harmless: [[], ...harmless],
  });

const CASES: readonly DocumentedCase[] = [
  // A login that is rejected in other words is a matter of the keys, and nothing was asked for yet.
  caseOf(LOGIN, LOGINS, 'a token', balance, 328_459_035_536, { isFirst: true, harmless: ['unauthorised'] }),
  caseOf(LOGIN, LOGINS, 'wrong keys', balance, 'unauthorised', { isFirst: true }),
  caseOf(CREATE, INVOICES, 'opened', open, NUMBER),
  caseOf(CREATE, INVOICES, 'known already', open, NUMBER, { besides: { [DETAILS]: named(INVOICE_DETAILS, 'open') } }),
  caseOf(CREATE, INVOICES, 'known already', open, 'unknown'),
  caseOf(CREATE, INVOICES, 'too small', open, 'refused'),
  caseOf(CREATE, INVOICES, 'expired', open, 'refused'),
  caseOf(CREATE, INVOICES, 'another contract', open, 'unauthorised'),
  ...['open', 'paid'].map(
    (name): DocumentedCase =>
      caseOf(DETAILS, INVOICE_DETAILS, name, open, NUMBER, { besides: { [CREATE]: named(INVOICES, 'known already') } }),
  ),
  caseOf(DETAILS, INVOICE_DETAILS, 'unknown', open, 'unknown', {
    besides: { [CREATE]: named(INVOICES, 'known already') },
  }),
  caseOf(CANCEL, CANCELLATIONS, 'cancelled', close('one_off'), 'closed'),
  caseOf(CANCEL, CANCELLATIONS, 'refused', close('one_off'), 'unknown', {
    besides: { [DETAILS]: named(INVOICE_DETAILS, 'open') },
  }),
  caseOf(DETAILS, INVOICE_DETAILS, 'paid', close('one_off'), 'closed', {
    besides: { [CANCEL]: named(CANCELLATIONS, 'refused') },
  }),
  caseOf(RESERVE, RESERVATIONS, 'opened', reserve, RESERVED_NUMBER),
  caseOf(RESERVE, RESERVATIONS, 'known already', reserve, RESERVED_NUMBER, {
    besides: { [RESERVED]: named(RESERVED_ACCOUNTS, 'active') },
  }),
  caseOf(RESERVED, RESERVED_ACCOUNTS, 'active', reserve, RESERVED_NUMBER, {
    besides: { [RESERVE]: named(RESERVATIONS, 'known already') },
  }),
  caseOf(RESERVE, RESERVATIONS, 'no BVN', reserve, 'refused'),
  caseOf(RESERVE, RESERVATIONS, 'another bank', reserve, 'refused'),
  caseOf(DEALLOCATE, RESERVED_ACCOUNTS, 'closed', close('permanent'), 'closed'),
  caseOf(RESERVED, RESERVED_ACCOUNTS, 'closed', close('permanent'), 'closed', {
    besides: { [DEALLOCATE]: named(CANCELLATIONS, 'refused') },
  }),
  caseOf(
    LIST_OF_BANKS,
    BANKS,
    'three banks',
    (rail) => rail.banks(),
    [
      { code: '044', name: 'Access bank', nipCode: '000014' },
      { code: '058', name: 'GTBank', nipCode: '000013' },
      { code: '50515', name: 'Moniepoint Microfinance Bank', nipCode: '090405' },
    ],
    { isFirst: true, passedOn: ['name', 'code', 'nipCode'] },
  ),
  ...(['a holder', 'no such account'] as const).map(
    (name): DocumentedCase =>
      caseOf(
        'GET /api/v1/disbursements/account/validate',
        ENQUIRIES,
        name,
        async (rail) => (await rail.resolveAccount(INSTRUCTION)) ?? 'no account',
        name === 'a holder' ? { accountName: 'ADA OBI' } : 'no account',
      ),
  ),
  caseOf(BALANCE, BALANCES, 'as numbers', balance, 328_459_035_536),
  caseOf(BALANCE, BALANCES, 'as texts', balance, 491_979_810_136),
  walletCase(
    'a transfer with its charge',
    { ...LINE, kind: 'sent', reference: INSTRUCTION.reference, charge: 1_000 },
    leftToAPerson({ ...LINE, kind: 'sent', reference: '' }, `${OWN}_DEBIT_0`, 251_000),
  ),
  walletCase(
    'a transfer without its charge',
    { ...LINE, kind: 'sent', reference: INSTRUCTION.reference },
    leftToAPerson({ ...LINE, kind: 'sent', reference: '' }, `${OWN}_DEBIT_0`),
  ),
  walletCase(
    'a charge',
    { ...LINE, kind: 'charge', reference: `${OWN}_DEBIT_1`, amount: 1_000 },
    leftToAPerson({ ...LINE, kind: 'charge', reference: '', amount: 1_000 }, `${OWN}_DEBIT_1`),
  ),
  walletCase(
    'a return',
    { ...LINE, kind: 'returned', reference: INSTRUCTION.reference },
    leftToAPerson({ ...LINE, kind: 'returned', reference: '' }, `${OWN}_CREDIT_0`),
  ),
  walletCase(
    'a settlement',
    { ...LINE, kind: 'settlement', reference: SETTLEMENT, amount: 199_006 },
    leftToAPerson({ ...LINE, kind: 'settlement', reference: '', amount: 199_006 }, SETTLEMENT),
  ),
  walletCase(
    'funding',
    { ...LINE, kind: 'funding', reference: FUNDING, amount: 10_000 },
    leftToAPerson({ ...LINE, kind: 'funding', reference: '', amount: 10_000 }, FUNDING),
  ),
  ...SEARCH_PAGES.flatMap(({ name }): DocumentedCase[] => {
    const line = { kind: 'credit', reference: CREDIT.sessionId, amount: 202_037, charge: 3_031, at: CREDIT.receivedAt };
    return [
      caseOf(SEARCH, SEARCH_PAGES, name, statement(null), [line], {
        passedOn: ['reference'],
        harmless: [[], [{ ...line, kind: 'other_in' }]],
      }),
      caseOf(SEARCH, SEARCH_PAGES, name, credits, [{ ...CREDIT, recalledAt: null }], { harmless: [[]] }),
    ];
  }),
  caseOf(
    TRANSACTION,
    TRANSACTIONS,
    'paid',
    find,
    { ...CREDIT, recalledAt: null },
    { passedOn: [...NAMES, 'accountReference'], harmless: ['pending'] },
  ),
  caseOf(TRANSACTION, TRANSACTIONS, 'not paid yet', find, 'pending'),
  caseOf(TRANSACTION, TRANSACTIONS, 'unknown', find, null),
];

testResponses({
  cases: CASES,
  usual: USUAL,
  passedOn: NAMES,
  openRail: (baseUrl) => createMonnifyRail({ ...FAKE_CREDENTIALS, baseUrl }, () => NOW),
});

const banks = createBankList(() => Promise.resolve([{ code: '058', name: 'GTBank', nipCode: '000013' }]));

beforeAll(() => banks.load());

const parse = (body: Buffer): RailCallback[] => {
  const signature = createHmac('sha512', FAKE_CREDENTIALS.secretKey).update(body).digest('hex');
  return parseCallback({ ...FAKE_CREDENTIALS, baseUrl: '' }, banks, {
    headers: { 'monnify-signature': signature },
    body,
  });
};
const { senderName, senderBankCode } = CREDIT;
const credit = {
  kind: 'inbound_credit',
  sessionId: CREDIT.sessionId,
  hint: {
    accountReference: INVOICE,
    accountNumber: '1003440679',
    amount: 202_037,
    receivedAt: new Date('2026-06-27T08:12:00.615Z'),
  },
  sender: {
    senderName,
    senderAccountNumber: '0065432190',
    senderBankCode,
    senderSessionId: 'e6cV1smlpkwG38Cg6d5F9B2PRnIq5FqA',
  },
};
const update = { kind: 'transfer_update', reference: INSTRUCTION.reference };
const notice = (name: string, reference: string | null) => ({ kind: 'notice', notice: name, reference });

testCallbacks({
  events: EVENTS,
  meanings: [
    ['a payment', credit],
    ['a deposit', credit],
    ['by card', { kind: 'ignored', event: 'SUCCESSFUL_TRANSACTION' }],
    ['paid out', update],
    ['not paid out', update],
    ['paid back', update],
    ['rejected', { ...notice('payment_rejected', INVOICE), providerMessage: 'UNDER_PAYMENT' }],
    ['settled', notice('settled', 'LB8HG1PNZT4ATJGZXQBY')],
    ['low', notice('low_balance', null)],
    ['another product', { kind: 'ignored', event: 'ACCOUNT_ACTIVITY' }],
  ],
  passedOn: [...NAMES, 'providerMessage', 'reference', 'accountReference', 'sessionId', 'event'],
  parse,
});

testSources(
  [
    LOGINS,
    INVOICES,
    INVOICE_DETAILS,
    CANCELLATIONS,
    RESERVATIONS,
    RESERVED_ACCOUNTS,
    BANKS,
    ENQUIRIES,
    BALANCES,
    WALLET_PAGES,
    SEARCH_PAGES,
    EVENTS,
    SENDS,
    SUMMARIES,
    TRANSACTIONS,
  ],
  '2026-11-22',
);
