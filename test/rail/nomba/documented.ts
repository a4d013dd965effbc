// Responses of Nomba, and its callbacks, as they are documented or were captured.
import type { Documented } from '../documented.ts';

const TRANSFERS = 'developer.nomba.com/docs/products/transfers/transfer-to-banks';
const ERRORS = 'developer.nomba.com/docs/api-basics/error-codes';
const SEEN = '2026-11-23';

export const INSTRUCTION = {
  organisationId: '0197f0c0-0000-7000-8000-000000000001',
  reference: 'svc_01kb0000000000000000000001_wth',
  amount: 250_000,
  accountNumber: '0123456789',
  bankCode: '058',
  accountName: 'ADA OBI',
  narration: 'Rent',
};

const sent = (
  name: string,
  status: number,
  text: string,
  source = TRANSFERS,
  kind: Documented['kind'] = 'documented',
): Documented => ({
  name,
  source,
  kind,
  seen: SEEN,
  status,
  text,
});

const transfer = (status: string): string =>
  '{"code":"00","description":"Success","data":{"amount":2500.00,"meta":{"merchantTxRef":' +
  '"svc_01kb0000000000000000000001_wth","rrn":"230908151711"},"fee":20,"timeCreated":"2026-11-22T14:17:13.634Z",' +
  `"id":"API-TRANSFER-C24AD-a6443bf0","type":"transfer","status":"${status}"}}`;

/** To a send. */
export const SENDS: readonly Documented[] = [
  sent('paid at once', 200, transfer('SUCCESS')),
  sent('on its way', 200, transfer('PENDING_BILLING')),
  sent('new', 200, transfer('NEW')),
  sent('a generic error', 400, '{"code":"01","description":"Generic error","data":null}', ERRORS),
  sent('a validation error', 400, '{"code":"02","description":"amount can not be null","data":null}', ERRORS),
  sent('not permitted', 200, '{"code":"05","description":"Transaction not permitted","data":null}', ERRORS),
  sent('no balance', 400, '{"code":"05","description":"INSUFFICIENT_BALANCE","data":null}', ERRORS),
  sent('too many', 429, '{"code":"01","description":"Rate limit exceeded","data":null}', ERRORS),
  sent('forbidden', 403, '{"code":"01","description":"Forbidden","data":null}', ERRORS),
  sent('an internal error', 500, '{"code":"06","description":"Error","data":null}', ERRORS),
];

const row = (status: string, type: string, entryType = 'CREDIT'): string =>
  `{"id":"API-X-AE5CF-1","status":"${status}","amount":"2500.0","fixedCharge":"20.0","source":"api","type":"${type}",` +
  `"entryType":"${entryType}",` +
  '"timeCreated":"2026-11-22T14:17:13.634Z","merchantTxRef":"svc_01kb0000000000000000000001_wth",' +
  '"paymentVendorReference":"000132891359184717316165338085","recipientAccountNumber":"0123456789",' +
  '"senderName":"CHIDI EZE","accountNumber":"0065432190","bankCode":"090645"}';

/** To a query by our reference. */
export const LISTS: readonly Documented[] = [
  ...['SUCCESS', 'PENDING_BILLING', 'REFUND'].map((status) =>
    sent(
      status,
      200,
      `{"code":"00","description":"Success","data":{"results":[${row(status, 'transfer', 'DEBIT')}],"cursor":""}}`,
      'developer.nomba.com/products/checkout/verify-transactions',
    ),
  ),
  sent('none', 200, '{"code":"00","description":"Success","data":{"results":[],"cursor":""}}'),
];

const ok = (data: string): string => `{"code":"00","description":"Success","data":${data}}`;
const no = (code: string, description: string): string =>
  `{"code":"${code}","description":"${description}","data":null}`;

const TOKEN = 'developer.nomba.com/docs/api-basics/authentication';
/** To a login. */
export const TOKENS: readonly Documented[] = [
  sent(
    'a token',
    200,
    ok(
      '{"businessId":"890022ce-bae0-45c1-9b9d-ee7872e6ca27","access_token":"eyJhbGciOiJIUzI1NiJ9.e30.c2ln",' +
        '"refresh_token":"01h4gdx3s7","expiresAt":"2026-11-22T14:47:13Z"}',
    ),
    TOKEN,
  ),
  sent('wrong keys', 401, no('401', 'Invalid client credentials'), TOKEN),
];

const ACCOUNT = 'developer.nomba.com/docs/products/accept-payment/create-a-virtual-account';
const account = (expired: boolean): string =>
  ok(
    '{"createdAt":"2026-11-22T14:10:00.000Z","accountRef":"svc_01kb0000000000000000000001_pay",' +
      '"accountHolderId":"8d19d421-85b1-4b61-be90-168dc261ff45","accountName":"ADA OBI Account","currency":"NGN",' +
      '"bankName":"Nombank MFB","bankAccountNumber":"9391076543","bankAccountName":"Nomba/ADA OBI Account",' +
      `"expiryDate":"2026-11-22T15:40:00","expired":${expired}}`,
  );

/** To the opening of an account number, and to a query of one. */
export const ACCOUNTS: readonly Documented[] = [
  sent('open', 200, account(false), ACCOUNT),
  sent('expired', 200, account(true), ACCOUNT),
  sent('known already', 400, no('02', 'Account reference already exists'), ACCOUNT),
  sent('unknown', 404, no('02', 'Account not found'), ACCOUNT),
];

/** To the closing of an account number. */
export const CLOSINGS: readonly Documented[] = [
  sent('closed', 200, ok('{"expired":true}'), ACCOUNT),
  sent('refused', 400, no('02', 'The account has expired'), ACCOUNT),
];

export const BANKS: readonly Documented[] = [
  sent('two banks', 200, ok('[{"code":"058","name":"GTBank"},{"code":"090645","name":"Nombank MFB"}]')),
];

/** To a name enquiry. */
export const ENQUIRIES: readonly Documented[] = [
  sent('a holder', 200, ok('{"accountNumber":"0123456789","accountName":"ADA OBI"}')),
  sent('no such account', 404, no('404', 'Account not found')),
];

export const BALANCES: readonly Documented[] = [
  sent(
    'a balance',
    200,
    ok('{"amount":"4200.67","currency":"NGN","timeCreated":"2026-11-22T14:17:13.634Z"}'),
    'developer.nomba.com/nomba-api-reference/accounts/fetch-account-balance',
  ),
];

const REQUERY = 'developer.nomba.com/docs/products/transfers/transaction-requery';
/** To a requery of a credit. */
export const REQUERIES: readonly Documented[] = [
  sent('received', 200, ok(row('SUCCESS', 'vact_transfer')), REQUERY),
  sent('on its way', 200, ok(row('PENDING_PAYMENT', 'vact_transfer')), REQUERY),
  sent('failed', 200, ok(row('PAYMENT_FAILED', 'vact_transfer')), REQUERY),
  sent('money that left', 200, ok(row('SUCCESS', 'vact_transfer', 'DEBIT')), REQUERY),
  sent('unknown', 404, no('404', 'Transaction not found'), REQUERY),
];

const page = (one: string): string => ok(`{"results":[${one}],"cursor":""}`);
/** Pages of the list of transactions. */
export const PAGES: readonly Documented[] = [
  sent('a credit', 200, page(row('SUCCESS', 'vact_transfer')), REQUERY),
  sent('a transfer', 200, page(row('SUCCESS', 'transfer', 'DEBIT')), REQUERY),
  sent('a refund', 200, page(row('REFUND', 'transfer', 'DEBIT')), REQUERY),
];

const event = (name: string, eventType: string, transaction: string): Documented =>
  sent(
    name,
    200,
    `{"event_type":"${eventType}","requestId":"45f2dc2d-d559-4773-bba3-2d5a1c6e7f80","data":{"merchant":{` +
      '"walletId":"6756ff80aafe04a795f18b38","walletBalance":6052,"userId":"b7b10e81-0c3f-4e3c-8d3a-f4e23a132bbf"},' +
      `"terminal":{},"transaction":{${transaction},"fee":20,"sessionId":"000132891359184717316165338085",` +
      '"transactionId":"API-X-AE5CF-1","responseCode":"","originatingFrom":"api","transactionAmount":2500.00,' +
      '"time":"2026-11-22T14:17:13Z"},"customer":{"bankCode":"090645","senderName":"CHIDI EZE",' +
      '"bankName":"Nombank MFB","accountNumber":"0065432190"}}}',
    'developer.nomba.com/docs/api-basics/webhook, and bodies in third-party connectors',
    'captured',
  );
const OUTWARD = '"type":"transfer","merchantTxRef":"svc_01kb0000000000000000000001_wth"';

/** Callbacks. */
export const EVENTS: readonly Documented[] = [
  event(
    'a payment',
    'payment_success',
    '"type":"vact_transfer","aliasAccountNumber":"9391076543","aliasAccountType":"VIRTUAL",' +
      '"aliasAccountReference":"svc_01kb0000000000000000000001_pay"',
  ),
  event('by card', 'payment_success', '"type":"online_checkout"'),
  ...['payout_success', 'payout_failed', 'payout_refund'].map((name) => event(name, name, OUTWARD)),
  event('payment_reversal', 'payment_reversal', '"type":"vact_transfer"'),
];

/** The example that connectors of others test their signatures with; recomputed here. */
export const SIGNED_EXAMPLE = {
  source: 'the sample of the documentation of callbacks, as in third-party connectors',
  key: 'sampleSecret',
  timestamp: '2025-09-29T10:51:44Z',
  signature: 'zj2S3DjHKtaQmQMn6Njm0RoFTG6WNi3ObogGyFE5xHA=',
  body: JSON.stringify({
    event_type: 'payment_success',
    requestId: '45f2dc2d-d559-4773-bba3-2XXXXXXXXXX',
    data: {
      merchant: { walletId: '6756ff80aafe04XXXXXXXXXX', walletBalance: 6052, userId: 'b7b10e81-**-**-**-f4e23a132bbf' },
      terminal: {},
      transaction: {
        aliasAccountNumber: '5343270516',
        fee: 5,
        sessionId: 'IFAP-TRANSFER-46501-e0339485-1a2f-4b43-9bd5-XXXXXXXXXX',
        type: 'vact_transfer',
        transactionId: 'API-VACT_TRA-B7B10-0435b274-807a-4bc7-8abe-9XXXXXXXXXX',
        responseCode: 'null',
        transactionAmount: 10,
        time: '2025-09-29T10:51:44Z',
        aliasAccountReference: 'sampleAccountReference',
      },
      customer: { bankCode: '090645', senderName: 'John Does', accountNumber: '0000000000' },
    },
  }),
};
