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
import { type Answers, type DocumentedCase, named, testCallbacks, testResponses, testSources } from '../documented.ts';
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
  return lines;
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
  receivedAt: new Date('2026-06-27T08:12:00Z'),
};
const LINE = { amount: 250_000, charge: 0, at: new Date('2026-06-27T08:32:49Z') };
const OWN = 'MFDS87620260627093249000027JDW8UZ';
const SETTLEMENT = 'SETTLEMENT_LB8HG1PNZT4ATJGZXQBY_CREDIT_0';
const FUNDING = 'MFY_WTP_TRF_2MPT61CFP_1896839989128998912_CBA_CREDIT_0';
const NAMES = ['accountName', 'bankName', 'senderName', 'name'];

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

const walletCase = (name: string, line: StatementLine, harmless: readonly unknown[] = []): DocumentedCase => ({
  route: PAGE,
  list: WALLET_PAGES,
  name,
  call: statement('{"list":"wallet","page":0,"seen":[]}'),
  expected: [line],
  passedOn: ['reference'],
  // A row that is not completed is no line yet.
  harmless: [[], ...harmless],
});

const CASES: readonly DocumentedCase[] = [
  // A login that is rejected in other words is a matter of the keys, and nothing was asked for yet.
  {
    route: LOGIN,
    isFirst: true,
    list: LOGINS,
    name: 'a token',
    call: balance,
    expected: 328_459_035_536,
    harmless: ['unauthorised'],
  },
  { route: LOGIN, isFirst: true, list: LOGINS, name: 'wrong keys', call: balance, expected: 'unauthorised' },
  { route: CREATE, list: INVOICES, name: 'opened', call: open, expected: NUMBER },
  {
    route: CREATE,
    list: INVOICES,
    name: 'known already',
    call: open,
    expected: NUMBER,
    besides: { [DETAILS]: named(INVOICE_DETAILS, 'open') },
  },
  { route: CREATE, list: INVOICES, name: 'known already', call: open, expected: 'unknown' },
  { route: CREATE, list: INVOICES, name: 'too small', call: open, expected: 'refused' },
  { route: CREATE, list: INVOICES, name: 'expired', call: open, expected: 'refused' },
  { route: CREATE, list: INVOICES, name: 'another contract', call: open, expected: 'unauthorised' },
  ...['open', 'paid'].map(
    (name): DocumentedCase => ({
      route: DETAILS,
      list: INVOICE_DETAILS,
      name,
      call: open,
      expected: NUMBER,
      besides: { [CREATE]: named(INVOICES, 'known already') },
    }),
  ),
  {
    route: DETAILS,
    list: INVOICE_DETAILS,
    name: 'unknown',
    call: open,
    expected: 'unknown',
    besides: { [CREATE]: named(INVOICES, 'known already') },
  },
  { route: CANCEL, list: CANCELLATIONS, name: 'cancelled', call: close('one_off'), expected: 'closed' },
  {
    route: CANCEL,
    list: CANCELLATIONS,
    name: 'refused',
    call: close('one_off'),
    expected: 'unknown',
    besides: { [DETAILS]: named(INVOICE_DETAILS, 'open') },
  },
  {
    route: DETAILS,
    list: INVOICE_DETAILS,
    name: 'paid',
    call: close('one_off'),
    expected: 'closed',
    besides: { [CANCEL]: named(CANCELLATIONS, 'refused') },
  },
  { route: RESERVE, list: RESERVATIONS, name: 'opened', call: reserve, expected: RESERVED_NUMBER },
  {
    route: RESERVE,
    list: RESERVATIONS,
    name: 'known already',
    call: reserve,
    expected: RESERVED_NUMBER,
    besides: { [RESERVED]: named(RESERVED_ACCOUNTS, 'active') },
  },
  {
    route: RESERVED,
    list: RESERVED_ACCOUNTS,
    name: 'active',
    call: reserve,
    expected: RESERVED_NUMBER,
    besides: { [RESERVE]: named(RESERVATIONS, 'known already') },
  },
  { route: RESERVE, list: RESERVATIONS, name: 'no BVN', call: reserve, expected: 'refused' },
  { route: RESERVE, list: RESERVATIONS, name: 'another bank', call: reserve, expected: 'refused' },
  { route: DEALLOCATE, list: RESERVED_ACCOUNTS, name: 'closed', call: close('permanent'), expected: 'closed' },
  {
    route: RESERVED,
    list: RESERVED_ACCOUNTS,
    name: 'closed',
    call: close('permanent'),
    expected: 'closed',
    besides: { [DEALLOCATE]: named(CANCELLATIONS, 'refused') },
  },
  {
    route: LIST_OF_BANKS,
    isFirst: true,
    list: BANKS,
    name: 'three banks',
    call: (rail) => rail.banks(),
    expected: [
      { code: '044', name: 'Access bank', nipCode: '000014' },
      { code: '058', name: 'GTBank', nipCode: '000013' },
      { code: '50515', name: 'Moniepoint Microfinance Bank', nipCode: '090405' },
    ],
    passedOn: ['name', 'code', 'nipCode'],
  },
  ...(['a holder', 'no such account'] as const).map(
    (name): DocumentedCase => ({
      route: 'GET /api/v1/disbursements/account/validate',
      list: ENQUIRIES,
      name,
      call: async (rail) => (await rail.resolveAccount(INSTRUCTION)) ?? 'no account',
      expected: name === 'a holder' ? { accountName: 'ADA OBI' } : 'no account',
    }),
  ),
  {
    route: BALANCE,
    list: BALANCES,
    name: 'as numbers',
    call: balance,
    expected: 328_459_035_536,
  },
  {
    route: BALANCE,
    list: BALANCES,
    name: 'as texts',
    call: balance,
    expected: 491_979_810_136,
  },
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
      {
        route: SEARCH,
        list: SEARCH_PAGES,
        name,
        call: statement(null),
        expected: [line],
        passedOn: ['reference'],
        harmless: [[], [{ ...line, kind: 'other_in' }]],
      },
      { route: SEARCH, list: SEARCH_PAGES, name, call: credits, expected: [CREDIT], harmless: [[]] },
    ];
  }),
  {
    route: TRANSACTION,
    list: TRANSACTIONS,
    name: 'paid',
    call: find,
    expected: { ...CREDIT, recalledAt: null },
    passedOn: [...NAMES, 'accountReference'],
    harmless: ['pending'],
  },
  { route: TRANSACTION, list: TRANSACTIONS, name: 'not paid yet', call: find, expected: 'pending' },
  { route: TRANSACTION, list: TRANSACTIONS, name: 'unknown', call: find, expected: null },
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
const credit = {
  kind: 'inbound_credit',
  credit: {
    ...CREDIT,
    accountNumber: '1003440679',
    senderAccountNumber: '0065432190',
    receivedAt: new Date('2026-06-27T08:12:00.615Z'),
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
