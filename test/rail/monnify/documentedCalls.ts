// Responses of Monnify to calls that are no transfer, and its callbacks, as they are documented or were captured.
import type { Documented } from '../documented.ts';
import { DOTNET, ERRORS, no, ok, sent } from './documented.ts';

const captured = (test: string): Pick<Documented, 'kind' | 'source'> => ({
  kind: 'captured',
  source: `${DOTNET} tests/Monnify.Tests/${test}Tests.cs`,
});

const PAYMENT = 'svc_01kb0000000000000000000001_pay';
export const WALLET = 'svc_01kb0000000000000000000001_wlt';
const TRANSACTION = 'MNFY|17|20260627090811|000340';

/** To a login. */
export const LOGINS: readonly Documented[] = [
  sent('a token', ok('{"accessToken":"eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.e30.c2lnbmF0dXJl","expiresIn":3567}'), {
    source: 'developers.monnify.com/docs/authentication',
  }),
  sent('wrong keys', no('"99"', 'bad credentials'), {
    ...captured('Authentication/MonnifyTokenProvider'),
    status: 401,
  }),
];

const invoice = (status: string): string =>
  ok(
    `{"amount":2020.37,"invoiceReference":"${PAYMENT}","invoiceStatus":"${status}","description":"ADA OBI",` +
      '"contractCode":"5867418298","customerEmail":"ada@example.com","customerName":"Ada Obi",' +
      '"expiryDate":"2026-06-27 10:08:11","createdBy":"MK_TEST_SAMPLE0001","createdOn":"2026-06-27 09:08:11",' +
      `"checkoutUrl":"https://sandbox.sdk.monnify.com/checkout/${TRANSACTION}","accountNumber":"1003440679",` +
      '"accountName":"ADA OBI","bankName":"Wema bank","bankCode":"035","redirectUrl":null,' +
      `"transactionReference":"${TRANSACTION}"}`,
  );
const INVOICE_SDK = captured('Collections/Invoices/MonnifyCollectionsClientInvoices');

/** To the creation of an invoice. */
export const INVOICES: readonly Documented[] = [
  sent('opened', invoice('PENDING'), INVOICE_SDK),
  sent('known already', no('"99"', 'Invoice with this reference already exists.'), { source: ERRORS, status: 400 }),
  sent('too small', no('"99"', 'Amount must be greater than 20'), { source: ERRORS, status: 400 }),
  sent('expired', no('"99"', 'Invalid invoice expiry date. Expiry date must be in the future'), {
    source: ERRORS,
    status: 400,
  }),
  sent('another contract', no('"99"', 'Unknown Contract Code'), { source: ERRORS, status: 400 }),
];

/** To a query of an invoice. */
export const INVOICE_DETAILS: readonly Documented[] = [
  sent('open', invoice('PENDING'), INVOICE_SDK),
  sent('paid', invoice('PAID'), INVOICE_SDK),
  sent('unknown', no('"99"', 'Could not find transaction with the specified reference'), {
    source: ERRORS,
    status: 404,
  }),
];

/** To the cancellation of an invoice. What the refusal says is not documented. */
export const CANCELLATIONS: readonly Documented[] = [
  sent('cancelled', invoice('CANCELLED'), INVOICE_SDK),
  sent('refused', no('"99"', 'The invoice cannot be cancelled'), { source: ERRORS, status: 400 }),
];

const reserved = (status: string): string =>
  ok(
    `{"contractCode":"5867418298","accountReference":"${WALLET}","accountName":"ADA OBI","currencyCode":"NGN",` +
      '"customerEmail":"ada@example.com","customerName":"Ada Obi","accounts":[{"bankCode":"50515",' +
      '"bankName":"Moniepoint Microfinance Bank","accountNumber":"6839490147","accountName":"ADA OBI"}],' +
      '"collectionChannel":"RESERVED_ACCOUNT","reservationReference":"17ERLN8RZCZ203H00044",' +
      `"reservedAccountType":"GENERAL","status":"${status}","createdOn":"2026-06-26 23:19:13.511864338",` +
      '"incomeSplitConfig":[],"restrictPaymentSource":false}',
  );
const RESERVED_SDK = captured('Collections/ReservedAccounts/MonnifyCollectionsClientReservedAccounts');

/** To the reservation of an account. */
export const RESERVATIONS: readonly Documented[] = [
  sent('opened', reserved('ACTIVE'), RESERVED_SDK),
  sent('known already', no('"99"', 'You can not reserve two accounts with the same reference.'), {
    source: ERRORS,
    status: 400,
  }),
  sent('no BVN', no('"99"', 'BVN is invalid. Must be 11 digits'), { source: ERRORS, status: 400 }),
  sent('another bank', no('"99"', 'We do not support virtual accounts from banks with code 999'), {
    source: ERRORS,
    status: 400,
  }),
];

/** To a query of a reserved account. */
export const RESERVED_ACCOUNTS: readonly Documented[] = [
  sent('active', reserved('ACTIVE'), RESERVED_SDK),
  sent('closed', reserved('DEACTIVATED'), RESERVED_SDK),
];

export const BANKS: readonly Documented[] = [
  sent(
    'three banks',
    ok(
      '[{"name":"Access bank","code":"044","nipBankCode":"000014"},{"name":"GTBank","code":"058",' +
        '"nipBankCode":"000013"},{"name":"Moniepoint Microfinance Bank","code":"50515","nipBankCode":"090405"}]',
    ),
    captured('Banks/MonnifyBanksClient'),
  ),
];

/** To a name enquiry. */
export const ENQUIRIES: readonly Documented[] = [
  sent(
    'a holder',
    ok('{"accountNumber":"0123456789","accountName":"ADA OBI","bankCode":"058","currencyCode":"NGN"}'),
    captured('Verification/MonnifyVerificationClient'),
  ),
  sent('no such account', no('"99"', 'Invalid account details supplied'), { source: ERRORS, status: 400 }),
];

export const BALANCES: readonly Documented[] = [
  sent(
    'as numbers',
    ok('{"availableBalance":3284590355.36,"ledgerBalance":3284590400}'),
    captured('Disbursements/MonnifyDisbursementsClientShared'),
  ),
  sent('as texts', ok('{"availableBalance":"4919798101.36","ledgerBalance":"4919798101.36"}'), {
    source: 'developers.monnify.com/api#disbursement-get-wallet-balance',
  }),
];

const paged = (row: string): string =>
  `{"content":[${row}],"totalElements":1,"totalPages":1,"number":0,"size":50,"first":true,"last":true}`;

const walletRow = (reference: string, type: string, amount: string, narration: string): string =>
  ok(
    paged(
      `{"walletTransactionReference":"${reference}","monnifyTransactionReference":"${reference}",` +
        `"availableBalanceBefore":50000.00,"availableBalanceAfter":47490.00,"amount":${amount},` +
        `"transactionDate":"2026-06-27T08:32:49.000+00:00","transactionType":"${type}","message":null,` +
        `"narration":"${narration}","status":"COMPLETED"}`,
    ),
  );
const OWN = 'MFDS87620260627093249000027JDW8UZ';
const OF_TRANSFER = `${OWN}/#/svc_01kb0000000000000000000001_wth/#/Rent/#/GTBank/#/0123456789`;
const STATEMENT = { source: 'developers.monnify.com/api#disbursement-wallet-statement' };

/** Pages of the statement of the wallet. */
export const WALLET_PAGES: readonly Documented[] = [
  sent('a transfer with its charge', walletRow(`${OWN}_DEBIT_0`, 'DEBIT', '2510.00', OF_TRANSFER), STATEMENT),
  sent('a transfer without its charge', walletRow(`${OWN}_DEBIT_0`, 'DEBIT', '"2500.00"', OF_TRANSFER), STATEMENT),
  sent('a charge', walletRow(`${OWN}_DEBIT_1`, 'DEBIT', '10', OF_TRANSFER), STATEMENT),
  sent('a return', walletRow(`${OWN}_CREDIT_0`, 'CREDIT', '2500.00', OF_TRANSFER), STATEMENT),
  sent(
    'a settlement',
    walletRow('SETTLEMENT_LB8HG1PNZT4ATJGZXQBY_CREDIT_0', 'CREDIT', '1990.06', 'Settlement'),
    STATEMENT,
  ),
  sent(
    'funding',
    walletRow(
      'MFY_WTP_TRF_2MPT61CFP_1896839989128998912_CBA_CREDIT_0',
      'CREDIT',
      '100.00',
      ' MFY-WT/#/TRF|2MPT61cfp|1896839989128998912_CBA_CREDIT_0/#/2026-06-27/#/VA-6927004623',
    ),
    STATEMENT,
  ),
];

const transactionRow = (more: string): string =>
  paged(
    '{"customerDTO":{"email":"ada@example.com","name":"Ada Obi"},"paymentMethod":"ACCOUNT_TRANSFER",' +
      '"createdOn":"2026-06-27T08:08:11.000+00:00","amount":2020.37,"currencyCode":"NGN",' +
      `"paymentDescription":"ADA OBI","paymentStatus":"PAID","transactionReference":"${TRANSACTION}",` +
      `"paymentReference":"${PAYMENT}","merchantName":"Manilla","completed":true${more}}`,
  );
const SETTLED = ',"amountPaid":2020.37,"fee":30.31,"completedOn":"2026-06-27T08:12:00.000+00:00"';

/** Pages of the search for transactions. */
export const SEARCH_PAGES: readonly Documented[] = [
  sent('without the envelope', transactionRow(SETTLED), {
    source: 'developers.monnify.com/api#transactions-search',
  }),
  sent(
    'with the envelope, and without what was paid',
    ok(transactionRow('')),
    captured('Collections/Transactions/MonnifyCollectionsClientTransactions'),
  ),
];

const WEBHOOK_SDK = captured('Webhooks/MonnifyWebhookEventData');
const event = (name: string, eventType: string, eventData: string): Documented =>
  sent(name, `{"eventType":"${eventType}","eventData":${eventData}}`, WEBHOOK_SDK);

const collection = (type: string, method: string, source: string): string =>
  `{"product":{"reference":"${PAYMENT}","type":"${type}"},"transactionReference":"${TRANSACTION}",` +
  `"paymentReference":"${TRANSACTION}","paidOn":"2026-06-27 09:12:00.615","paymentDescription":"ADA OBI",` +
  `"metaData":{},"paymentSourceInformation":${source},"destinationAccountInformation":{"bankCode":"035",` +
  '"bankName":"Wema bank","accountNumber":"1003440679"},"amountPaid":2020.37,"totalPayable":2020.37,' +
  `"cardDetails":{},"paymentMethod":"${method}","currency":"NGN","settlementAmount":"1990.06",` +
  '"paymentStatus":"PAID","customer":{"name":"Ada Obi","email":"ada@example.com"}}';
const PAYER =
  '{"bankCode":"058","amountPaid":2020.37,"accountName":"CHIDI EZE",' +
  '"sessionId":"e6cV1smlpkwG38Cg6d5F9B2PRnIq5FqA","accountNumber":"0065432190"}';

const disbursement = (status: string): string =>
  '{"amount":2500,"transactionReference":"MFDS87620260627093249000027JDW8UZ","fee":10,' +
  '"transactionDescription":"Approved or completed successfully","destinationAccountNumber":"0123456789",' +
  '"sessionId":"090405260627093336726272971260","createdOn":"27/06/2026 9:32:49 AM",' +
  '"destinationAccountName":"ADA OBI","reference":"svc_01kb0000000000000000000001_wth",' +
  '"destinationBankCode":"058","completedOn":"27/06/2026 9:32:55 AM","narration":"Rent","currency":"NGN",' +
  `"destinationBankName":"GTBank","status":"${status}"}`;

/** Callbacks. */
export const EVENTS: readonly Documented[] = [
  event('a payment', 'SUCCESSFUL_TRANSACTION', collection('INVOICE', 'ACCOUNT_TRANSFER', `[${PAYER}]`)),
  event('a deposit', 'SUCCESSFUL_TRANSACTION', collection('RESERVED_ACCOUNT', 'ACCOUNT_TRANSFER', PAYER)),
  event('by card', 'SUCCESSFUL_TRANSACTION', collection('WEB_SDK', 'CARD', '{}')),
  event('paid out', 'SUCCESSFUL_DISBURSEMENT', disbursement('SUCCESS')),
  event('not paid out', 'FAILED_DISBURSEMENT', disbursement('FAILED')),
  event('paid back', 'REVERSED_DISBURSEMENT', disbursement('REVERSED')),
  event(
    'rejected',
    'REJECTED_PAYMENT',
    `{"product":{"reference":"${PAYMENT}","type":"INVOICE"},"amount":2020.37,"paymentSourceInformation":${PAYER},` +
      `"transactionReference":"${TRANSACTION}","created_on":"2026-06-27 09:12:00.0",` +
      `"paymentReference":"${PAYMENT}","paymentRejectionInformation":{"bankCode":"035",` +
      '"destinationAccountNumber":"1003440679","bankName":"Wema bank","rejectionReason":"UNDER_PAYMENT",' +
      '"expectedAmount":2020.37},"paymentDescription":"ADA OBI","customer":{"name":"Ada Obi",' +
      '"email":"ada@example.com"}}',
  ),
  event(
    'settled',
    'SETTLEMENT',
    '{"amount":"1990.06","settlementTime":"27/06/2026 10:00:00 PM","settlementReference":"LB8HG1PNZT4ATJGZXQBY",' +
      '"destinationAccountNumber":"8016472829","destinationBankName":"Moniepoint Microfinance Bank",' +
      '"destinationAccountName":"Manilla","transactionsCount":1,"transactions":[{"product":{' +
      `"reference":"${PAYMENT}","type":"INVOICE"},"transactionReference":"${TRANSACTION}",` +
      `"paymentReference":"${TRANSACTION}","paidOn":"27/06/2026 09:12:00 AM","amountPaid":"2020.37",` +
      '"totalPayable":"2020.37","paymentMethod":"ACCOUNT_TRANSFER","currency":"NGN","paymentStatus":"PAID"}]}',
  ),
  event(
    'low',
    'LOW_BALANCE_ALERT',
    '{"transactionTime":"2026-06-27T23:13:19Z","merchantCode":"99ZYAFM0F3CY","walletAccountNumber":"8016472829",' +
      '"walletBalance":0,"lowBalanceThreshold":2000,"currency":"NGN","description":"Your wallet balance is low."}',
  ),
  event(
    'another product',
    'ACCOUNT_ACTIVITY',
    '{"accountType":"MAIN","accountNumber":"8016472829","activityType":"TRANSACTION","amount":100,"currency":"566",' +
      '"balanceBefore":862.68,"balanceAfter":962.68,"reference":"MFY_WTP_TRF_2MPT61CFP_CBA_CREDIT_0",' +
      '"activityTime":"2026-06-27 10:27:AM"}',
  ),
];
