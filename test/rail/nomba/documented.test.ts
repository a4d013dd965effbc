// Each documented response and callback of Nomba, through the whole adapter, has one outcome; and whatever one field of
// it is changed to, the adapter concludes the same, or that it does not know.
import { createHmac } from 'node:crypto';
import { SIGNED_FIELDS } from '../../../dev/nomba/events.ts';
import { FAKE_CREDENTIALS } from '../../../dev/nomba/fakeCredentials.ts';
import { parseJson } from '../../../src/rail/http.ts';
import { parseCallback } from '../../../src/rail/nomba/callbacks.ts';
import { createNombaRail } from '../../../src/rail/nomba/rail.ts';
import type { AccountRequest, RailCallback } from '../../../src/rail/port.ts';
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
import {
  ACCOUNTS,
  BALANCES,
  BANKS,
  CLOSINGS,
  ENQUIRIES,
  EVENTS,
  INSTRUCTION,
  LISTS,
  PAGES,
  REQUERIES,
  SENDS,
  TOKENS,
} from './documented.ts';

const NOW = new Date('2026-11-22T14:20:00Z');
const { organisationId } = INSTRUCTION;

const LOGIN = 'POST /v1/auth/token/issue';
const OPEN = 'POST /v1/accounts/virtual';
const QUERY = 'GET /v1/accounts/virtual/*';
const CLOSE = 'DELETE /v1/accounts/virtual/*';
const BALANCE = 'GET /v1/accounts/balance';
const LIST_OF_BANKS = 'GET /v1/transfers/banks';
const ENQUIRY = 'POST /v1/transfers/bank/lookup';
const REQUERY = 'GET /v1/transactions/requery/*';
const PAGE = 'POST /v1/transactions/accounts';

const USUAL: Answers = {
  [LOGIN]: named(TOKENS, 'a token'),
  [QUERY]: named(ACCOUNTS, 'unknown'),
  [BALANCE]: named(BALANCES, 'a balance'),
  [LIST_OF_BANKS]: named(BANKS, 'two banks'),
};

const REFERENCE = 'svc_01kb0000000000000000000001_pay';
const REQUEST: AccountRequest = {
  kind: 'one_off',
  organisationId,
  reference: REFERENCE,
  holder: { name: 'ADA OBI', email: 'ada@example.com', bvn: null },
  amount: 250_000,
  expiresAt: new Date('2026-11-22T14:40:00Z'),
};
const PERIOD = { from: new Date('2026-11-22T00:00:00Z'), to: new Date('2026-11-23T00:00:00Z'), cursor: null };

const open = (rail: ClosableRail) => rail.openVirtualAccount(REQUEST);
const close = async (rail: ClosableRail) => {
  const account = { organisationId, kind: 'permanent', reference: REFERENCE } as const;
  await rail.closeVirtualAccount({ ...account, accountNumber: '9391076543' });
  return 'closed';
};
const balance = (rail: ClosableRail) => rail.balance({ organisationId });
const SESSION = '000132891359184717316165338085';
const find = (rail: ClosableRail) =>
  rail.findInboundCredit({ organisationId, sessionId: SESSION, accountReference: null });
const credits = async (rail: ClosableRail) => (await rail.listInboundCredits({ organisationId, ...PERIOD })).credits;
const statement = async (rail: ClosableRail) =>
  (await rail.statement({ organisationId, ...PERIOD })).lines.map(({ row: _row, ...line }) => line);

const NUMBER = {
  accountNumber: '9391076543',
  accountName: 'Nomba/ADA OBI Account',
  bankName: 'Nombank MFB',
  bankCode: '090645',
  expiresAt: REQUEST.expiresAt,
};
const CREDIT = {
  sessionId: SESSION,
  accountReference: null,
  accountNumber: '0123456789',
  amount: 250_000,
  senderName: 'CHIDI EZE',
  senderAccountNumber: '0065432190',
  senderBankCode: '090645',
  senderSessionId: SESSION,
  receivedAt: new Date('2026-11-22T14:17:13.634Z'),
};
const LINE = { reference: INSTRUCTION.reference, amount: 250_000, charge: 2_000, at: CREDIT.receivedAt };
const NAMES = ['accountName', 'bankName', 'senderName', 'name', 'reference', 'sessionId', 'senderSessionId'];

const OTHER = { ...LINE, reference: 'API-X-AE5CF-1', charge: 0 };
/** It left and came back, whenever it is read: so what was posted of its charge before is undone. */
const refunded = (charge: number) => [
  { ...LINE, kind: 'sent', charge },
  { ...LINE, kind: 'returned', charge: 0 - charge },
];
const chargesOf = (line: object) => [0, 250_000].map((charge) => [{ ...line, charge }]);

const CASES: readonly DocumentedCase[] = [
  // A login that is rejected in other words is a matter of the keys, and nothing was asked for yet.
  caseOf(LOGIN, TOKENS, 'a token', balance, 420_067, { isFirst: true, harmless: ['unauthorised'] }),
  caseOf(LOGIN, TOKENS, 'wrong keys', balance, 'unauthorised', { isFirst: true }),
  caseOf(OPEN, ACCOUNTS, 'open', open, NUMBER),
  caseOf(OPEN, ACCOUNTS, 'known already', open, NUMBER, { besides: { [QUERY]: named(ACCOUNTS, 'open') } }),
  // The same code is a wrong request.
  caseOf(OPEN, ACCOUNTS, 'known already', open, 'refused'),
  caseOf(QUERY, ACCOUNTS, 'open', open, NUMBER, { besides: { [OPEN]: named(ACCOUNTS, 'known already') } }),
  caseOf(CLOSE, CLOSINGS, 'closed', close, 'closed'),
  caseOf(CLOSE, CLOSINGS, 'refused', close, 'unknown', { besides: { [QUERY]: named(ACCOUNTS, 'open') } }),
  caseOf(QUERY, ACCOUNTS, 'expired', close, 'closed', { besides: { [CLOSE]: named(CLOSINGS, 'refused') } }),
  caseOf(
    LIST_OF_BANKS,
    BANKS,
    'two banks',
    (rail) => rail.banks(),
    [
      { code: '058', name: 'GTBank', nipCode: null },
      { code: '090645', name: 'Nombank MFB', nipCode: null },
    ],
    { isFirst: true, passedOn: ['name', 'code'] },
  ),
  ...(['a holder', 'no such account'] as const).map(
    (name): DocumentedCase =>
      caseOf(
        ENQUIRY,
        ENQUIRIES,
        name,
        async (rail) => (await rail.resolveAccount(INSTRUCTION)) ?? 'no account',
        name === 'a holder' ? { accountName: 'ADA OBI' } : 'no account',
      ),
  ),
  caseOf(BALANCE, BALANCES, 'a balance', balance, 420_067),
  caseOf(
    REQUERY,
    REQUERIES,
    'received',
    find,
    { ...CREDIT, recalledAt: null },
    { passedOn: [...NAMES, 'accountNumber'], harmless: ['pending'] },
  ),
  caseOf(REQUERY, REQUERIES, 'on its way', find, 'pending'),
  caseOf(REQUERY, REQUERIES, 'failed', find, 'failed', { harmless: ['pending'] }),
  // Without a direction it is as documented of a requery.
  caseOf(REQUERY, REQUERIES, 'money that left', find, null, { harmless: [{ ...CREDIT, recalledAt: null }, 'pending'] }),
  caseOf(REQUERY, REQUERIES, 'unknown', find, null),
  // A row of another status or type is no credit yet.
  caseOf(PAGE, PAGES, 'a credit', credits, [{ ...CREDIT, recalledAt: null }], { harmless: [[]] }),
  // A charge that is not reported, or a type that is not documented, hides no money.
  caseOf(PAGE, PAGES, 'a credit', statement, [{ ...LINE, kind: 'credit', reference: SESSION }], {
    harmless: [[], ...chargesOf({ ...LINE, kind: 'credit', reference: SESSION }), [{ ...OTHER, kind: 'other_in' }]],
  }),
  caseOf(PAGE, PAGES, 'a transfer', statement, [{ ...LINE, kind: 'sent' }], {
    harmless: [[], ...chargesOf({ ...LINE, kind: 'sent' }), [{ ...OTHER, kind: 'other_out' }]],
  }),
  caseOf(PAGE, PAGES, 'a refund', statement, refunded(LINE.charge), {
    harmless: [
      [],
      ...[0, 250_000].map(refunded),
      [
        { ...OTHER, kind: 'other_out' },
        { ...OTHER, kind: 'other_in' },
      ],
    ],
  }),
];

testResponses({
  cases: CASES,
  usual: USUAL,
  passedOn: NAMES,
  openRail: (baseUrl) => createNombaRail({ ...FAKE_CREDENTIALS, baseUrl }, () => NOW),
});

const KEY = 'sampleSecret';
const TIMESTAMP = '2026-11-22T14:18:00Z';

const at = (tree: unknown, path: string): unknown =>
  path.split('.').reduce((value, key) => (value as Record<string, unknown> | null | undefined)?.[key], tree);

/** Signed over whatever the fields are. */
function parse(body: Buffer): RailCallback[] {
  const tree = parseJson(body);
  const fields = SIGNED_FIELDS.map((path) => at(tree, path));
  const code = typeof fields.at(-1) === 'string' ? fields.at(-1) : '';
  const text = [...fields.slice(0, -1), code, TIMESTAMP].join(':');
  const signature = createHmac('sha256', KEY).update(text).digest('base64');
  return parseCallback(KEY, { headers: { 'nomba-signature': signature, 'nomba-timestamp': TIMESTAMP }, body }, NOW);
}

const update = { kind: 'transfer_update', reference: INSTRUCTION.reference };
const ignored = (event: string) => ({ kind: 'ignored', event });

testCallbacks({
  events: EVENTS,
  meanings: [
    [
      'a payment',
      {
        kind: 'inbound_credit',
        sessionId: SESSION,
        hint: {
          accountReference: REFERENCE,
          accountNumber: '9391076543',
          amount: 250_000,
          receivedAt: new Date('2026-11-22T14:17:13Z'),
        },
        sender: null,
      },
    ],
    ['by card', ignored('payment_success')],
    ['payout_success', update],
    ['payout_failed', update],
    ['payout_refund', update],
    [
      'payment_reversal',
      {
        kind: 'recall',
        sessionId: SESSION,
        unmatched: { reference: 'API-X-AE5CF-1', amount: 250_000, at: new Date('2026-11-22T14:17:13Z') },
      },
    ],
  ],
  passedOn: [...NAMES, 'accountReference', 'event'],
  parse,
});

testSources(
  [ACCOUNTS, BALANCES, BANKS, CLOSINGS, ENQUIRIES, EVENTS, LISTS, PAGES, REQUERIES, SENDS, TOKENS],
  '2026-11-23',
);
