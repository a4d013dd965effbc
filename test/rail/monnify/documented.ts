// Responses of Monnify to transfers and to queries of them and of collections. The others are in documentedCalls.ts.
import type { Documented } from '../documented.ts';

export const DOTNET = 'github.com/Monnify/monnify-dotnet-lib@9d49e61';
const GUIDE = 'developers.monnify.com/docs/disbursements/single-transfers';
export const ERRORS = 'developers.monnify.com/docs/error-codes';
const SEEN = '2026-11-22';

export const ok = (body: string): string =>
  `{"requestSuccessful":true,"responseMessage":"success","responseCode":"0","responseBody":${body}}`;
export const no = (code: string, message: string): string =>
  `{"requestSuccessful":false,"responseMessage":"${message}","responseCode":${code}}`;

const transfer = (status: string, more = ''): string =>
  ok(
    `{"amount":2500.00,"reference":"svc_01kb0000000000000000000001_wth","status":"${status}",` +
      '"dateCreated":"2026-06-27T08:32:49.289+00:00","totalFee":10.00,"destinationAccountName":"ADA OBI",' +
      `"destinationBankName":"GTBank","destinationAccountNumber":"0123456789","destinationBankCode":"058"${more}}`,
  );

/** The transfer of all responses below. */
export const INSTRUCTION = {
  organisationId: '0197f0c0-0000-7000-8000-000000000001',
  reference: 'svc_01kb0000000000000000000001_wth',
  amount: 250_000,
  accountNumber: '0123456789',
  bankCode: '058',
  accountName: 'ADA OBI',
  narration: 'Rent',
};

export const sent = (name: string, text: string, more: Partial<Documented> = {}): Documented => ({
  name,
  source: GUIDE,
  kind: 'documented',
  seen: SEEN,
  status: 200,
  text,
  ...more,
});

/** To a send. */
export const SENDS: readonly Documented[] = [
  sent('paid at once', transfer('SUCCESS', ',"comment":"Transaction successful"'), {
    source: `${DOTNET} tests/…/MonnifyDisbursementsClientSingleTransferTests.cs`,
    kind: 'captured',
  }),
  sent('accepted, asynchronously', transfer('PENDING')),
  sent('waits for a one-time password', transfer('PENDING_AUTHORIZATION')),
  sent('failed for good', transfer('FAILED', ',"comment":"Dormant beneficiary account"')),
  sent(
    'failed for the balance',
    transfer(
      'FAILED',
      ',"comment":"You do not have sufficient balance to process this request. Please fund your account and try again."',
    ),
    { source: 'teamapt.atlassian.net/wiki/pages/223149917' },
  ),
  sent('D01', no('"D01"', 'The transaction could not be processed'), { status: 422 }),
  sent('D02', no('"D02"', 'Could not find disbursement transaction for given reference'), {
    source: ERRORS,
    status: 404,
  }),
  sent('D03', no('"D03"', 'Invalid account details supplied'), { status: 422 }),
  sent('D04', no('"D04"', 'Insufficient wallet balance'), { status: 422 }),
  sent('D05', no('"D05"', 'Supplied reference already exists!'), { source: ERRORS, status: 422 }),
  sent('D06', no('"D06"', 'Unauthorized request'), { status: 403 }),
  sent('D07', no('"D07"', 'Duplicate request'), { status: 422 }),
  sent('99 as a number', no('99', 'An unexpected error occurred'), { status: 500 }),
  sent('a feature that is off', no('"99"', 'Merchant is not permitted to perform this operation'), {
    source: `${DOTNET} tests/…/MonnifyHttpClientBaseTests.cs`,
    kind: 'captured',
    status: 403,
  }),
];

const summary = (status: string, description: string, twoFaEnabled = false): string =>
  ok(
    '{"amount":"2500.00","reference":"svc_01kb0000000000000000000001_wth","narration":"Rent","currency":"NGN",' +
      `"fee":10.00,"twoFaEnabled":${twoFaEnabled},"status":"${status}","transactionDescription":"${description}",` +
      '"transactionReference":"MFDS87620260627093249000027JDW8UZ","createdOn":"2026-06-27T08:32:49.000+00:00",' +
      '"sourceAccountNumber":"8016472829","destinationAccountNumber":"0123456789",' +
      '"destinationAccountName":"ADA OBI","destinationBankCode":"058","destinationBankName":"GTBank"}',
  );

/** To a query of the status. */
export const SUMMARIES: readonly Documented[] = [
  sent('paid', summary('SUCCESS', 'Transaction successful'), {
    source: `${DOTNET} tests/…/MonnifyDisbursementsClientSingleTransferTests.cs`,
    kind: 'captured',
  }),
  sent('completed', summary('COMPLETED', 'Transaction successful')),
  sent('pending', summary('PENDING', 'Transaction processing in progress')),
  sent('in progress', summary('IN_PROGRESS', '')),
  sent('failed for good', summary('FAILED', 'Rejected by destination institution')),
  sent('failed, to be queried again', summary('FAILED', 'Beneficiary bank not available')),
  sent('reversed', summary('REVERSED', 'Reversed')),
  sent('expired', summary('EXPIRED', '', true)),
  sent('unknown', no('"D02"', 'Could not find disbursement transaction for given reference'), {
    source: ERRORS,
    status: 404,
  }),
];

/** To a query of a collection. */
export const TRANSACTIONS: readonly Documented[] = [
  sent(
    'paid',
    ok(
      '{"transactionReference":"MNFY|17|20260627090811|000340","paymentReference":"svc_01kb0000000000000000000001_pay",' +
        '"amountPaid":"2020.37","totalPayable":"2020.37","settlementAmount":"1990.06",' +
        '"paidOn":"2026-06-27 09:12:00.000","paymentStatus":"PAID","paymentDescription":"Payment","currency":"NGN",' +
        '"paymentMethod":"ACCOUNT_TRANSFER","product":{"type":"INVOICE","reference":"svc_01kb0000000000000000000001_pay"},' +
        '"cardDetails":null,"accountDetails":{"accountName":"CHIDI EZE","accountNumber":"******2190",' +
        '"bankCode":"058","amountPaid":"2020.37"},"accountPayments":[],"customer":{"email":"ada@example.com","name":"Ada Obi"}}',
    ),
    { source: 'teamapt.atlassian.net/wiki/pages/223149907' },
  ),
  sent(
    'not paid yet',
    ok(
      '{"transactionReference":"MNFY|17|20260627090811|000340","paymentReference":"svc_01kb0000000000000000000001_pay",' +
        '"amountPaid":"0.00","totalPayable":"0.00","settlementAmount":null,"paidOn":null,"paymentStatus":"PENDING",' +
        '"paymentDescription":"Payment","currency":"NGN","paymentMethod":"ACCOUNT_TRANSFER",' +
        '"product":{"type":"API_NOTIFICATION","reference":"svc_01kb0000000000000000000001_pay"},"cardDetails":null,' +
        '"customer":{"email":"ada@example.com","name":"Ada Obi"}}',
    ),
    { source: `${DOTNET} tests/…/MonnifyCollectionsClientTransactionsTests.cs`, kind: 'captured' },
  ),
  sent('unknown', no('"99"', "There's no transaction matching supplied reference. Please confirm and try again."), {
    source: ERRORS,
    status: 404,
  }),
];

/** The example of the documentation of callbacks, byte by byte: only the compact body has this signature. */
export const SIGNED_EXAMPLE = {
  source: 'developers.monnify.com/docs/webhooks',
  seen: SEEN,
  secretKey: '91MUDL9N6U3BQRXBQ2PJ9M0PW4J22M1Y',
  body:
    '{"eventData":{"product":{"reference":"111222333","type":"OFFLINE_PAYMENT_AGENT"},' +
    '"transactionReference":"MNFY|76|20211117154810|000001","paymentReference":"0.01462001097368737",' +
    '"paidOn":"17/11/2021 3:48:10 PM","paymentDescription":"Mockaroo Jesse","metaData":{},' +
    '"destinationAccountInformation":{},"paymentSourceInformation":{},"amountPaid":78000,"totalPayable":78000,' +
    '"offlineProductInformation":{"code":"41470","type":"DYNAMIC"},"cardDetails":{},"paymentMethod":"CASH",' +
    '"currency":"NGN","settlementAmount":77600,"paymentStatus":"PAID","customer":{"name":"Mockaroo Jesse",' +
    '"email":"111222333@ZZAMZ4WT4Y3E.monnify"}},"eventType":"SUCCESSFUL_TRANSACTION"}',
  signature:
    'f04fb635e04d71648bd3cc7999003da6861483342c856d05ddfa9b2dafacb873' +
    'b0de1d0f8f67405d0010b4348b721c49fa171d317972618debba6b638aedcd3c',
};
