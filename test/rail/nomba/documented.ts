// Responses of Nomba as they are documented, written anew with values of our own. `seen`: when the source was read.
export interface Documented {
  name: string;
  source: string;
  seen: string;
  status: number;
  text: string;
}

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

const sent = (name: string, status: number, text: string, source = TRANSFERS): Documented => ({
  name,
  source,
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

const row = (status: string, type: string): string =>
  `{"id":"API-X-AE5CF-1","status":"${status}","amount":"2500.0","fixedCharge":"20.0","source":"api","type":"${type}",` +
  '"timeCreated":"2026-11-22T14:17:13.634Z","merchantTxRef":"svc_01kb0000000000000000000001_wth",' +
  '"paymentVendorReference":"000132891359184717316165338085","recipientAccountNumber":"0123456789",' +
  '"senderName":"CHIDI EZE","accountNumber":"0065432190","bankCode":"090645"}';

/** To a query by our reference. */
export const LISTS: readonly Documented[] = [
  ...['SUCCESS', 'PENDING_BILLING', 'REFUND'].map((status) =>
    sent(
      status,
      200,
      `{"code":"00","description":"Success","data":{"results":[${row(status, 'transfer')}],"cursor":""}}`,
      'developer.nomba.com/products/checkout/verify-transactions',
    ),
  ),
  sent('none', 200, '{"code":"00","description":"Success","data":{"results":[],"cursor":""}}'),
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
